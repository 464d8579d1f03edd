"""The messages in a thread from before the agent joined it, limited to what a model reads. Pure."""

from __future__ import annotations

__all__ = ["EMPTY_HISTORY", "MAX_CHARACTERS", "MAX_MESSAGES", "ThreadHistory", "select_newest"]

from collections.abc import Iterable
from typing import Final

from askback.domain.incoming_message import HistoryMessage
from askback.internal.values import Value

MAX_MESSAGES: Final = 100
MAX_CHARACTERS: Final = 30_000


class ThreadHistory(Value):
    """The earlier messages, or the reason they cannot be read."""

    messages: tuple[HistoryMessage, ...] = ()
    problem: str | None = None
    omitted_count: int = 0
    """Number of messages left out because their authors may not talk to the bot."""


EMPTY_HISTORY: Final = ThreadHistory()


def select_newest(messages: Iterable[HistoryMessage]) -> tuple[HistoryMessage, ...]:
    """Return the last messages, oldest first, within `MAX_MESSAGES` and `MAX_CHARACTERS`. Cut the last one if it is too
    long."""
    kept: list[HistoryMessage] = []
    left = MAX_CHARACTERS
    for one in reversed(tuple(messages)[-MAX_MESSAGES:]):
        length = len(one.text) + sum(len(quote.text) for quote in one.quotes)
        if length > left:
            if not kept:
                kept.append(_shorten(one, left))
            break
        left -= length
        kept.append(one)
    return tuple(reversed(kept))


def _shorten(one: HistoryMessage, left: int) -> HistoryMessage:
    """Cut a message that is too long, and leave out the messages that it shares unless there is nothing else."""
    if one.text:
        return one.evolve(text=one.text if len(one.text) <= left else f"{one.text[:left]}…", quotes=())
    first = one.quotes[0]
    return one.evolve(quotes=(first.evolve(text=f"{first.text[:left]}…"),))
