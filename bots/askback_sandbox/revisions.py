"""A state that counts its changes, so that others can wait for the next one."""

import asyncio
from collections.abc import Callable
from typing import Self


class Revisions:
    """A counter of changes; callers can wait for the next change."""

    def __init__(self) -> None:
        self.revision = 0
        self.closed = False
        self._waiters: set[asyncio.Future[None]] = set()

    def touch(self) -> None:
        """Count a change and wake everyone who waits."""
        self.revision += 1
        for waiter in list(self._waiters):
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def changed_since(self, revision: int) -> int:
        """Return the revision as soon as it differs from `revision`, or after `close`."""
        while self.revision == revision and not self.closed:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.add(waiter)
            try:
                await waiter
            finally:
                self._waiters.discard(waiter)
        return self.revision

    async def until(self, condition: Callable[[Self], object], *, within: float = 10.0) -> None:
        """Return as soon as `condition` holds; it is checked after each change.

        Raises:
            TimeoutError: it did not hold within that many (real) seconds.
        """
        async with asyncio.timeout(within):
            while not condition(self):
                await self.changed_since(self.revision)

    def close(self) -> None:
        """Mark the state as closed and wake everyone who waits for a change."""
        self.closed = True
        self.touch()
