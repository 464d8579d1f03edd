"""What can be waited for: a state that counts its changes."""

import asyncio
from collections.abc import Callable
from typing import Self


class Revisions:
    """A counter of changes, with people who wait for the next one."""

    def __init__(self) -> None:
        self.revision = 0
        self.closed = False
        self._waiters: set[asyncio.Future[None]] = set()

    def touch(self) -> None:
        """Tell whoever waits that something changed."""
        self.revision += 1
        for waiter in list(self._waiters):
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def changed_since(self, revision: int) -> int:
        """The revision, as soon as it is not `revision` any more (or all is over)."""
        while self.revision == revision and not self.closed:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.add(waiter)
            try:
                await waiter
            finally:
                self._waiters.discard(waiter)
        return self.revision

    async def until(self, condition: Callable[[Self], object], *, within: float = 10.0) -> None:
        """Return as soon as `condition` holds; it is looked at after each change.

        Raises:
            TimeoutError: it did not hold within that many (real) seconds.
        """
        async with asyncio.timeout(within):
            while not condition(self):
                await self.changed_since(self.revision)

    def close(self) -> None:
        """Let go of everyone who waits for a change."""
        self.closed = True
        self.touch()
