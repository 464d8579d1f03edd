"""Detects that the other end of a connection is gone. The shorter the round trip, the more often it probes."""

from __future__ import annotations

__all__ = ["KeepAlive"]

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

SHORTEST = 0.25
LONGEST = 10.0
"""Limits, in seconds, for the interval between probes. `LONGEST` also limits the time to answer one."""
LEAST_PATIENCE = 1.0
"""Fewest seconds to wait for an answer. TCP sends a lost packet again after 0.2 s, and then after another 0.4 s."""
ROUNDS_BETWEEN = 60
ROUNDS_OF_PATIENCE = 20
"""Interval and patience in round trips. On one machine a dead line is noticed within two seconds."""
SLICES = 6
"""Number of slices of the wait for an answer. A stall of this process counts as one slice at most."""
MAX_MEASUREMENTS = 16
"""Number of measurements kept. The quickest counts; slower ones include stalls, also of this process itself."""


class KeepAlive:
    """Measures one connection's round trips, and probes it."""

    def __init__(self, round_trip: float, *, shortest: float = SHORTEST) -> None:
        """Start with the `round_trip` in seconds that was measured while connecting.

        `shortest` is the minimum interval in seconds, for connections that must not be probed often.
        """
        self._first = round_trip
        self._shortest = shortest
        self._measured: deque[float] = deque(maxlen=MAX_MEASUREMENTS)

    @property
    def round_trip(self) -> float:
        """Round trip in seconds."""
        return min(self._measured, default=self._first)

    @property
    def interval(self) -> float:
        """Seconds between two probes."""
        return min(max(ROUNDS_BETWEEN * self.round_trip, self._shortest), LONGEST)

    @property
    def patience(self) -> float:
        """Seconds without an answer after which the other end counts as gone."""
        return min(max(ROUNDS_OF_PATIENCE * self.round_trip, LEAST_PATIENCE), LONGEST)

    def record_round_trip(self, seconds: float) -> None:
        """Record that a probe was answered after this many seconds."""
        self._measured.append(max(seconds, 0.0))

    async def wait_until_silent(
        self, ask: Callable[[], Awaitable[object]], count_received: Callable[[], object]
    ) -> None:
        """Return when a probe was not answered. `count_received` returns another value whenever any data has arrived.

        A stall of this process does not count as silence of the other end, since no time passes here during a stall.
        """
        # Probe in quick succession at first: a single answer says little if this process was just stalled.
        pause = self._shortest
        while True:
            before = count_received()
            try:
                # If even writing the probe takes that long, the other end does not accept data.
                async with asyncio.timeout(self.patience):
                    await ask()
            except (TimeoutError, OSError, RuntimeError):
                return
            if not await self._wait_for_data(before, count_received):
                return
            await asyncio.sleep(min(self.interval, pause))
            pause = min(pause * 2, LONGEST)

    async def _wait_for_data(self, before: object, count_received: Callable[[], object]) -> bool:
        piece = self.patience / SLICES
        # Count slices instead of measuring time: data that arrived during a stall is read before the next slice ends.
        for _ in range(SLICES):
            await asyncio.sleep(piece)
            if count_received() != before:
                return True
        return False
