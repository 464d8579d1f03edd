"""Let several processes work on PostgreSQL at the same time."""

from __future__ import annotations

__all__ = ["PostgresBackend", "listen"]

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import psycopg

from askback.runtime.backend import Backend, SignalHandler
from askback.runtime.postgres_turns import JobTurnScheduler, raise_unless_cancelled
from askback.runtime.shutdown import end_tasks
from askback.runtime.turns import Advance, TurnScheduler
from askback.store.notifications import LISTENING, Signal
from askback.store.outage_log import REPEAT_SECONDS, is_outage_logged
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.connection import build_conninfo
from askback.store.postgres.database import PostgresDatabase
from askback.store.postgres.dead_connections import BoundedConnection
from askback.store.postgres.error_mapping import format_reason
from askback.store.store import Store

log = logging.getLogger("askback.worker")

LOOK_AGAIN = 3.0
"""Maximum sleep in seconds. Within this time plus a lease, other processes find the work of a dead one."""
PAUSE_SECONDS = 1.0


class PostgresBackend(Backend):
    """Learn of other processes' commits through NOTIFY, and by polling if that fails."""

    is_shared = True
    look_again = LOOK_AGAIN

    def __init__(self, address: PostgresAddress, database: PostgresDatabase) -> None:
        self.database = database
        self._address = address
        self._database = database

    def create_scheduler(self, store: Store, advance: Advance, served: frozenset[str]) -> TurnScheduler:
        return JobTurnScheduler(self._address, self._database, store, advance, served)

    def announce(self, served: frozenset[str], away: Mapping[str, str]) -> None:
        """Announce nothing: each process serves its own platforms, and its heartbeat names them."""

    @asynccontextmanager
    async def _listen(self, recheck: SignalHandler) -> AsyncGenerator[None]:
        async with listen(self._address, recheck, LISTENING) as task:
            self.parts = (task,)
            yield

    def listen(self, recheck: SignalHandler) -> AbstractAsyncContextManager[None]:
        return self._listen(recheck)


@asynccontextmanager
async def listen(
    address: PostgresAddress, recheck: SignalHandler, listening: str
) -> AsyncGenerator[asyncio.Task[None]]:
    """Receive signals about other processes' commits until the block ends. `listening` is the SQL that subscribes."""
    task = asyncio.create_task(_Hearing(address, recheck, listening).run(), name="askback signals")
    try:
        yield task
    finally:
        await end_tasks((task,))


class _Hearing:
    """Receives signals about other processes' commits, and reconnects when a connection fails."""

    def __init__(self, address: PostgresAddress, recheck: SignalHandler, listening: str) -> None:
        self._address = address
        self._recheck = recheck
        self._listening = listening
        self._deaf_since: float | None = None
        self._logged = float("-inf")

    async def run(self) -> None:
        """Receive signals until cancelled, despite any failure."""
        while True:
            try:
                await self._on_notification()
            except (psycopg.Error, OSError, TimeoutError) as error:
                self._record_failure(format_reason(error))
            except Exception:
                # This is a bug in askback. Without this task, no signals would arrive, and nobody would notice.
                log.exception(
                    "Could not handle a notification of another process, because of a bug; listening again.",
                    extra={"action": "signals_failed"},
                )
            raise_unless_cancelled()
            await asyncio.sleep(PAUSE_SECONDS)

    async def _on_notification(self) -> None:
        parameters = build_conninfo(self._address)
        async with await BoundedConnection.connect(
            autocommit=True,
            **parameters,  # pyright: ignore[reportArgumentType] - any keyword of libpq
        ) as connection:
            await connection.execute(self._listening.encode())
            self._record_success()
            # Catch up with everything that was signalled while this process was not connected.
            self._recheck(Signal(kind="look"))
            while True:
                async for notify in connection.notifies():
                    self._recheck(Signal.decode(notify.payload))
                # Repeat the statement: the others see in a connection's last query that it listens.
                await connection.execute(self._listening.encode())

    def _record_failure(self, why: str) -> None:
        now = time.monotonic()
        self._deaf_since = now if self._deaf_since is None else self._deaf_since
        if now - self._logged < REPEAT_SECONDS or is_outage_logged():
            return
        self._logged = now
        log.warning(
            "Cannot receive notifications of other processes: %s. Polling for their changes every %.0f s instead.",
            why,
            LOOK_AGAIN,
            extra={"action": "no_signals"},
        )

    def _record_success(self) -> None:
        if self._deaf_since is not None and self._logged >= self._deaf_since:
            log.info("Receiving notifications of other processes again.", extra={"action": "signals"})
        self._deaf_since = None
