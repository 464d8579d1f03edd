"""What askback needs from a chat platform. A bot implements it; nothing else of the platform is known here."""

from __future__ import annotations

__all__ = ["Gone", "Messages", "Mood", "Platform", "Prose", "TryLater", "Undeliverable"]

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from askback.domain.ask import Ask
from askback.domain.conversation import Said, Say
from askback.domain.identity import Actor, MessageRef, Place
from askback.errors import AskbackError, OperatorError

Messages: TypeAlias = tuple[MessageRef, ...]
"""Where something stands: the live message first, what goes on below it after that."""

Mood: TypeAlias = Literal["working", "waiting", "idle"]
"""What the agent does in a place: writes or thinks, waits for people's answers, or nothing."""


class Undeliverable(OperatorError):
    """The platform refuses for good: no such channel, not a member, token revoked. The text says why."""


class Gone(AskbackError):
    """The message that was to be changed no longer exists."""


class TryLater(AskbackError):
    """The platform cannot for now."""

    def __init__(self, message: str, seconds: float | None = None) -> None:
        super().__init__(message)
        self.seconds = seconds
        """What the platform said; None: it did not say."""


class Prose(Protocol):
    """The agent's text in a thread, as it is written."""

    async def append(self, text: str) -> None:
        """More of it. May hold it back for a moment; never raises for the platform's sake."""
        ...

    async def finish(self, text: str) -> Messages:
        """All of it. Raises `Undeliverable`, `Gone` or `TryLater`."""
        ...

    async def abandon(self) -> None:
        """Nothing more will come; what stands there is left."""
        ...

    @property
    def messages(self) -> Messages:
        """Where it stands so far."""
        ...


class Platform(Protocol):
    """A chat platform. Every method raises `Undeliverable`, `Gone` or `TryLater`, and nothing else on purpose."""

    @property
    def name(self) -> str: ...

    async def show(self, ask: Ask) -> Messages:
        """Post the card of an ask, or change the messages that it has."""
        ...

    async def say(self, place: Place, say: Say) -> Messages:
        """Say a text in a place, or finish the messages that it has."""
        ...

    def prose(self, place: Place, name: str, reader: Actor, messages: Messages | None) -> Prose:
        """Begin a text that is still being written, or go on with one that a restart broke off.

        `messages` hold what stands of it. None means that this could not be looked up: nothing of the text is posted
        before it is.

        `name` is the text's own, as in `find`.
        """
        ...

    async def find(
        self, place: Place, nonce: str, *, say: Say | None = None, since: datetime | None = None
    ) -> Messages:
        """Return the messages that an earlier try posted under this name (an ask's id, a text's target).

        `say`: what the text says, and `since`: when it was first tried, for platforms that forget names.
        Raises `Undeliverable` where the bot may not look.
        """
        ...

    async def missing(self, place: Place, messages: Messages) -> Messages:
        """Return those of the bot's own messages in a place that no longer exist."""
        ...

    async def link(self, message: MessageRef) -> str | None:
        """An address that leads to the message."""
        ...

    async def earlier(self, place: Place) -> tuple[Said, ...]:
        """What was said in a thread so far, oldest first, the bot's own cards left out: the newest of it where it
        is much."""
        ...

    async def alone(self, place: Place, person: Actor, groups: tuple[str, ...]) -> Actor | None:
        """The person, with those of these groups that they are known to be in, where nobody but them sees the place: a
        direct message. None: others see it, too. Never raises."""
        ...

    async def members(self, place: Place, groups: tuple[str, ...]) -> Mapping[str, tuple[Actor, ...]]:
        """Who is in these groups. One that the platform does not tell of, or not now, is left out. Never raises."""
        ...

    async def grouped(self, place: Place, people: tuple[Actor, ...], groups: tuple[str, ...]) -> tuple[Actor, ...]:
        """The same people, each with those of these groups that they are in now: none where that cannot be told. Never
        raises."""
        ...

    def presence(self, place: Place, mood: Mood, reader: Actor) -> None:
        """Show what the agent does, as far as the platform has such a thing. Never waits and never raises."""
        ...
