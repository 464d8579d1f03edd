"""Events that a transaction records, and that take effect when it is committed.

Functions that write rows record events. `Transactions` publishes them after the commit, so that no caller has to
remember whom to notify.
"""

from __future__ import annotations

__all__ = [
    "AskChanged",
    "AskSettled",
    "CommitUncertain",
    "ConversationStopped",
    "DeadlineChanged",
    "Event",
    "EventCollector",
    "FileSettled",
    "FilesAttached",
    "TurnRequested",
    "WorkEnqueued",
    "record_event",
]  # fmt: skip

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeAlias

from askback.domain.actions import Action
from askback.domain.ask import Ask
from askback.domain.conversation import Conversation


@dataclass(frozen=True, slots=True)
class AskChanged:
    """A decision about an ask was stored."""

    ask_id: str


@dataclass(frozen=True, slots=True)
class AskSettled:
    """An ask got its outcome, by this action of a person if there is one."""

    ask: Ask
    action: Action | None = None


@dataclass(frozen=True, slots=True)
class WorkEnqueued:
    """The outbox has a new or changed row, or a row that waited for another one."""


@dataclass(frozen=True, slots=True)
class DeadlineChanged:
    """The next deadline, reminder or escalation of some ask may be another one now."""


@dataclass(frozen=True, slots=True)
class TurnRequested:
    """A conversation has something to do."""

    conversation_id: str
    platform: str
    is_settled: bool
    """True if a question of the agent was settled. False for a message, which may be edited in a moment."""


@dataclass(frozen=True, slots=True)
class ConversationStopped:
    """Somebody stopped a conversation: its turn, its tools and its questions."""

    conversation: Conversation


@dataclass(frozen=True, slots=True)
class FilesAttached:
    """A message with files was stored, which are still to be read from the platform."""


@dataclass(frozen=True, slots=True)
class FileSettled:
    """A file was stored, or cannot be."""

    conversation_id: str | None
    ask_id: str | None


@dataclass(frozen=True, slots=True)
class CommitUncertain:
    """A commit took too long, or lost its connection. It is unknown here if it succeeded."""

    ask_ids: tuple[str, ...]
    """The asks that the transaction decided about. It may have had other effects."""


Event: TypeAlias = (
    AskChanged
    | AskSettled
    | CommitUncertain
    | ConversationStopped
    | DeadlineChanged
    | FileSettled
    | FilesAttached
    | TurnRequested
    | WorkEnqueued
)

# The transaction runs in a thread of the database, and sees the variable of that caller only.
_events: ContextVar[list[Event] | None] = ContextVar("askback_events", default=None)


class EventCollector:
    """Collects the events that are recorded in its block, in order."""

    __slots__ = ("_token",)

    def __enter__(self) -> list[Event]:
        events: list[Event] = []
        self._token = _events.set(events)
        return events

    def __exit__(self, *error: object) -> None:
        _events.reset(self._token)


def record_event(event: Event) -> None:
    """Record an event of the running transaction."""
    events = _events.get()
    if events is not None:
        events.append(event)
