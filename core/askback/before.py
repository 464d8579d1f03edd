"""What was said in a thread before the agent was called into it, as far as it can be read now."""

from __future__ import annotations

__all__ = ["NOTHING", "Before", "read_before"]

import asyncio
import logging
from typing import Final

from askback.conversations import Said
from askback.identity import Place
from askback.platform import Gone, Platform, TryLater, Undeliverable
from askback.values import Value

log = logging.getLogger("askback.agent")

SECONDS = 20.0
"""How long it is tried: the model is told it now or never."""
PAUSE = 1.0
"""Between two tries, where the platform names no time of its own."""


class Before(Value):
    """What was said, or why that cannot be told."""

    said: tuple[Said, ...] = ()
    problem: str | None = None


NOTHING: Final = Before()


async def read_before(platform: Platform, place: Place) -> Before:
    """Read it. Where it cannot be read, the model and the log are told why."""
    try:
        async with asyncio.timeout(SECONDS):
            return Before(said=await _patiently(platform, place))
    except (Undeliverable, Gone, TryLater, TimeoutError) as error:
        why = str(error) or "the platform does not answer."
        log.warning("What was said before cannot be read: %s", why, extra={"action": "no_earlier"})
        return Before(problem=why)


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
