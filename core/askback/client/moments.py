"""Reads moments as people and programs write them: `2026-12-01 17:00`, `2026-12-01T17:00:00+01:00`."""

from __future__ import annotations

__all__ = ["EXAMPLE", "RFC_3339", "check_reachable", "format_moment", "looks_like_moment", "parse_moment"]

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from askback.domain.ask_policy import LONGEST_WAIT
from askback.internal.clock import utc_now

EXAMPLE: Final = "2026-12-01 17:00"
RFC_3339: Final = "2026-12-01T17:00:00+01:00"
OLDEST: Final = 2000
"""The first year of a moment, so that each can be converted to other time zones."""
_MOMENT: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ]\s*(\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)\s*([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)
_BEGINNING: Final = re.compile(r"\d+\s*[-/:]|\d+\.\d+\.", re.ASCII)
"""The beginning of a date or of a time of the day, which no duration has."""


def looks_like_moment(text: str) -> bool:
    """Return True if a text is more like a moment than like a duration."""
    return _BEGINNING.match(text.strip()) is not None


def parse_moment(text: str, *, local: bool) -> datetime:
    """Return a moment, with its offset. With `local`, one without an offset is in the time zone of this machine.

    Raises `ValueError` with half a sentence: it is no moment, or without an offset it could be none or several.
    """
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        example = EXAMPLE if local else RFC_3339
        raise ValueError(f"is not a moment: give the date and the time, such as {example}")
    day, time, offset = found.groups()
    if offset is None and not local:
        raise ValueError(f"has no offset, so it depends on the time zone: add one, such as {RFC_3339}, or Z for UTC")
    try:
        moment = datetime.fromisoformat(f"{day}T{time}{(offset or '').upper()}")
    except ValueError:
        raise ValueError(f"is no moment of the calendar: give one such as {EXAMPLE}") from None
    check_reachable(moment)
    return moment if offset is not None else _localize(moment)


def check_reachable(moment: datetime) -> None:
    """Raise `ValueError` if a moment is too late for a wait, or before all of askback's questions.

    Another one that has passed may belong to an earlier question.
    """
    if moment.year < OLDEST:
        raise ValueError("has passed: give a later moment")
    # The time zone hardly matters for ten years, and the end of the calendar leaves no room to convert it.
    if moment.replace(tzinfo=UTC) - utc_now() > timedelta(seconds=LONGEST_WAIT):
        raise ValueError("is too late: give a moment within the next ten years")


def format_moment(moment: datetime) -> str:
    """Return a moment in the time zone of this machine, which it names."""
    local = moment.astimezone()
    seconds = ":%S" if local.second else ""
    return f"{local:%Y-%m-%d %H:%M{seconds} %Z}"


def _localize(moment: datetime) -> datetime:
    """Return a moment without an offset in the time zone of this machine. Raises `ValueError`."""
    try:
        both = sorted(moment.replace(fold=fold).astimezone() for fold in (0, 1))
        exists = any(one.astimezone(UTC).astimezone().replace(tzinfo=None) == moment for one in both)
    except (OverflowError, OSError):
        raise ValueError(f"is no moment of the calendar: give one such as {EXAMPLE}") from None
    first, second = (_format_plain(one.astimezone(UTC).astimezone()) for one in both)
    if not exists:
        raise ValueError(f"does not exist here, because the clocks go forward then: give {first} or {second}")
    if first != second:
        raise ValueError(f"comes twice here, because the clocks go back then: give {first} or {second}")
    return both[0]


def _format_plain(moment: datetime) -> str:
    return moment.isoformat(" ", "seconds" if moment.second else "minutes")
