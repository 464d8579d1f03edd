"""A reminder is only missed if a bot ran for long enough, and the platform answered it."""

from __future__ import annotations

import pytest

from .reminding import Span, find_longest_service


@pytest.mark.parametrize(
    ("bots", "outages", "seconds"),
    [
        ([], [], 0.0),
        ([(0.0, 100.0)], [], 10.0),
        ([(0.0, 12.0), (13.0, 19.0)], [], 6.0),
        ([(21.0, 30.0)], [], 0.0),
        # The outage of 1 s is followed by a pause of at most 2 s.
        ([(0.0, 100.0)], [(12.0, 13.0)], 5.0),
        ([(0.0, 100.0)], [(15.0, 16.0)], 5.0),
        ([(0.0, 100.0)], [(5.0, 10.0)], 4.0),
        ([(0.0, 100.0)], [(0.0, 20.0)], 0.0),
        ([(0.0, 100.0)], [(1.0, 2.0)], 10.0),
        ([(0.0, 12.0), (13.0, 19.0)], [(12.0, 13.0)], 4.0),
    ],
)
def test_the_longest_service_leaves_out_kills_and_outages(
    bots: list[Span], outages: list[Span], seconds: float
) -> None:
    # The time looked at is from 10 to 20.
    assert find_longest_service(bots, outages, (10.0, 20.0)) == seconds
