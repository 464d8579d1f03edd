"""Time in the form that the store keeps: whole microseconds since the epoch, UTC."""

from __future__ import annotations

__all__ = ["MICROSECOND", "SECOND", "Clock", "from_micros", "monotonic", "now", "to_iso", "to_micros", "utc_now"]

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

Clock: TypeAlias = Callable[[], int]
"""A source of the current time in microseconds. Code takes it as a parameter, so that tests can pass their own."""

SECOND = 1_000_000
MICROSECOND = timedelta(microseconds=1)


def now() -> int:
    """Return microseconds since the epoch, UTC. This wall clock stays valid across restarts, but it can jump."""
    return time.time_ns() // 1_000


def monotonic() -> float:
    """Return seconds of a clock that cannot be set. Use it to measure durations within one process."""
    return time.monotonic()


def utc_now() -> datetime:
    """Return the current time as a UTC datetime."""
    return from_micros(now())


def to_micros(moment: datetime) -> int:
    """Return an aware datetime as microseconds since the epoch. Exact, because it uses no floats."""
    return (moment - _EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return microseconds since the epoch as a UTC datetime."""
    return _EPOCH + timedelta(microseconds=micros)


def to_iso(moment: datetime) -> str:
    """Return an aware datetime as programs read it: ISO 8601 in UTC, with Z. Pydantic writes the same."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
