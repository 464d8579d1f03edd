"""Limits on how much may be asked in a place, and how fast."""

from __future__ import annotations

__all__ = ["AGENT_PACE", "Limits"]

from datetime import timedelta

from pydantic import Field

from askback.internal.values import Value

AGENT_PACE = 5.0
"""Seconds between two cards of an agent in one place, if no setting says otherwise."""


class Limits(Value):
    """Limits on how much may be asked. The defaults come from the design documents of the question tools."""

    pending_per_place: int = Field(default=10, ge=1)
    """Maximum number of open asks in one conversation."""
    seconds_between_asks: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Seconds that a new card waits after the previous one. The ask is stored at once; only its posting waits.

    None means 5 seconds if an agent asks, and 0 if a program asks.
    """
    timeout: float | None = Field(default=300.0, gt=0, allow_inf_nan=False)
    """Seconds until `QuestionManager.ask` gives up, if the caller gives no timeout. None means never."""

    def pause(self, *, agent: bool) -> timedelta:
        """Return the time between the previous card and one of an agent, or of a program."""
        by_default = AGENT_PACE if agent else 0.0
        return timedelta(seconds=by_default if self.seconds_between_asks is None else self.seconds_between_asks)
