"""Retry-After: seconds, a fraction of them, or a time; anything else counts as none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from askback.network.retry_after import read_retry_after


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("120", 120),
        (" 0 ", 0),
        ("9" * 400, 999_999_999),
        ("-5", None),
        ("1.5", 1.5),
        ("0.", 0),
        (".5", None),
        ("nan", None),
        ("\u0661", None),
        ("Fri, 27 Nov 2026 10:02:00 GMT", 120),
        ("Fri, 27 Nov 2026 10:02:00 -0000", 120),
        ("Fri, 27 Nov 2026 09:00:00 GMT", 0),
        ("tomorrow", None),
        (f"Fri, 27 Nov {'9' * 20} 10:02:00 GMT", None),
        (f"Fri, 27 Nov 2026 10:02:00 +{'9' * 20}", None),
    ],
)
def test_a_retry_after_is_seconds_or_a_time(value: str | None, seconds: float | None) -> None:
    assert read_retry_after(value, datetime(2026, 11, 27, 10, tzinfo=UTC)) == seconds
