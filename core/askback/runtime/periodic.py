"""Repeat work in the background, after a pause or a wake-up."""

from __future__ import annotations

__all__ = ["LOOK_AGAIN", "repeat", "sleep"]

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta

from askback.store.errors import StoreError

log = logging.getLogger("askback.worker")

STORE_PAUSE = 1.0
"""Seconds before work is retried that failed because of the database."""
LOOK_AGAIN = 30.0
"""Longest sleep in seconds: the clock may jump, and a late commit may have sent no event."""


async def repeat(
    what: str, wakeup: asyncio.Event, work: Callable[[], Awaitable[timedelta | None]], longest: float = LOOK_AGAIN
) -> None:
    """Do the work until cancelled. Between two times, sleep for as long as it returned, or until `wakeup` is set."""
    while True:
        wakeup.clear()
        try:
            pause = await work()
        except StoreError as error:
            log.error("Could not read the %s; trying again: %s", what, error, extra={"action": "store_failed"})
            pause = timedelta(seconds=STORE_PAUSE)
        await sleep(wakeup, pause, longest)


async def sleep(wakeup: asyncio.Event, pause: timedelta | None, longest: float = LOOK_AGAIN) -> None:
    """Sleep for `pause` or until `wakeup` is set, at most `longest` seconds. A `pause` of None means `longest`."""
    seconds = longest if pause is None else pause.total_seconds()
    if seconds <= 0:
        await asyncio.sleep(0)
        return
    try:
        async with asyncio.timeout(min(seconds, longest)):
            await wakeup.wait()
    except TimeoutError:
        return
