"""Failovers during a round of the long run: a primary, its standby, and the proxy in front of them."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from faults.failover.proxy import Proxy, proxy
from support.postgres_servers import Pair, server_pair

CALM_SECONDS = (2.0, 5.0)
"""Range of seconds between two failures."""
TROUBLES = ("switched", "restarted", "cut", "cut in a commit", "on the standby", "silent")
FELT_SECONDS = 15.0
"""Seconds after a failure in which turns that it interrupted may be repeated."""
AWAY_SECONDS = (0.5, 3.0)


class Failovers:
    """The failures of one round's database."""

    def __init__(self, pair: Pair, way: Proxy, dice: random.Random) -> None:
        self._pair = pair
        self._way = way
        self._dice = dice
        self._pile: list[str] = []
        self.seen: Counter[str] = Counter()
        self.calm = asyncio.Lock()
        """Held while the database fails, and by the code that starts a process, which would otherwise exit again."""
        self._over_at = float("-inf")

    @property
    def is_felt(self) -> bool:
        """Return True if a turn may be repeated because of a failure."""
        return self.calm.locked() or time.monotonic() - self._over_at < FELT_SECONDS

    async def blow(self) -> None:
        """Cause one failure after the other until cancelled; the current one finishes before this returns."""
        while True:
            await asyncio.sleep(self._dice.uniform(*CALM_SECONDS))
            if not self._pile:
                # Each failure occurs equally often, in random order.
                self._pile = [*TROUBLES]
                self._dice.shuffle(self._pile)
            trouble = self._pile.pop()
            async with self.calm:
                playing = asyncio.create_task(self._play(trouble))
                try:
                    await asyncio.shield(playing)
                finally:
                    await playing
                    self._over_at = time.monotonic()
            self.seen[trouble] += 1

    async def _play(self, trouble: str) -> None:
        match trouble:
            case "switched":
                self._way.target = None
                await asyncio.to_thread(self._pair.switch)
                self._way.target = self._pair.primary.socket
                await asyncio.to_thread(self._pair.rejoin)
            case "restarted":
                await asyncio.to_thread(self._pair.primary.stop)
                await self._while_away()
                await asyncio.to_thread(self._pair.primary.start)
            case "cut":
                self._way.cut()
            case "cut in a commit":
                self._way.cut_on(b"COMMIT")
                await self._while_away()
                self._way.cut_on(None)
            case "on the standby":
                self._way.target = self._pair.standby.socket
                self._way.cut()
                await self._while_away()
                self._way.target = self._pair.primary.socket
            case _:
                self._way.swallow()
                await self._while_away()
                self._way.answer()

    async def _while_away(self) -> None:
        await asyncio.sleep(self._dice.uniform(*AWAY_SECONDS))


@asynccontextmanager
async def failing_over(dice: random.Random) -> AsyncGenerator[tuple[str, Failovers]]:
    """Yield the URL of an empty database that fails over, and the object that causes the failures."""
    with server_pair() as pair:
        name = pair.primary.made("askback")
        async with proxy(pair.primary.socket) as way:
            yield way.url(name), Failovers(pair, way, dice)
