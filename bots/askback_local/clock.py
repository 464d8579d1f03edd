"""Time, as something that can be handed in: tests move it by hand instead of sleeping."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What this package needs to know about time."""

    def time(self) -> float:
        """Seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        ...


class SystemClock:
    """The time of the machine."""

    def time(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class ManualClock:
    """Time that stands still until `advance` is called."""

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
        """Move time forward and wake whoever slept long enough."""
        self._now += seconds
        for due, future in list(self._sleepers):
            if due <= self._now and not future.done():
                future.set_result(None)

    async def until_sleeping(self, count: int = 1) -> None:
        """Return when at least `count` sleepers wait; then `advance` cannot come too early."""
        while sum(not future.done() for _, future in self._sleepers) < count:
            arrival: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._arrivals.append(arrival)
            await arrival


async def done_within(clock: Clock, future: asyncio.Future[bool], seconds: float) -> bool:
    """Whether `future` was done before the clock moved on by `seconds`."""
    if not future.done():
        sleeper = asyncio.ensure_future(clock.sleep(seconds))
        try:
            await asyncio.wait({future, sleeper}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeper.cancel()
            await asyncio.gather(sleeper, return_exceptions=True)
    return future.done()
