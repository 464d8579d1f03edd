"""The platform's clock stops while the machine does not run the test's process, and only then."""

from __future__ import annotations

import asyncio
import time

from support.clocks import SharedClock

SECONDS = 0.6


async def test_seconds_in_which_the_process_was_suspended_do_not_count() -> None:
    clock = SharedClock()
    async with clock.running():
        await asyncio.sleep(0.1)
        began = clock.time()
        sleeping = asyncio.create_task(clock.sleep(SECONDS))
        await asyncio.sleep(0)
        time.sleep(SECONDS)  # noqa: ASYNC251 - like a process that the machine does not run
        assert clock.time() - began < SECONDS, "also at once"
        await asyncio.sleep(0.1)
        assert clock.time() - began < SECONDS
        assert not sleeping.done()
        await sleeping
        assert clock.time() - began >= SECONDS


async def test_seconds_in_which_the_process_is_busy_count() -> None:
    clock = SharedClock()
    async with clock.running():
        await asyncio.sleep(0.1)
        began = clock.time()
        used = time.process_time()
        while time.process_time() - used < SECONDS:
            pass
        await asyncio.sleep(0.1)
        assert clock.time() - began >= SECONDS
