"""Reads the times that options of the command line give."""

from __future__ import annotations

__all__ = ["parse_time", "parse_wait"]

import math

from askback.errors import CallerError


def parse_wait(option: str, text: str) -> float:
    """Return the seconds of a wait; infinity for `forever`. Raises `CallerError`."""
    return math.inf if text.strip().casefold() in {"forever", "never"} else parse_time(option, text)


def parse_time(option: str, text: str) -> float:
    """Return the seconds of a time such as `30m`. Raises `CallerError`."""
    from askback.domain.ask_policy import LONGEST_WAIT
    from askback.settings.durations import parse_duration

    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise CallerError(f"--{option} {text} {error}.") from None
    if not 0 < seconds <= LONGEST_WAIT:
        raise CallerError(f"--{option} {text} is out of range: use more than 0 seconds, at most ten years, or forever.")
    return seconds
