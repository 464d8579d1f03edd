"""Durations as people write them: `90s`, `30m`, `12h`, `90d`, `2w`. Pure."""

from __future__ import annotations

__all__ = ["is_never", "parse_duration"]

import re
from typing import Final

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_ONE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_NEVER: Final = frozenset({"forever", "never", "none"})


def is_never(value: object) -> bool:
    """Return True for a word that means no limit, such as "never"."""
    return isinstance(value, str) and value.strip().casefold() in _NEVER


def parse_duration(text: str) -> float:
    """Return the seconds of a duration such as `1d 12h`, or of a bare number. Raises `ValueError`."""
    wanted = text.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", wanted):
        return float(wanted)
    if not wanted or _ONE.sub("", wanted).strip():
        raise ValueError("is not a duration: write a number with s, m, h, d or w, such as 90s, 12h or 30d")
    return float(sum(float(number) * _UNITS[unit] for number, unit in _ONE.findall(wanted)))
