"""Drops repeated log records, so that the log stays readable while something fails again and again."""

from __future__ import annotations

__all__ = ["RepeatFilter"]

import logging
from dataclasses import dataclass

MOST = 10
"""Maximum number of records of one place in the code that are shown in one period."""
PERIOD_SECONDS = 60.0

_Place = tuple[str, int, str, int, str]


@dataclass(slots=True)
class _Period:
    end: float
    shown: int = 0
    left_out: int = 0
    last: logging.LogRecord | None = None


class RepeatFilter:
    """Count warnings and errors by their place in the code and by the type of their error.

    The text does not count: it can contain a stranger's input, and differ each time.
    """

    def __init__(self) -> None:
        self._periods: dict[_Place, _Period] = {}

    def should_show(self, record: logging.LogRecord, now: float) -> bool:
        """Return True if a record is shown. The last one shown in a period gets a field that announces the omission."""
        if record.levelno < logging.WARNING:
            return True
        place = _get_place(record)
        period = self._periods.get(place)
        if period is None:
            period = self._periods[place] = _Period(now + PERIOD_SECONDS)
        if period.shown >= MOST:
            period.left_out += 1
            # Drop the traceback, which would keep every object in its frames alive.
            record.exc_info = None
            period.last = record
            return False
        period.shown += 1
        if period.shown == MOST:
            record.more_like_this = f"left out for {max(period.end - now, 0):.0f} s"
        return True

    def pop_ended(self, now: float) -> list[logging.LogRecord]:
        """Return the last record of each place that dropped records in its period, with a field that counts these."""
        over = [place for place, period in self._periods.items() if period.end <= now]
        records: list[logging.LogRecord] = []
        for place in over:
            period = self._periods.pop(place)
            if period.last is not None:
                period.last.left_out = period.left_out - 1
                records.append(period.last)
        return records


def _get_place(record: logging.LogRecord) -> _Place:
    kind = record.exc_info[0] if record.exc_info else None
    return record.name, record.levelno, record.pathname, record.lineno, "" if kind is None else kind.__qualname__
