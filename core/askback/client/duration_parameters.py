"""Reads durations that callers give: numbers of seconds, or texts such as `30m`."""

from __future__ import annotations

__all__ = ["Duration", "parse_duration", "parse_durations", "parse_wait"]

from collections.abc import Sequence

from askback.client.parameter_names import Terms
from askback.domain.ask_policy import LONGEST_WAIT
from askback.errors import CallerError
from askback.settings import durations

Duration = str | float
"""Seconds, or a text such as `2h`."""


def parse_wait(parameter: str, duration: Duration, terms: Terms, no_deadline: str = "forever") -> float | None:
    """Return the seconds of a wait; None means no deadline. Raises `CallerError`.

    `no_deadline` tells the caller how to give that.
    """
    if durations.is_never(duration):
        return None
    return _parse(parameter, duration, terms, f", or {no_deadline}")


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
