"""PostgreSQL as what several processes work on at the same time."""

from __future__ import annotations

__all__ = ["SharedBacking", "hearing"]

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import psycopg

from askback.serving.backing import Backing, Recheck
from askback.serving.jobs import JobTurns, unless_cancelled
from askback.serving.turns import Advance, Turns
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.database import PostgresDatabase
from askback.store.postgres.link import conninfo
from askback.store.postgres.refusals import reason
from askback.store.signals import LISTENING, Signal
from askback.store.store import Store

log = logging.getLogger("askback.worker")

LOOK_AGAIN = 3.0
"""What a process had taken when it died is found by others within this time and a lease."""
PAUSE_SECONDS = 1.0


class SharedBacking(Backing):
    """Other processes' commits are heard of through NOTIFY, and found by looking where that fails."""

    is_shared = True
    look_again = LOOK_AGAIN

    def __init__(self, address: PostgresAddress, database: PostgresDatabase) -> None:
        self.database = database
        self._address = address
        self._database = database

    def turns(self, store: Store, advance: Advance, served: frozenset[str]) -> Turns:
        return JobTurns(self._address, self._database, store, advance, served)

    def hearing(self, recheck: Recheck) -> AbstractAsyncContextManager[None]:
        return hearing(self._address, recheck, LISTENING)


@asynccontextmanager
async def hearing(address: PostgresAddress, recheck: Recheck, listening: str) -> AsyncGenerator[None]:
    """Hear, until the block ends, of what processes commit. `listening`: the statement that makes the server tell."""
    task = asyncio.create_task(_listen_forever(address, recheck, listening), name="askback signals")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _listen_forever(address: PostgresAddress, recheck: Recheck, listening: str) -> None:
    while True:
        try:
            await _listen(address, recheck, listening)
        except (psycopg.Error, OSError) as error:
            log.warning(
                "Other processes are not heard: %s; trying again.", reason(error), extra={"action": "no_signals"}
            )
        unless_cancelled()
        await asyncio.sleep(PAUSE_SECONDS)


async def _listen(address: PostgresAddress, recheck: Recheck, listening: str) -> None:
    told = conninfo(address)
    async with await psycopg.AsyncConnection.connect(
        autocommit=True,
        **told,  # pyright: ignore[reportArgumentType] - any keyword of libpq
    ) as connection:
        await connection.execute(listening.encode())
        # Whatever was said while nobody listened.
        recheck(Signal(kind="look"))
        async for notify in connection.notifies():
            recheck(Signal.decoded(notify.payload))
