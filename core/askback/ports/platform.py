"""The interface that askback needs from a chat platform. A bot implements it, and hides everything else."""

from __future__ import annotations

__all__ = [
    "AgentStatus",
    "DeliveryError",
    "HistoryReader",
    "MessageNotFound",
    "Messages",
    "Platform",
    "Remainder",
    "RetryableError",
    "TextStream",
]

from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from askback.domain.ask import Ask
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.incoming_message import HistoryMessage
from askback.domain.outgoing_message import OutgoingMessage
from askback.errors import AskbackError, OperatorError

Messages: TypeAlias = tuple[MessageRef, ...]
"""The messages of a card or text: the live message first, then its continuations."""

AgentStatus: TypeAlias = Literal["working", "waiting", "idle"]
"""The agent's state in a place: it writes or thinks, waits for people's answers, or does nothing."""

Remainder: TypeAlias = Literal["text", "stream", "nothing"]
"""The part of an abandoned text that stays: its text, an open stream that `find_posted` returns, or nothing."""


class DeliveryError(OperatorError):
    """A permanent error of the platform: no such channel, not a member, token revoked. The text gives the reason."""


class MessageNotFound(AskbackError):
    """Raised when a message that should be changed no longer exists."""


class RetryableError(AskbackError):
    """A temporary error of the platform."""

    def __init__(self, message: str, seconds: float | None = None, *, in_doubt: bool = False) -> None:
        super().__init__(message)
        self.seconds = seconds
        """Retry-After in seconds, if given."""
        self.in_doubt = in_doubt
        """True if the platform may have executed the call."""


class TextStream(Protocol):
    """The agent's text in a thread, while it is being streamed."""

    async def append(self, text: str) -> None:
        """Add text. It may be held back for a moment. Never raises an error of the platform."""
        ...

    async def finish(self, text: str) -> Messages:
        """Post the whole text. Raises `DeliveryError`, `MessageNotFound` or `RetryableError`."""
        ...

    async def abandon(self, keep: Remainder = "text") -> None:
        """Write no more of the text.

        "stream" leaves it open for `find_posted`. "nothing" deletes it, unless another process has finished its text
        in it.
        """
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
        """Post the card of an ask, or edit its existing messages."""
        ...

    async def post(self, place: Place, message: OutgoingMessage) -> Messages:
        """Post a text in a place, or complete its existing messages."""
        ...

    def open_stream(
        self, place: Place, name: str, reader: Actor, messages: Messages | None, *, resumed: bool
    ) -> TextStream:
        """Begin a streamed text, or continue one that a restart interrupted.

        `messages` are the text's existing messages. None means that they could not be looked up. Then post nothing
        until a look-up succeeds. `name` is the text's name, as in `find_posted`. `resumed` is True if another process
        may have begun the text, also in messages that a look-up did not find. `finish` deletes these.
        """
        ...

    async def find_posted(
        self,
        place: Place,
        name: str,
        *,
        message: OutgoingMessage | None = None,
        since: datetime | None = None,
        after: MessageRef | None = None,
    ) -> Messages:
        """Return the messages that an earlier attempt posted under this name (an ask's id, a text's target).

        The rest is for platforms that forget names: `message` is the text, `since` the time of the first attempt, and
        `after` the message with the text before it.
        Raises `DeliveryError` if the bot may not read there.
        """
        ...

    async def find_missing(self, place: Place, messages: Messages) -> Messages:
        """Return which of these messages of the bot no longer exist."""
        ...

    async def get_permalink(self, message: MessageRef) -> str | None:
        """Return a permalink to the message; None if there is none."""
        ...

    def set_status(self, place: Place, status: AgentStatus, reader: Actor) -> None:
        """Show the agent's state, if the platform can. Never waits and never raises."""
        ...


class HistoryReader(Protocol):
    """Reads the messages of a thread from before the agent joined."""

    async def read(self, place: Place) -> tuple[HistoryMessage, ...]:
        """Return the earlier messages of a thread, oldest first, without the bot's own cards.

        A long thread is cut to its newest messages. Raises `DeliveryError`, `MessageNotFound` or `RetryableError`.
        """
        ...
