"""A replaceable clock: tests advance the time by hand instead of sleeping."""

import asyncio
import time
from typing import Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """The clock functions that this package needs."""

    def time(self) -> float:
        """Return the seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        ...


_SINCE_EPOCH = time.time() - time.monotonic()


class SystemClock:
    """The machine's clock, without later corrections: they would change the times that are measured with it."""

    def time(self) -> float:
        return _SINCE_EPOCH + time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class ManualClock:
    """A clock that moves only when `advance` is called."""

    def __init__(self, start: float = 1_760_000_000.0) -> None:
        self._now = start
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._arrivals: list[asyncio.Future[None]] = []

    def time(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (self._now + seconds, future)
        self._sleepers.append(entry)
        for arrival in self._arrivals:
            if not arrival.done():
                arrival.set_result(None)
        self._arrivals.clear()
        try:
            await future
        finally:
            if entry in self._sleepers:
                self._sleepers.remove(entry)

    def advance(self, seconds: float) -> None:
        """Move the time forward and wake the sleepers that are due."""
        self._now += seconds
        for due, future in list(self._sleepers):
            if due <= self._now and not future.done():
                future.set_result(None)

    async def until_sleeping(self, count: int = 1) -> None:
        """Return when at least `count` sleepers wait, so that `advance` cannot come too early."""
        while sum(not future.done() for _, future in self._sleepers) < count:
            arrival: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._arrivals.append(arrival)
            await arrival


async def done_within(clock: Clock, future: asyncio.Future[T], seconds: float) -> bool:
    """Return True if `future` was done before the clock advanced by `seconds`."""
    if not future.done():
        sleeper = asyncio.ensure_future(clock.sleep(seconds))
        try:
            await asyncio.wait({future, sleeper}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeper.cancel()
            await asyncio.gather(sleeper, return_exceptions=True)
    return future.done()
