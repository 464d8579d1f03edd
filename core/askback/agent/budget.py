"""How much the model may use up. Pure."""

from __future__ import annotations

__all__ = ["CHARACTERS", "LEAST", "ROUNDS", "Budget", "Grant"]

from typing import Final

from pydantic import Field

from askback.domain.conversation import Spent
from askback.internal.values import Value

ROUNDS = 25
"""How often the model is called without a word from a person, before it rests."""
CHARACTERS: Final = 2
"""A token has at least about so many, in any language, of what JSON makes of a text."""
LEAST: Final = 1024
"""Tokens that a call may write however little is left: with fewer, the model cannot finish a sentence and a call."""


class Grant(Value):
    """Whether the model may be called once."""

    tokens: int = 0
    """How many the call may use up, both ways. 0: there is to be no call now."""
    write: int = 0
    """How many of them it may write."""
    problem: str | None = None
    """Why there is no call, in words for people. None: calls that run may give back what it needs."""


class Budget(Value):
    """Tokens, both ways, whatever was read from a cache included. None: as many as it takes."""

    conversation: int | None = Field(default=None, ge=1)
    day: int | None = Field(default=None, ge=1)
    """In all conversations together, from midnight to midnight UTC."""

    @property
    def is_set(self) -> bool:
        return self.conversation is not None or self.day is not None

    def grant(self, spent: Spent, read: int, write: int) -> Grant:
        """Decide about a call that reads about `read` tokens and would write at most `write`.

        It is made while anything is left, and may write no more than that, but `LEAST`. Since calls that run count as
        spent, all together go over the budget by one call at most, with what it reads and `LEAST`.
        """
        left = read + write
        if self.conversation is not None:
            here = self.conversation - spent.conversation
            if here <= 0:
                return Grant(
                    problem="This conversation has used up its budget, so I stop here. "
                    "Write “new” to begin another one, or ask whoever runs me for more."
                )
            left = min(left, here)
        if self.day is not None:
            today = self.day - spent.today
            if today <= 0:
                if today + spent.reserved > 0:
                    return Grant()
                return Grant(
                    problem="Today's budget is used up, so I stop here. What you wrote is kept: "
                    "write again after midnight UTC, or ask whoever runs me for more."
                )
            left = min(left, today)
        write = min(write, max(left - read, LEAST))
        return Grant(tokens=read + write, write=write)
