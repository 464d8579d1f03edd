"""Times as the reader's clock shows them."""

from __future__ import annotations

import time
from datetime import datetime

__all__ = ["moment", "since"]

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def moment(at: int) -> str:
    """Return the date and the time in the time zone of this machine."""
    try:
        return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, OSError, ValueError):
        return "(no date)"


def since(at: int) -> str:
    """Return the time from now until `at`, or from `at` until now, in words."""
    apart = round(at - time.time())
    seconds, unit = next((pair for pair in _UNITS if abs(apart) >= pair[0]), _UNITS[-1])
    count = abs(apart) // seconds
    words = f"{count} {unit}{'' if count == 1 else 's'}"
    return f"in {words}" if apart >= 0 else f"{words} ago"
