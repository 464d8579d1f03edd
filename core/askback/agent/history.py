"""What was said in a thread before the agent was called into it, and how much of that a model is told. Pure."""

from __future__ import annotations

__all__ = ["CHARACTERS", "MESSAGES", "NOTHING", "Earlier", "newest"]

from collections.abc import Iterable
from typing import Final

from askback.domain.conversation import Said
from askback.internal.values import Value

MESSAGES: Final = 100
CHARACTERS: Final = 30_000


class Earlier(Value):
    """What was said, or why that cannot be told."""

    said: tuple[Said, ...] = ()
    problem: str | None = None
    left_out: int = 0
    """How many messages were left out, since their authors may not talk to the bot."""


NOTHING: Final = Earlier()


def newest(said: Iterable[Said]) -> tuple[Said, ...]:
    """The end of it, oldest first: at most so many messages and characters; of a very long last one its beginning."""
    kept: list[Said] = []
    left = CHARACTERS
    for one in reversed(tuple(said)[-MESSAGES:]):
        if len(one.text) > left:
            if not kept:
                kept.append(one.evolve(text=f"{one.text[:left]}…"))
            break
        left -= len(one.text)
        kept.append(one)
    return tuple(reversed(kept))
