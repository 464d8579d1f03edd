"""The player's interface to a platform, as pure functions: they read scenes and build requests."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject

from .controls import Control
from .scene import Channel, Dialog, Key, Message, Place, Scene, Work

__all__ = ["Platform", "Request"]


@dataclass(frozen=True)
class Request:
    """A person's act: one of the people's routes, and the request body."""

    route: str
    body: JsonObject


class Platform(Protocol):
    """One of the platforms of the services."""

    @property
    def name(self) -> str:
        """The platform's display name."""
        ...

    @property
    def people_path(self) -> str:
        """The path of the people's routes."""
        ...

    @property
    def log(self) -> str:
        """The path of the log of the bot's API calls."""
        ...

    def scene(self, state: JsonObject) -> Scene:
        """Return the scene that people see in this state."""
        ...

    def address(self, channel: Channel) -> str:
        """Return the name of a channel, or of a direct message, that a program gives as the place to ask."""
        ...

    def write(
        self, person: str, channel: str, text: str, place: Place | None, files: Sequence[JsonValue] = ()
    ) -> Request:
        """Build a request to write in a channel or in an existing conversation; `files` are as in `attached`."""
        ...

    def written(self, channel: str, answer: JsonObject) -> Key:
        """Return the key of the message that was written."""
        ...

    def click(self, person: str, message: Message, control: Control, chosen: Sequence[str] | None) -> Request:
        """Build a request to press a button (`chosen` is None) or to choose among a control's options."""
        ...

    def click_late(self, person: str, message: Message, control: Control, chosen: Sequence[str] | None) -> Request:
        """Build the same request for a person who still sees the message as given here."""
        ...

    def stop(self, person: str, work: Work) -> Request:
        """Build a request to press the platform's own Stop; the work must be stoppable."""
        ...

    def search(self, person: str, message: Message, control: Control, query: str) -> Request:
        """Build a request to type into a searched menu."""
        ...

    def found(self, control: Control, answer: JsonObject) -> Control:
        """Return that menu with the options that the search found."""
        ...

    def submit(self, person: str, dialog: Dialog, entered: Sequence[tuple[Control, JsonValue]]) -> Request:
        """Build a request to submit a dialog with these entries."""
        ...

    def close(self, person: str, dialog: Dialog) -> Request:
        """Build a request to close a dialog."""
        ...

    def dismiss(self, person: str, notice: Message) -> Request | None:
        """Build a request to dismiss a private notice that replaces a dialog; None if there are none."""
        ...

    def refusals(self, calls: Sequence[JsonObject], scene: Scene, forgiven: Collection[str]) -> list[str]:
        """Return the refused API calls of the bot, without those that any bot must expect and the forgiven ones."""
        ...
