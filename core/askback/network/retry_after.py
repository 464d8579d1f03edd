"""Reads the header Retry-After, in each form that servers and proxies send."""

from __future__ import annotations

__all__ = ["read_retry_after"]

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from askback.internal.clock import utc_now


def read_retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Return the seconds of a Retry-After, which names seconds or a time; None if there is none that can be read.

    The standard has whole seconds only, but some servers send a fraction. `now` is the time to count from, by default
    the present.
    """
    text = (value or "").strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]*)?", text):
        whole, _, fraction = text.partition(".")
        return float(f"{whole[:9]}.{fraction[:3]}")
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    now = now or utc_now()
    return max((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now.timestamp(), 0.0)
