"""Open the database that askback works on: an SQLite file for one process, or PostgreSQL for several."""

from __future__ import annotations

__all__ = ["Backend", "SignalHandler", "build_signal_handler", "open_backend"]

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from askback.internal.extras import import_extra
from askback.runtime.periodic import LOOK_AGAIN
from askback.runtime.turns import Advance, LocalTurnScheduler, TurnScheduler
from askback.runtime.wakeup import listen_for_wakeups
from askback.store.database import Database
from askback.store.notifications import Signal
from askback.store.postgres.address import PostgresAddress
from askback.store.queries.platform_claims import ServedPlatforms
from askback.store.sqlite.database import SqliteDatabase
from askback.store.sqlite.lockfile import WorkerLock
from askback.store.store import Store
from askback.store.url import parse_database_url

if TYPE_CHECKING:
    from askback.agent.loop import Agent
    from askback.manager import QuestionManager
    from askback.runtime.worker import Worker

DatabaseT = TypeVar("DatabaseT", bound=Database)

SignalHandler = Callable[[Signal], None]
"""Check again what another process changed."""


class Backend(ABC):
    """The database, with the behaviour that depends on how many processes work on it."""

    database: Database
    is_shared: bool
    """True if other processes may work on the database at the same time."""
    look_again: float
    """Longest sleep of the worker, in seconds."""
    parts: Sequence[asyncio.Task[None]] = ()
    """Tasks that run as long as signals from other processes are received."""

    @abstractmethod
    def create_scheduler(self, store: Store, advance: Advance, served: frozenset[str]) -> TurnScheduler:
        """Return the scheduler that advances the agent's turns on these platforms."""

    @abstractmethod
    def announce(self, served: frozenset[str], away: Mapping[str, str]) -> None:
        """Let other processes know which platforms this process serves at the moment.

        `away` has those that it would serve, each with the reason. An empty reason means that it is still connecting.
        """

    @abstractmethod
    def listen(self, recheck: SignalHandler) -> AbstractAsyncContextManager[None]:
        """Receive signals about other processes' changes until the block ends."""


class _File(Backend):
    """An SQLite file. Only this process works on it, and commands in other processes wake it."""

    is_shared = False
    look_again = LOOK_AGAIN

    def __init__(self, path: Path, database: SqliteDatabase, lock: WorkerLock) -> None:
        self.database = database
        self._path = path
        self._lock = lock

    def create_scheduler(self, store: Store, advance: Advance, served: frozenset[str]) -> TurnScheduler:
        return LocalTurnScheduler(store, advance)

    def announce(self, served: frozenset[str], away: Mapping[str, str]) -> None:
        self._lock.announce(served, away)

    @asynccontextmanager
    async def listen(self, recheck: SignalHandler) -> AsyncGenerator[None]:
        with listen_for_wakeups(self._path, lambda: recheck(Signal(kind="look"))):
            yield


def build_signal_handler(manager: QuestionManager, worker: Worker, agent: Agent | None) -> SignalHandler:
    """Return the function that handles a signal from another process."""

    def handle(signal: Signal) -> None:
        match signal.kind:
            case "ask":
                manager.callers.wake(signal.id)
            case "stop" if agent is not None:
                agent.check_for_stop(signal.id)
            case "look":
                manager.callers.wake()
                if agent is not None:
                    agent.check_for_stop()
                worker.wake()
            case _:
                pass

    return handle


@asynccontextmanager
async def open_backend(
    url: str, holder: str = "", served: ServedPlatforms = None, connecting: frozenset[str] = frozenset()
) -> AsyncGenerator[Backend]:
    """Open the database that `ASKBACK_DATABASE_URL` names, until the block ends.

    `holder` names this process and `served` its platforms, for other processes that try to open the same file. It may
    announce those in `connecting` later. Raises `OperatorError`, such as `DatabaseInUse`.
    """
    address = parse_database_url(url)
    if isinstance(address, PostgresAddress):
        with import_extra("postgres", "PostgreSQL"):
            from askback.runtime.postgres_backend import PostgresBackend
            from askback.store.postgres.database import PostgresDatabase
        async with _open_database(lambda: PostgresDatabase(address)) as database:
            yield PostgresBackend(address, database)
    else:
        with WorkerLock(address, holder, served, connecting) as lock:
            async with _open_database(lambda: SqliteDatabase(address)) as database:
                yield _File(address, database, lock)


@asynccontextmanager
async def _open_database(opening: Callable[[], DatabaseT]) -> AsyncGenerator[DatabaseT]:
    # Opening continues in its thread after a cancellation. Wait for it, so that nothing stays open.
    opened = asyncio.create_task(asyncio.to_thread(opening))
    try:
        yield await asyncio.shield(opened)
    finally:
        await (await opened).close()
