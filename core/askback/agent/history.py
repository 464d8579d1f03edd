"""The messages in a thread from before the agent joined it, limited to what a model reads. Pure."""

from __future__ import annotations

__all__ = ["CHARACTERS", "MESSAGES", "NOTHING", "Earlier", "newest"]

from collections.abc import Iterable
from typing import Final

from askback.domain.conversation import HistoryMessage
from askback.internal.values import Value

MESSAGES: Final = 100
CHARACTERS: Final = 30_000


class Earlier(Value):
    """The earlier messages, or the reason they cannot be read."""

    said: tuple[HistoryMessage, ...] = ()
    problem: str | None = None
    left_out: int = 0
    """Number of messages left out because their authors may not talk to the bot."""


NOTHING: Final = Earlier()


def newest(said: Iterable[HistoryMessage]) -> tuple[HistoryMessage, ...]:
    """Return the last messages, oldest first, within `MESSAGES` and `CHARACTERS`. Cut the last one if it is too
    long."""
    kept: list[HistoryMessage] = []
    left = CHARACTERS
    for one in reversed(tuple(said)[-MESSAGES:]):
        if len(one.text) > left:
            if not kept:
                kept.append(one.evolve(text=f"{one.text[:left]}…"))
            break
        left -= len(one.text)
        kept.append(one)
    return tuple(reversed(kept))
