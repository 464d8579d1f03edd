"""Waits a moment for the names of people and channels that a click picked and the platform tells later."""

from __future__ import annotations

__all__ = ["AwaitedNames"]

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

SECONDS: Final = 5.0
"""Seconds after a click for which the agent and other callers wait for names. After that, they get the ids."""


class AwaitedNames:
    """The asks of this process with picked people or channels whose names a bot is looking up."""

    def __init__(self) -> None:
        self._awaited: dict[str, tuple[asyncio.Event, float]] = {}

    def expect(self, ask_id: str) -> None:
        """Let callers wait for the names of an ask from now on."""
        self._awaited[ask_id] = asyncio.Event(), time.monotonic() + SECONDS

    def forget(self, ask_id: str) -> None:
        """Let callers no longer wait: the names are known, or the click changed nothing."""
        event, _ = self._awaited.pop(ask_id, (None, 0.0))
        if event is not None:
            event.set()

    async def wait(self, ask_id: str | None = None) -> None:
        """Wait until the names of an ask are known, or of all asks, at most for `SECONDS`."""
        asks: Iterable[str] = tuple(self._awaited) if ask_id is None else (ask_id,)
        for one in asks:
            event, until = self._awaited.get(one, (None, 0.0))
            if event is None:
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(max(until - time.monotonic(), 0.0)):
                    await event.wait()
            self._awaited.pop(one, None)
