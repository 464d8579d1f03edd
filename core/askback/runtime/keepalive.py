"""Whether the other end of a line is still there: asked often where answers are quick, seldom where they are not."""

from __future__ import annotations

__all__ = ["Pulse"]

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

SHORTEST = 0.25
LEAST_PATIENCE = 0.25
LONGEST = 10.0
"""Seconds between two questions, and that an answer may take, at least and at most."""
ROUNDS_BETWEEN = 60
ROUNDS_OF_PATIENCE = 20
"""The same in round trips: on one machine a dead line is noticed within a second, and no far server is pestered."""
SLICES = 6
"""In how many pieces an answer is waited for. One of them counts as no more than it should have taken."""
KEPT = 16
"""Measurements that are kept. The quickest counts: the others tell of stalls, also of this process's own."""


class Pulse:
    """The pulse of one line."""

    def __init__(self, round_trip: float, *, shortest: float = SHORTEST) -> None:
        """`round_trip`: what one took while the line was opened; `shortest`: for lines that must not be asked often."""
        self._first = round_trip
        self._shortest = shortest
        self._measured: deque[float] = deque(maxlen=KEPT)

    @property
    def round_trip(self) -> float:
        """Seconds that an answer takes."""
        return min(self._measured, default=self._first)

    @property
    def interval(self) -> float:
        """Seconds between two questions."""
        return min(max(ROUNDS_BETWEEN * self.round_trip, self._shortest), LONGEST)

    @property
    def patience(self) -> float:
        """Seconds after which no answer means that nobody is there."""
        return min(max(ROUNDS_OF_PATIENCE * self.round_trip, LEAST_PATIENCE), LONGEST)

    def measured(self, seconds: float) -> None:
        """A question was answered after so long."""
        self._measured.append(max(seconds, 0.0))

    async def until_silent(self, ask: Callable[[], Awaitable[object]], heard: Callable[[], object]) -> None:
        """Return when a question was not answered. `heard` gives something else whenever anything has come in.

        A stall of this process is no silence of the other end's: while it lasts, no time passes here.
        """
        # The first answers come in quick succession: a single one says little where this process was just stalled.
        pause = self._shortest
        while True:
            before = heard()
            try:
                # What cannot even be written in that time is not taken at the other end.
                async with asyncio.timeout(self.patience):
                    await ask()
            except (TimeoutError, OSError, RuntimeError):
                return
            if not await self._anything(before, heard):
                return
            await asyncio.sleep(min(self.interval, pause))
            pause = min(pause * 2, LONGEST)

    async def _anything(self, before: object, heard: Callable[[], object]) -> bool:
        piece = self.patience / SLICES
        # Counted, not measured: after a stall, what had come in meanwhile is read before the next piece is over.
        for _ in range(SLICES):
            await asyncio.sleep(piece)
            if heard() != before:
                return True
        return False
