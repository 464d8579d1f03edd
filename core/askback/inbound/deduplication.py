"""Lets the same thing through once, however often it is announced, and also when that is at the same time."""

from __future__ import annotations

__all__ = ["Once"]

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from askback.internal.bounded_cache import Recent

REMEMBERED = 2000


class Once:
    """By key. What failed counts as not done, so that it may come again. In this process: rows keep the rest apart."""

    def __init__(self) -> None:
        self._done: Recent[str, None] = Recent(REMEMBERED)
        self._at_work: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def after(self, key: str) -> AsyncGenerator[None]:
        """Come after whoever is at work on that key, and before whoever comes for it meanwhile."""
        async with self._at_work.setdefault(key, asyncio.Lock()):
            yield

    @asynccontextmanager
    async def entered(self, key: str) -> AsyncGenerator[bool]:
        """Whether this one is the first; a second one waits for the first, and is the first where that failed."""
        async with self._at_work.setdefault(key, asyncio.Lock()):
            if key in self._done:
                yield False
                return
            yield True
            self._done[key] = None
