"""The interface that askback needs from a chat platform. A bot implements it, and hides everything else."""

from __future__ import annotations

__all__ = ["DeliveryError", "MessageNotFound", "Messages", "Mood", "Platform", "RetryableError", "TextStream"]

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from askback.domain.ask import Ask
from askback.domain.conversation import HistoryMessage, OutgoingMessage
from askback.domain.identity import Actor, MessageRef, Place
from askback.errors import AskbackError, OperatorError

Messages: TypeAlias = tuple[MessageRef, ...]
"""The messages of a card or text: the live message first, then its continuations."""

Mood: TypeAlias = Literal["working", "waiting", "idle"]
"""The agent's state in a place: it writes or thinks, waits for people's answers, or does nothing."""


class DeliveryError(OperatorError):
    """A permanent error of the platform: no such channel, not a member, token revoked. The text gives the reason."""


class MessageNotFound(AskbackError):
    """The message that was to be changed no longer exists."""


class RetryableError(AskbackError):
    """A temporary error of the platform."""

    def __init__(self, message: str, seconds: float | None = None) -> None:
        super().__init__(message)
        self.seconds = seconds
        """Retry-After in seconds, if given."""


class TextStream(Protocol):
    """The agent's text in a thread, while it is being streamed."""

    async def append(self, text: str) -> None:
        """Add text. It may be held back for a moment. Never raises an error of the platform."""
        ...

    async def finish(self, text: str) -> Messages:
        """Post the whole text. Raises `DeliveryError`, `MessageNotFound` or `RetryableError`."""
        ...

    async def abandon(self) -> None:
        """Stop the text here, and leave the posted part as it is."""
        ...

    @property
    def messages(self) -> Messages:
        """The messages posted so far."""
        ...


class Platform(Protocol):
    """A chat platform.

    Every method raises `DeliveryError`, `MessageNotFound` or `RetryableError`, and no other error on purpose.
    """

    @property
    def name(self) -> str: ...

    async def show(self, ask: Ask) -> Messages:
        """Post the card of an ask, or change the messages that it has."""
        ...

    async def say(self, place: Place, say: OutgoingMessage) -> Messages:
        """Post a text in a place, or finish the messages that it has."""
        ...

    def prose(self, place: Place, name: str, reader: Actor, messages: Messages | None) -> TextStream:
        """Begin a streamed text, or continue one that a restart interrupted.

        `messages` are those that already exist. None means that this could not be looked up; nothing of the text is
        posted before it has been.

        `name` is the text's own name, as in `find`.
        """
        ...

    async def find(
        self, place: Place, nonce: str, *, say: OutgoingMessage | None = None, since: datetime | None = None
    ) -> Messages:
        """Return the messages that an earlier attempt posted under this name (an ask's id, a text's target).

        `say` is the text, and `since` the time of the first attempt, for platforms that forget names.
        Raises `DeliveryError` if the bot may not read there.
        """
        ...

    async def missing(self, place: Place, messages: Messages) -> Messages:
        """Return those of the bot's own messages in a place that no longer exist."""
        ...

    async def link(self, message: MessageRef) -> str | None:
        """Return a permalink to the message; None if there is none."""
        ...

    async def earlier(self, place: Place) -> tuple[HistoryMessage, ...]:
        """Return the earlier messages of a thread, oldest first, without the bot's own cards.

        A long thread is cut to its newest messages.
        """
        ...

    async def alone(self, place: Place, person: Actor, groups: tuple[str, ...]) -> Actor | None:
        """Return the person if they alone see the place, a direct message. None means that others see it, too.

        The result includes those of these groups that the person is known to be in. Never raises.
        """
        ...

    async def members(self, place: Place, groups: tuple[str, ...]) -> Mapping[str, tuple[Actor, ...]]:
        """Return the members of these groups. A group that the platform cannot list now is left out. Never raises."""
        ...

    async def grouped(self, place: Place, people: tuple[Actor, ...], groups: tuple[str, ...]) -> tuple[Actor, ...]:
        """Return the same people, each with their current memberships in these groups. Never raises.

        The groups are empty if the memberships are unknown.
        """
        ...

    def presence(self, place: Place, mood: Mood, reader: Actor) -> None:
        """Show the agent's state, if the platform can. Never waits and never raises."""
        ...
