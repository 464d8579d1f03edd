"""Answers `/healthz` and `/readyz` of `askback serve`. Anybody may ask, so they name only the platforms that are away.

As long as one platform works, the server is ready: a balancer that took it away would stop the others' callers, too.
"""

from __future__ import annotations

__all__ = ["HEALTH_PATHS", "HttpHealth"]

import asyncio
import logging
from typing import Final

from aiohttp import web

from askback.doors.caller_asks import CallerAsks
from askback.doors.caller_file import CallerFile
from askback.doors.platform_check import PlatformCheck
from askback.errors import AskbackError
from askback.internal.clock import monotonic

log = logging.getLogger("askback.door")

HEALTHY: Final = "/healthz"
READY: Final = "/readyz"
HEALTH_PATHS: Final = frozenset({HEALTHY, READY})
FRESH_SECONDS: Final = 1.0
"""Seconds for which a look at the database counts, however many ask."""


class HttpHealth:
    """The state of one server."""

    def __init__(self, callers: CallerFile, asks: CallerAsks) -> None:
        self._callers = callers
        self._asks = asks
        self._platforms = PlatformCheck(asks.location)
        self._looking = asyncio.Lock()
        self._looked: float | None = None
        self._is_readable = False

    def list_routes(self) -> list[web.RouteDef]:
        """Return the routes for a listener to serve."""
        return [web.get(HEALTHY, self._handle_healthz), web.get(READY, self._handle_readyz)]

    async def _handle_healthz(self, request: web.Request) -> web.Response:
        del request
        return web.json_response({"status": "ok"})

    async def _handle_readyz(self, request: web.Request) -> web.Response:
        del request
        if not self._callers.list_names() or not await self._can_read():
            return web.json_response({"status": "not ready"}, status=503)
        wanted = self._callers.list_platforms()
        away = await self._platforms.list_away(wanted)
        if not away:
            return web.json_response({"status": "ok"})
        if len(away) < len(wanted):
            return web.json_response({"status": "degraded", "away": away})
        return web.json_response({"status": "not ready", "away": away}, status=503)

    async def close(self) -> None:
        """Stop checking the platforms."""
        await self._platforms.close()

    async def _can_read(self) -> bool:
        async with self._looking:
            if self._looked is None or monotonic() - self._looked >= FRESH_SECONDS:
                try:
                    await self._asks.reader.check_database()
                    self._is_readable = True
                except AskbackError as error:
                    log.warning("Not ready: %s", error, extra={"action": "not_ready"})
                    self._is_readable = False
                self._looked = monotonic()
            return self._is_readable
