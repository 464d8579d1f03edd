"""Deduplicates events within a process, including events that arrive at the same time."""

from __future__ import annotations

__all__ = ["Once"]

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from askback.internal.bounded_cache import Recent

REMEMBERED = 2000


class Once:
    """Deduplicates by key, in this process only; rows deduplicate across processes. A failed attempt does not count."""

    def __init__(self) -> None:
        self._done: Recent[str, None] = Recent(REMEMBERED)
        self._at_work: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def after(self, key: str) -> AsyncGenerator[None]:
        """Wait for current work on the key, and make later work on it wait until the block ends."""
        async with self._at_work.setdefault(key, asyncio.Lock()):
            yield

    @asynccontextmanager
    async def entered(self, key: str) -> AsyncGenerator[bool]:
        """Yield True for the first attempt. Others wait for it, and the next one gets True only if it failed."""
        async with self._at_work.setdefault(key, asyncio.Lock()):
            if key in self._done:
                yield False
                return
            yield True
            self._done[key] = None
