"""The time that people have for an answer: seconds from the posting of the card, or until a moment."""

from __future__ import annotations

__all__ = ["Wait", "check_ahead", "count_seconds", "drop_late", "get_deadline"]

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TypeAlias

from askback.errors import CallerError

Wait: TypeAlias = float | datetime
"""Seconds, or an aware moment, which stays where it is if the card is posted late."""


def check_ahead(moment: datetime, now: datetime, given: str) -> None:
    """Raise `CallerError` if a moment has passed. `given` names it."""
    if moment <= now:
        raise CallerError(f"{given} has passed, so nobody was asked: give a later moment.")


def get_deadline(wait: Wait, now: datetime) -> datetime:
    """Return the end of a wait that begins now."""
    return wait if isinstance(wait, datetime) else now + timedelta(seconds=wait)


def count_seconds(wait: Wait, now: datetime) -> float:
    """Return the length of a wait that begins now. It is negative for a moment that has passed."""
    return (wait - now).total_seconds() if isinstance(wait, datetime) else wait


def drop_late(delays: Iterable[float], wait: Wait | None, now: datetime) -> tuple[float, ...]:
    """Return the delays that end before the wait does."""
    return tuple(after for after in delays if wait is None or after < count_seconds(wait, now))
