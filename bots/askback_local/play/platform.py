"""A platform as the player needs it. Pure: what there is to see is read, what people do is put into words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

from askback_local.json_values import JsonObject

from .controls import Control
from .scene import Dialog, Key, Message, Place, Scene, Work

__all__ = ["Platform", "Request"]


@dataclass(frozen=True)
class Request:
    """Something that a person does: which of the people's doors, and what is said there."""

    door: str
    body: JsonObject


class Platform(Protocol):
    """One of the platforms of the services."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def doors(self) -> str:
        """The path under which people act."""
        ...

    @property
    def log(self) -> str:
        """The path of what the bot asked of its API."""
        ...

    def scene(self, state: JsonObject) -> Scene:
        """What people see."""
        ...

    def write(self, person: str, channel: str, text: str, place: Place | None, files: Sequence[str] = ()) -> Request:
        """Write in a channel, or in a conversation that there is already; with files, by their names."""
        ...

    def written(self, channel: str, answer: JsonObject) -> Key:
        """The message that was written."""
        ...

    def click(self, person: str, message: Message, control: Control, chosen: Sequence[str] | None) -> Request:
        """Press a button (nothing is chosen), or choose among what a control offers."""
        ...

    def click_late(self, person: str, message: Message, control: Control, chosen: Sequence[str] | None) -> Request:
        """The same by somebody who still sees the message as it is given here."""
        ...

    def stop(self, person: str, work: Work) -> Request:
        """Press the platform's own Stop, where a work can be stopped by it."""
        ...

    def search(self, person: str, message: Message, control: Control, query: str) -> Request:
        """Type into a menu that is searched."""
        ...

    def found(self, control: Control, answer: JsonObject) -> Control:
        """That menu with what was found."""
        ...

    def submit(self, person: str, dialog: Dialog, entered: Sequence[tuple[Control, JsonValue]]) -> Request:
        """Send a dialog with what was entered."""
        ...

    def close(self, person: str, dialog: Dialog) -> Request:
        """Close a dialog."""
        ...

    def dismiss(self, person: str, notice: Message) -> Request | None:
        """Put away a private notice that stands for a dialog; None where there are none."""
        ...

    def refusals(self, calls: Sequence[JsonObject], scene: Scene, forgiven: Collection[str]) -> list[str]:
        """Requests of the bot that the API refused, and that no bot has to reckon with."""
        ...
