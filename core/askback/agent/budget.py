"""How much the model may use up. Pure."""

from __future__ import annotations

__all__ = ["ROUNDS", "Budget"]

from pydantic import Field

from askback.values import Value

ROUNDS = 25
"""How often the model is called without a word from a person, before it rests."""


class Budget(Value):
    """Tokens, both ways, whatever was read from a cache included. None: as many as it takes."""

    conversation: int | None = Field(default=None, ge=1)
    day: int | None = Field(default=None, ge=1)
    """In all conversations together, from midnight to midnight UTC."""

    def problem(self, conversation: int, today: int) -> str | None:
        """Why the model is not called any more, in words for people; None: it is."""
        if self.conversation is not None and conversation >= self.conversation:
            return (
                "This conversation has used up its budget, so I stop here. "
                "Write “new” to begin another one, or ask whoever runs me for more."
            )
        if self.day is not None and today >= self.day:
            return (
                "Today's budget is used up, so I stop here. What you wrote is kept: "
                "write again after midnight UTC, or ask whoever runs me for more."
            )
        return None
