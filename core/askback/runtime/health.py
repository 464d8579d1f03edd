"""Serve /healthz and /readyz: this process is alive, and it can take work. The answers contain no secrets."""

from __future__ import annotations

__all__ = ["Health"]

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from aiohttp import web
from sqlalchemy import Connection as Transaction
from sqlalchemy import text

from askback.agent.tool_runner import ToolRunnerState
from askback.ports.bot import Connection
from askback.store.database import Database
from askback.store.errors import StoreError
from askback.store.migrate import VERSION_TABLE

log = logging.getLogger("askback.health")

TICK_SECONDS = 0.5
STILL_SECONDS = 5.0
"""Maximum seconds for which the event loop may block. A blocked loop acknowledges no click."""
COMMIT_SECONDS = 2.0
FRESH_SECONDS = 1.0
"""Seconds for which a commit counts, so that frequent requests do not load the disk."""


class Health:
    """The health of this process. Parts whose state is unknown count as unhealthy."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connections: Mapping[str, Connection] = {}
        self._parts: Sequence[asyncio.Task[None]] = ()
        self._tools: Callable[[], ToolRunnerState] | None = None
        self._ticked = time.monotonic()
        self._commit = asyncio.Lock()
        self._committed: tuple[float, bool] = (float("-inf"), False)
        self.is_draining = False
        """True once the process is about to end and takes nothing new."""

    def watch(
        self,
        parts: Sequence[asyncio.Task[None]],
        connections: Mapping[str, Connection],
        tools: Callable[[], ToolRunnerState] | None = None,
    ) -> None:
        """Watch these from now on: tasks that run as long as the process, the bots, and the operator's tools."""
        self._parts, self._connections, self._tools = parts, connections, tools

    @asynccontextmanager
    async def track_event_loop(self) -> AsyncGenerator[None]:
        """Note until the block ends that the event loop is running."""

        async def tick() -> None:
            while True:
                self._ticked = time.monotonic()
                await asyncio.sleep(TICK_SECONDS)

        task = asyncio.create_task(tick(), name="askback health")
        try:
            yield
        finally:
            task.cancel()

    def list_routes(self) -> list[web.RouteDef]:
        """Return the routes for a listener to serve."""
        return [web.get("/healthz", self._handle_healthz), web.get("/readyz", self._handle_readyz)]

    def create_application(self) -> web.Application:
        application = web.Application()
        application.add_routes(self.list_routes())
        return application

    async def _handle_healthz(self, request: web.Request) -> web.Response:
        del request
        return _answer(self.check_alive())

    async def _handle_readyz(self, request: web.Request) -> web.Response:
        del request
        return _answer(await self.check_ready(), () if self._tools is None else self._tools().blocked_loops)

    def check_alive(self) -> dict[str, str]:
        """Return the state of each part: "ok", or a description of the problem."""
        still = time.monotonic() - self._ticked
        found = {"event loop": "ok" if still < STILL_SECONDS else f"was blocked for {still:.0f} s"}
        found["database"] = self._database.find_defect() or "ok"
        for task in self._parts:
            # During a drain, a bot may have finished as it should.
            ended = task.done() and not self.is_draining
            found[task.get_name().removeprefix("askback ")] = "has ended" if ended else "ok"
        return found

    async def check_ready(self) -> dict[str, str]:
        """Return the state of everything that is needed to take work: "ok", or a description of the problem."""
        found = {"database": "ok" if await self._can_commit() else "does not accept commits"}
        for name, connection in self._connections.items():
            found[name] = "ok" if connection.is_connected() else "is not connected"
        if not self._connections:
            found["bots"] = "have not started yet"
        if self._tools is not None:
            rejected = self._tools().rejection_reason
            found["tools"] = "ok" if rejected is None else f"calls are rejected: {rejected}"
        if self.is_draining:
            found["process"] = "is shutting down"
        return found

    async def _can_commit(self) -> bool:
        async with self._commit:
            at, well = self._committed
            if time.monotonic() - at < FRESH_SECONDS:
                return well
            try:
                await self._database.run(_touch, within=COMMIT_SECONDS)
            except StoreError as error:
                log.warning("Not ready: the database does not accept commits: %s", error, extra={"action": "not_ready"})
                well = False
            else:
                well = True
            self._committed = time.monotonic(), well
            return well


def _touch(transaction: Transaction) -> None:
    """Write something that changes nothing. Only a write shows that the disk accepts one."""
    transaction.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = version_num"))  # noqa: S608


def _answer(found: Mapping[str, str], notes: Sequence[str] = ()) -> web.Response:
    """Build the response. `notes` are for the operator and do not change the status."""
    well = all(state == "ok" for state in found.values())
    lines = "".join(f"{part}: {state}\n" for part, state in found.items() if state != "ok")
    lines += "".join(f"note: {note}\n" for note in notes)
    return web.Response(
        status=200 if well else 503, text=f"ok\n{lines}" if well else lines, headers={"Cache-Control": "no-store"}
    )
