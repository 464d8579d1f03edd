"""Deduplicates events within a process, including events that arrive at the same time."""

from __future__ import annotations

__all__ = ["Deduplicator"]

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from cachetools import FIFOCache

MAX_KEYS = 2000


class Deduplicator:
    """Deduplicates by key, in this process only; rows deduplicate across processes. A failed attempt does not count."""

    def __init__(self) -> None:
        self._done: FIFOCache[str, None] = FIFOCache(MAX_KEYS)
        self._at_work: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def wait_for(self, key: str) -> AsyncGenerator[None]:
        """Wait for current work on the key, and make later work on it wait until the block ends."""
        async with self._at_work.setdefault(key, asyncio.Lock()):
            yield

    @asynccontextmanager
    async def enter(self, key: str) -> AsyncGenerator[bool]:
        """Yield True for the first attempt. Others wait for it, and the next one gets True only if it failed."""
        async with self._at_work.setdefault(key, asyncio.Lock()):
            if key in self._done:
                yield False
                return
            yield True
            self._done[key] = None
