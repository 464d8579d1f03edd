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
        if len(one.text) > left:
            if not kept:
                kept.append(one.evolve(text=f"{one.text[:left]}…"))
            break
        left -= len(one.text)
        kept.append(one)
    return tuple(reversed(kept))
