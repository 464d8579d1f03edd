"""Limits on the tokens that the model may use. Pure."""

from __future__ import annotations

__all__ = ["CHARACTERS_PER_TOKEN", "MAX_ROUNDS", "MIN_OUTPUT_TOKENS", "Budget", "Grant"]

from typing import Final

from pydantic import Field

from askback.domain.turn import TokenUsage
from askback.internal.values import Value
from askback.translations.catalogue import _

MAX_ROUNDS = 25
"""Maximum number of model calls in a row without a message from a person. Then the agent pauses."""
CHARACTERS_PER_TOKEN: Final = 2
"""Characters of JSON per token, an estimate on the low side for any language."""
MIN_OUTPUT_TOKENS: Final = 1024
"""Output tokens that every call may use, however little is left. With fewer, the model cannot finish a sentence and a
call."""


class Grant(Value):
    """The decision about one call of the model."""

    tokens: int = 0
    """Tokens that the call may use, input and output. 0 means no call now."""
    output_tokens: int = 0
    """The part of `tokens` that is for output."""
    problem: str | None = None
    """The reason for no call, in words for people. None if running calls may still return enough tokens."""


class Budget(Value):
    """Limits in tokens, for input, cached input and output together. None means no limit."""

    conversation: int | None = Field(default=None, ge=1)
    day: int | None = Field(default=None, ge=1)
    """The limit for all conversations together, per UTC day."""

    @property
    def is_set(self) -> bool:
        return self.conversation is not None or self.day is not None

    def grant(self, spent: TokenUsage, read: int, output_tokens: int) -> Grant:
        """Decide about a call that reads about `read` tokens and would write at most `output_tokens`.

        The call is granted while any budget is left. It may write only what is left, but at least `MIN_OUTPUT_TOKENS`.
        Running calls count as spent, so the total exceeds the budget by one call at most: its input and
        `MIN_OUTPUT_TOKENS`.
        """
        left = read + output_tokens
        if self.conversation is not None:
            here = self.conversation - spent.conversation
            if here <= 0:
                return Grant(
                    problem=_(
                        "This conversation has used up its budget, so I stop here. "
                        "Write “new” to begin another one, or ask my operator for more."
                    )
                )
            left = min(left, here)
        if self.day is not None:
            today = self.day - spent.today
            if today <= 0:
                if today + spent.reserved > 0:
                    return Grant()
                return Grant(
                    problem=_(
                        "Today's budget is used up, so I stop here. I keep what you wrote: "
                        "write again after midnight UTC, or ask my operator for more."
                    )
                )
            left = min(left, today)
        output_tokens = min(output_tokens, max(left - read, MIN_OUTPUT_TOKENS))
        return Grant(tokens=read + output_tokens, output_tokens=output_tokens)
