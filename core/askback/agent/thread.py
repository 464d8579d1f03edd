"""Reads the thread that the agent was called into the middle of."""

from __future__ import annotations

__all__ = ["read_earlier"]

import asyncio
import logging

from askback.agent.earlier import Earlier
from askback.conversations import Said
from askback.identity import Place
from askback.platform import Gone, Platform, TryLater, Undeliverable

log = logging.getLogger("askback.agent")

SECONDS = 20.0
"""How long it is tried: the model is told it now or never."""
PAUSE = 1.0
"""Between two tries, where the platform names no time of its own."""


async def read_earlier(platform: Platform, place: Place) -> Earlier:
    """What was said there earlier. Where that cannot be read, the model and the log are told why."""
    try:
        async with asyncio.timeout(SECONDS):
            return Earlier(said=await _patiently(platform, place))
    except (Undeliverable, Gone, TryLater, TimeoutError) as error:
        why = str(error) or "the platform does not answer."
        log.warning("What was said earlier cannot be read: %s", why, extra={"action": "no_earlier"})
        return Earlier(problem=why)


async def _patiently(platform: Platform, place: Place) -> tuple[Said, ...]:
    loop = asyncio.get_running_loop()
    end = loop.time() + SECONDS
    while True:
        try:
            return await platform.earlier(place)
        except TryLater as later:
            pause = PAUSE if later.seconds is None else later.seconds
            if loop.time() + pause >= end:
                raise
            await asyncio.sleep(pause)
