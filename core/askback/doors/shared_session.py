"""A session that many callers share. It is open while somebody uses it, and a little longer."""

from __future__ import annotations

__all__ = ["SharedSession"]

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from askback.client.session import AskSession
from askback.errors import AskbackError

log = logging.getLogger("askback.door")

IDLE_SECONDS = 5.0
"""Seconds without a use after which the session closes, so that a bot can take the database."""


class SharedSession:
    """Opens a session at its first use."""

    def __init__(self, create: Callable[[], AskSession]) -> None:
        self._create = create
        self._session: AskSession | None = None
        self._users = 0
        self._opening = asyncio.Lock()
        self._closing: asyncio.Task[None] | None = None

    @property
    def is_serving(self) -> bool:
        """True if asks are served now."""
        return self._session is not None and self._session.is_serving

    @asynccontextmanager
    async def use(self) -> AsyncGenerator[AskSession]:
        """Use the session until the block ends. A session that has failed is replaced by a new one."""
        self._users += 1
        try:
            async with self._opening:
                if self._session is not None and self._session.is_over:
                    await self._end()
                if self._session is None:
                    self._session = self._create()
                    self._session.start()
                session = self._session
            yield session
        finally:
            self._users -= 1
            if not self._users and self._closing is None:
                self._closing = asyncio.create_task(self._close_when_idle(), name="askback idle")

    async def close(self) -> None:
        """Close the session: show what was settled last, and stop serving."""
        if self._closing is not None:
            self._closing.cancel()
        async with self._opening:
            await self._end()

    async def _close_when_idle(self) -> None:
        await asyncio.sleep(IDLE_SECONDS)
        self._closing = None
        async with self._opening:
            if not self._users:
                await self._end()

    async def _end(self) -> None:
        session, self._session = self._session, None
        if session is None:
            return
        try:
            await session.finish()
        except AskbackError as error:  # its users have received it
            log.warning("Stopped serving questions: %s", error, extra={"action": "session_ended"})
        finally:
            await session.end()
