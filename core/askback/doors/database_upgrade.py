"""Upgrades the database of an earlier release when a door starts, so that open questions need no new one to go on."""

from __future__ import annotations

__all__ = ["upgrade_database"]

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from askback.errors import AskbackError

log = logging.getLogger("askback.door")

PAUSE_SECONDS: Final = 10.0
"""Seconds between two rounds of attempts."""


async def upgrade_database(
    serve: Callable[[str], Awaitable[None]], platforms: Collection[str], then: Callable[[], Awaitable[None]]
) -> None:
    """Serve on one of the platforms, which upgrades the database first. Call `then` once that has succeeded."""
    while True:
        for platform in sorted(platforms):
            try:
                await serve(platform)
            except AskbackError as error:
                log.warning("Could not upgrade the database yet: %s", error, extra={"action": "not_upgraded"})
            else:
                return await then()
        await asyncio.sleep(PAUSE_SECONDS)
