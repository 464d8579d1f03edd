"""The time zones of people: by their name, or by their offset."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from askback_slack.user_names import _build_zone


@pytest.mark.parametrize(
    ("name", "seconds", "hours"),
    [
        ("Europe/Berlin", 0, 2),
        ("Nowhere/Nothing", -25_200, -7),
        ("../../etc/passwd", 3_600, 1),
        ("Europe", 3_600, 1),
        (None, 20_700, 5.75),
    ],
)
def test_a_name_counts_and_the_offset_where_it_is_unknown(name: str | None, seconds: int, hours: float) -> None:
    zone = _build_zone(name, seconds)
    assert datetime(2026, 7, 1, tzinfo=UTC).astimezone(zone).utcoffset() == timedelta(hours=hours)


@pytest.mark.parametrize("seconds", [None, "3600", 86_400, -86_400, 10**30])
def test_without_either_there_is_none(seconds: Any) -> None:
    assert _build_zone("Nowhere/Nothing", seconds) is None
