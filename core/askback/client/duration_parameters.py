"""Reads durations and deadlines that callers give: numbers of seconds, or texts such as `30m`."""

from __future__ import annotations

__all__ = ["Deadline", "Duration", "check_wait", "parse_deadline", "parse_duration", "parse_durations", "parse_wait"]

from collections.abc import Sequence
from datetime import datetime

from askback.client.moments import (
    EXAMPLE,
    check_reachable,
    format_moment,
    looks_like_moment,
    parse_moment,
)
from askback.client.parameter_names import Terms
from askback.domain.ask_policy import LONGEST_WAIT
from askback.domain.wait import Wait, check_ahead
from askback.errors import CallerError
from askback.internal.clock import utc_now
from askback.settings import durations

Duration = str | float
"""Seconds, or a text such as `2h`."""
Deadline = Duration | datetime
"""A duration, or a moment with a time zone."""


def parse_wait(parameter: str, duration: Duration, terms: Terms, no_deadline: str = "forever") -> float | None:
    """Return the seconds of a wait; None means no deadline. Raises `CallerError`.

    `no_deadline` tells the caller how to give that.
    """
    if durations.is_never(duration):
        return None
    return _parse(parameter, duration, terms, f", or {no_deadline}")


def parse_deadline(parameter: str, given: Deadline, terms: Terms, no_deadline: str = "forever") -> Wait | None:
    """Return a wait, which may end at a moment; None means no deadline. Raises `CallerError`.

    Only in a shell, a moment without an offset is in the time zone of this machine.
    """
    shown = terms.format_parameter(parameter, given)
    try:
        if isinstance(given, datetime):
            if given.tzinfo is None:
                raise ValueError("has no time zone: add one, as datetime.astimezone() does")
            check_reachable(given)
            return given
        if isinstance(given, str) and looks_like_moment(given):
            return parse_moment(given, local=terms.is_shell)
    except ValueError as error:
        raise CallerError(f"{shown} {error}.") from None
    try:
        return parse_wait(parameter, given, terms, no_deadline)
    except CallerError as error:
        raise CallerError(f"{str(error).removesuffix('.')}, or a moment such as {EXAMPLE}.") from None


def check_wait(parameter: str, wait: Wait | None, terms: Terms) -> None:
    """Raise `CallerError` if a wait for a new question ends in the past."""
    if isinstance(wait, datetime):
        shown = format_moment(wait) if terms.is_shell else wait.isoformat()
        check_ahead(wait, utc_now(), terms.format_parameter(parameter, shown))


def parse_duration(parameter: str, duration: Duration, terms: Terms) -> float:
    """Return the seconds of a duration. Raises `CallerError`."""
    return _parse(parameter, duration, terms, "")


def parse_durations(parameter: str, given: Duration | Sequence[Duration], terms: Terms) -> tuple[float, ...]:
    """Return the seconds of one duration or of several. Raises `CallerError`."""
    several = (given,) if isinstance(given, str | int | float) else given
    return tuple(parse_duration(parameter, one, terms) for one in several)


def _parse(parameter: str, duration: Duration, terms: Terms, alternative: str) -> float:
    given = terms.format_parameter(parameter, duration)
    try:
        seconds = durations.parse_duration(duration) if isinstance(duration, str) else float(duration)
    except ValueError as error:
        raise CallerError(f"{given} {error}.") from None
    if not 0 < seconds <= LONGEST_WAIT:
        raise CallerError(f"{given} is out of range: use more than 0 seconds, at most ten years{alternative}.")
    return seconds
