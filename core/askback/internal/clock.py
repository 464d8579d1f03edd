"""The time, as the store keeps it: whole microseconds since the epoch, UTC."""

from __future__ import annotations

__all__ = ["SECOND", "Clock", "from_micros", "monotonic", "now", "to_micros", "utc_now"]

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

Clock: TypeAlias = Callable[[], int]
"""What is passed to whoever needs the time, so that a test can pass its own."""

SECOND = 1_000_000


def now() -> int:
    """Microseconds since the epoch, UTC. The wall clock: it outlives a restart, but it can jump."""
    return time.time_ns() // 1_000


def monotonic() -> float:
    """Seconds by a clock that nobody sets: for how long something lasts within one process."""
    return time.monotonic()


def utc_now() -> datetime:
    """The same moment as a date."""
    return from_micros(now())


def to_micros(moment: datetime) -> int:
    """A date as the store keeps it. Exact: floats are not involved."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * SECOND + since.microseconds


def from_micros(micros: int) -> datetime:
    """A stored time as a date, UTC."""
    return _EPOCH + timedelta(microseconds=micros)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
