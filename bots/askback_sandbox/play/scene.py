"""People's view of a platform at one moment, in terms that all platforms share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject

from .controls import Control, same

__all__ = ["Channel", "Dialog", "Interaction", "Key", "Message", "Person", "Place", "Scene", "Work", "stopper"]

EXPANDING = frozenset(
    {
        "Show everything",
        "Show question",
        "Show questions",
        "Alles anzeigen",
        "Frage anzeigen",
        "Fragen anzeigen",
        "Mostrar todo",
        "Mostrar pregunta",
        "Mostrar preguntas",
        "Tout afficher",
        "Afficher la question",
        "Afficher les questions",
        "すべて表示",
        "質問を表示",
        "显示全部",
        "显示问题",
    }
)
"""Labels of the buttons that only show more text, in each language of the bot."""

EDITING = ("Edit…", "Bearbeiten…", "Editar…", "Modifier…", "編集…", "编辑…")
"""Labels of the button that opens the arguments of a call, in each language of the bot."""

Key = tuple[str, str]
"""The key of a message: the id of its channel or thread, and its own id."""


@dataclass(frozen=True)
class Person:
    """A person to act as; `names` holds all texts that select the person, including the id."""

    id: str
    name: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Channel:
    """A place to write in; `person` is the person of a direct message."""

    id: str
    name: str
    kind: Literal["channel", "dm"] = "channel"
    person: str | None = None


@dataclass(frozen=True)
class Place:
    """A conversation: a channel, and the message that it began with; in a direct message, `root` is None."""

    channel: str
    root: str | None

    def holds(self, message: Message) -> bool:
        return message.channel == self.channel and self.root in (None, message.root)

    def has(self, work: Work) -> bool:
        return work.channel == self.channel and self.root in (None, work.root)


@dataclass(frozen=True)
class Work:
    """A sign that the bot is at work in a conversation; `stoppable` means with the platform's own Stop."""

    channel: str
    root: str
    stoppable: bool = False


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message as people see it; `channel` and `root` give its conversation."""

    key: Key
    channel: str
    root: str
    at: str
    author: str
    bot: bool = False
    only_for: str | None = None
    unfinished: bool = False
    card: bool = False
    """True if it is drawn in a frame, because it is more than running text."""
    lines: tuple[str, ...] = ()
    """Everything that is drawn, including the controls."""
    text: str = ""
    """The readable text, without the controls."""
    controls: tuple[Control, ...] = ()
    pictures: tuple[str, ...] = ()
    """The addresses of its pictures."""
    stop: Control | None = None
    """A Stop that is alone under the bot's text: it asks nothing, so it does not make a card."""
    retry: Control | None = None
    """A control that reopens a refused text field; only on platforms that cannot keep the field open."""
    source: JsonObject = field(default_factory=dict[str, JsonValue])
    """The platform's data from which the message is drawn."""

    @property
    def begins(self) -> bool:
        """True if it is in the channel itself, so that a conversation can begin with it."""
        return self.root == self.key[1]

    @property
    def live(self) -> bool:
        """True if it is a message of the bot that everybody sees and that has controls which change something."""
        return self.bot and self.only_for is None and bool(self.acting)

    @property
    def acting(self) -> tuple[Control, ...]:
        """The controls, except buttons that only show more text."""
        return tuple(control for control in self.controls if control.label not in EXPANDING)

    @cached_property
    def picture(self) -> str:
        """A text that differs whenever the look differs, also in details that the lines do not show."""
        return json.dumps(self.source, sort_keys=True)


@dataclass(frozen=True)
class Dialog:
    """A dialog that a person has open."""

    id: str
    person: str
    title: str
    lines: tuple[str, ...]
    controls: tuple[Control, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[Control, ...]:
        return tuple(control for control in self.controls if control.kind == "field")


@dataclass(frozen=True)
class Interaction:
    """A person's act of which the bot was notified."""

    id: str
    kind: str
    person: str
    acked: bool | None
    ack_ms: float | None = None
    error: str | None = None
    clicked: bool = True
    """True for a click or a dialog, False for a message."""


@dataclass(frozen=True)
class Scene:
    """Everything that people can see; messages are in the order in which they were sent."""

    bot: str
    people: tuple[Person, ...] = ()
    channels: tuple[Channel, ...] = ()
    messages: tuple[Message, ...] = ()
    dialogs: tuple[Dialog, ...] = ()
    interactions: tuple[Interaction, ...] = ()
    works: tuple[Work, ...] = ()
    threads: frozenset[str] | None = None
    """Ids of the messages that have a thread already; None if people can begin one anywhere."""

    def name(self, person: str) -> str:
        """Return a person's name, or the id if the person is unknown."""
        return next((one.name for one in self.people if one.id == person), person)

    def channel(self, channel: str) -> Channel:
        """Return a channel by its id; an unknown one has its id as its name."""
        return next((one for one in self.channels if one.id == channel), Channel(channel, channel))

    def dialog(self, person: str) -> Dialog | None:
        """Return the topmost dialog of a person; None if none is open."""
        return next((one for one in reversed(self.dialogs) if one.person == person), None)

    def interaction(self, identifier: str) -> Interaction | None:
        """Return an act by its id; None if unknown."""
        return next((one for one in self.interactions if one.id == identifier), None)

    def message(self, key: Key) -> Message | None:
        """Return a message by its key; None if unknown."""
        return next((one for one in self.messages if one.key == key), None)

    def notices(self, person: str) -> Sequence[Message]:
        """Return the messages that only that person sees."""
        return [message for message in self.messages if message.only_for == person]

    @property
    def live(self) -> Sequence[Message]:
        """The bot's messages that everybody sees and that have controls."""
        return [message for message in self.messages if message.live]


def stopper(found: Sequence[Control]) -> Control | None:
    """Return the Stop button if it is the only control; None otherwise."""
    alone = found[0] if len(found) == 1 else None
    return alone if alone is not None and alone.kind == "button" and same(alone.label, "Stop") == 0 else None
