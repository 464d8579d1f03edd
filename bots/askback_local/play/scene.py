"""What people see of a platform at one moment, in words that every platform shares."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from pydantic import JsonValue

from askback_local.json_values import JsonObject

from .controls import Control, same

__all__ = ["Channel", "Deed", "Dialog", "Key", "Message", "Person", "Place", "Scene", "Work", "stopper"]

Key = tuple[str, str]
"""What tells messages apart: where one stands, and its id there."""


@dataclass(frozen=True)
class Person:
    """Somebody to act as; `names` is everything that they go by."""

    id: str
    name: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Channel:
    """Where people can write; `person` is whose direct message it is."""

    id: str
    name: str
    kind: Literal["channel", "dm"] = "channel"
    person: str | None = None


@dataclass(frozen=True)
class Place:
    """Where a conversation is: a channel, and in a channel the message that it began with."""

    channel: str
    root: str | None

    def holds(self, message: Message) -> bool:
        return message.channel == self.channel and self.root in (None, message.root)

    def has(self, work: Work) -> bool:
        return work.channel == self.channel and self.root in (None, work.root)


@dataclass(frozen=True)
class Work:
    """That the bot shows in a conversation that it is at work; `stoppable`: with a Stop of the platform's own."""

    channel: str
    root: str
    stoppable: bool = False


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message as people see it. `channel` and `root` say to which conversation it belongs."""

    key: Key
    channel: str
    root: str
    at: str
    author: str
    bot: bool = False
    only_for: str | None = None
    unfinished: bool = False
    card: bool = False
    """Whether it is more than running text: it is drawn in a frame."""
    lines: tuple[str, ...] = ()
    """Everything that is drawn, its controls included."""
    text: str = ""
    """What there is to read, without the controls."""
    controls: tuple[Control, ...] = ()
    stop: Control | None = None
    """A Stop that stands alone under what the bot is writing: it asks nothing, so it makes no card."""
    retry: Control | None = None
    """What opens a text field again that was refused; only where a platform cannot keep it open."""
    source: JsonObject = field(default_factory=dict[str, JsonValue])
    """What the platform draws it from."""

    @property
    def begins(self) -> bool:
        """Whether it stands in the channel itself, and a conversation can hang below it."""
        return self.root == self.key[1]

    @property
    def live(self) -> bool:
        """Whether it is the bot's, everybody sees it, and there is something to decide on it."""
        return self.bot and self.only_for is None and bool(self.controls)

    @cached_property
    def picture(self) -> str:
        """Differs when anything about its looks differs, also what a text does not show."""
        return json.dumps(self.source, sort_keys=True)


@dataclass(frozen=True)
class Dialog:
    """A dialog in front of somebody."""

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
class Deed:
    """Something that a person did and the bot was told of."""

    id: str
    kind: str
    person: str
    acked: bool | None
    ack_ms: float | None = None
    error: str | None = None
    clicked: bool = True
    """A click or a dialog; else a message."""


@dataclass(frozen=True)
class Scene:
    """Everything that there is to see. Messages stand in the order in which they were sent."""

    bot: str
    people: tuple[Person, ...] = ()
    channels: tuple[Channel, ...] = ()
    messages: tuple[Message, ...] = ()
    dialogs: tuple[Dialog, ...] = ()
    deeds: tuple[Deed, ...] = ()
    works: tuple[Work, ...] = ()
    threads: frozenset[str] | None = None
    """The messages that a thread hangs from already; None where people can begin one anywhere."""

    def name(self, person: str) -> str:
        """What people call somebody."""
        return next((one.name for one in self.people if one.id == person), person)

    def channel(self, channel: str) -> Channel:
        """A channel by its id."""
        return next((one for one in self.channels if one.id == channel), Channel(channel, channel))

    def dialog(self, person: str) -> Dialog | None:
        """The dialog in front of somebody."""
        return next((one for one in reversed(self.dialogs) if one.person == person), None)

    def deed(self, identifier: str) -> Deed | None:
        """What somebody did, by its id."""
        return next((one for one in self.deeds if one.id == identifier), None)

    def message(self, key: Key) -> Message | None:
        """A message by its key."""
        return next((one for one in self.messages if one.key == key), None)

    def notices(self, person: str) -> Sequence[Message]:
        """What only that person sees."""
        return [message for message in self.messages if message.only_for == person]

    @property
    def live(self) -> Sequence[Message]:
        """The bot's messages that can be used."""
        return [message for message in self.messages if message.live]


def stopper(found: Sequence[Control]) -> Control | None:
    """The Stop that is all there is to press."""
    alone = found[0] if len(found) == 1 else None
    return alone if alone is not None and alone.kind == "button" and same(alone.label, "Stop") == 0 else None
