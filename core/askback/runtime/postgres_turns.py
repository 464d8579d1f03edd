"""Gets the agent's turns taken by whichever of several processes is free: procrastinate's jobs on PostgreSQL.

Whoever gives a conversation something to do defers its job in the same commit (`askback.store.turns.wake`), under a
lock of its own, in a queue of its platform: no two processes advance one conversation at once, and none of another
platform does. A process that died is noticed by its heartbeat, and its jobs are taken by others. One that was only slow
may come back then: what it still wants to commit is refused, since the conversation has gone on without it
(`TurnEnd.after`).
"""

from __future__ import annotations

__all__ = ["JobTurns", "unless_cancelled"]

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import Any, TypeAlias

import psycopg
from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import DeleteJobCondition, Job, Status
from procrastinate.manager import JobManager
from procrastinate.tasks import Task
from procrastinate.worker import Worker
from psycopg_pool import AsyncConnectionPool

from askback.agent.slots import AT_ONCE
from askback.runtime.shutdown import end_tasks
from askback.runtime.turns import Advance, Advancing
from askback.store.database import Database
from askback.store.errors import StoreError
from askback.store.outage import REPEAT_SECONDS, is_away
from askback.store.platform_claims import STALLED_SECONDS, announce
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.jobs import TURN, beats, give_back, held, queue_of, sweep
from askback.store.postgres.link import conninfo
from askback.store.postgres.silence import BoundedConnection
from askback.store.store import Store

log = logging.getLogger("askback.worker")

HEARTBEAT_SECONDS = 1.0
SWEEP_SECONDS = 1.0
ANNOUNCE_SECONDS = 0.1
"""How often it is looked whether the others can be told what this process serves."""
POLL_SECONDS = 1.0
PAUSE_SECONDS = 1.0
OPEN_SECONDS = 3.0
"""How long it may take to connect, and to get one of the connections."""
CONNECTIONS = 4
LEFT_SECONDS = 10.0
"""A job of ours that nobody works on for so long: that it was done could not be said."""
NEWER_SECONDS = 5
"""How long a job that only a newer process knows is let be."""
STILL_SECONDS = 5.0
"""How long a heart may stand still in the database, once that is noticed, before the jobs get new connections."""
STOP_SECONDS = 1.0
"""How long a session that is to begin again may take to end by itself."""
JOBS = 3 * AT_ONCE
"""Jobs in hand: their turns are under way, their tools run, or they wait for a slot. The rest is for others."""
JOBS_EACH = JOBS // 2
"""Jobs in hand for the conversations of one person."""
LEAVE_SECONDS = 0.1
"""How long turns may go on when the process ends without having rested: they are taken again by others."""


_LIBRARIES = ("procrastinate.worker", "procrastinate.utils", "psycopg.pool")


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a library says more than that a connection was lost, which is told of here."""
    error = record.exc_info[1] if record.exc_info else None
    is_loss = record.name == "psycopg.pool" or isinstance(error, ConnectorException | psycopg.Error)
    return not is_loss or logging.getLogger().isEnabledFor(logging.DEBUG)


class _NewerError(Exception):
    """A job of a newer release, which this one does not know."""


class _Again(BaseRetryStrategy):
    """Without an end: a turn that was broken off by the end of a process is anybody's, at once."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision:
        if isinstance(exception, _NewerError):
            _log_newer(job.task_name)
            return RetryDecision(retry_in={"seconds": NEWER_SECONDS})
        # At once, by the database's clock.
        return RetryDecision()


_AnyTask: TypeAlias = Task[Any, Any, Any]


class _Manager(JobManager):
    """Leaves a job whose end cannot be said to those who look for such ones: it was told of, and nobody waits."""

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        with suppress(ConnectorException):
            await super().finish_job(job, status, delete_job)

    async def retry_job(
        self,
        job: Job,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        with suppress(ConnectorException):
            await super().retry_job(job, retry_at, priority, queue, lock)


class _Tasks(dict[str, _AnyTask]):
    """The tasks that are known here; a job of any other is left to the processes that know it."""

    def __init__(self, known: Mapping[str, _AnyTask], other: _AnyTask) -> None:
        super().__init__(known)
        self._other = other

    def get(self, key: str, default: object = None) -> _AnyTask:  # type: ignore[override]
        del default
        return super().get(key, self._other)


@cache
def _log_newer(task: str) -> None:
    log.warning(
        "A job that a newer askback deferred waits for a process of it: finish the upgrade, replace this process.",
        extra={"action": "left_to_newer", "kind": "job", "task": task},
    )


async def _unknown(**arguments: object) -> None:
    del arguments
    raise _NewerError


class JobTurns:
    """Takes jobs of the platforms that are served here, and sees to those that dead processes left."""

    def __init__(
        self, address: PostgresAddress, database: Database, store: Store, advance: Advance, served: frozenset[str]
    ) -> None:
        self._database = database
        self._served = served
        self._announced: int | None = None
        self._advancing = Advancing(store, advance, JOBS_EACH)
        self._address = address
        for name in _LIBRARIES:
            logging.getLogger(name).addFilter(_is_news)
        self._logged = float("-inf")
        """When the log said last that the jobs cannot be read."""
        self._worker: Worker | None = None
        self._session: asyncio.Task[None] | None = None
        """Works as long as the connections do."""
        self._still_since: float | None = None
        """Since when the others do not see the heart of this process beat."""
        self._left: dict[int, float] = {}
        """Since when jobs of ours have had nobody who works on them, by a clock that does not jump."""

    def wake(self) -> None:
        """Nothing to do: whoever had something for the agent deferred a job, which wakes a process."""

    async def rest(self, seconds: float) -> None:
        if self._worker is not None:
            self._worker.shutdown_graceful_timeout = seconds
            self._worker.stop()
        await self._advancing.rest(seconds)

    async def run(self) -> None:
        """Work until cancelled. A database that is away is waited for."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._sweep_forever(), name="askback sweep")
            while not self._advancing.is_resting:
                self._session = asyncio.create_task(self._open_and_work(), name="askback jobs")
                try:
                    await asyncio.wait((self._session,))
                finally:
                    await end_tasks((self._session,))
                self._note(self._session)
                await asyncio.sleep(PAUSE_SECONDS)

    def _note(self, session: asyncio.Task[None]) -> None:
        """Log why a session has ended, unless the log says so already. Raises what is a fault of ours."""
        error = asyncio.CancelledError() if session.cancelled() else session.exception()
        if error is None:
            return
        if not isinstance(error, ConnectorException | psycopg.Error | TimeoutError | asyncio.CancelledError):
            raise error
        if is_away() or time.monotonic() - self._logged < REPEAT_SECONDS:
            return
        self._logged = time.monotonic()
        log.warning("The jobs cannot be read, trying again: %s", _said(error), extra={"action": "store_failed"})

    async def _open_and_work(self) -> None:
        """Take jobs over connections of their own. Each time over new ones: those of before may lead elsewhere."""
        pool = AsyncConnectionPool(
            kwargs=conninfo(self._address),
            connection_class=BoundedConnection,
            min_size=1,
            max_size=CONNECTIONS,
            timeout=OPEN_SECONDS,
            check=AsyncConnectionPool.check_connection,
            open=False,
        )
        try:
            await pool.open(wait=True, timeout=OPEN_SECONDS)
            connector = PsycopgConnector()
            app = App(connector=connector)
            app.job_manager = _Manager(connector)
            app.task(name=TURN, retry=_Again())(self._turn)
            known: Any = app.tasks  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            app.tasks = _Tasks(known, app.task(name="askback.unknown", retry=_Again())(_unknown))
            async with app.open_async(pool):
                await self._work(app)
        finally:
            await pool.close()

    async def _turn(self, conversation_id: str | None = None, **newer: object) -> None:
        if conversation_id is None or newer:
            raise _NewerError
        await self._advancing.advance(conversation_id)

    async def _work(self, app: App) -> None:
        """Take jobs until the process is to rest, or the connection is lost."""
        self._worker = Worker(
            app,
            queues=[queue_of(platform) for platform in sorted(self._served)],
            concurrency=JOBS,
            install_signal_handlers=False,
            delete_jobs=DeleteJobCondition.ALWAYS,
            fetch_job_polling_interval=POLL_SECONDS,
            update_heartbeat_interval=HEARTBEAT_SECONDS,
            stalled_worker_timeout=STALLED_SECONDS,
            shutdown_graceful_timeout=LEAVE_SECONDS,
        )
        try:
            await self._worker.run()
        finally:
            self._worker = None

    async def _give_back_left(self) -> None:
        """See to jobs that this process has worked off where the database was away when that was to be said.

        Nobody else does: its heart goes on beating, and no other job of their conversations would ever run.
        """
        worker_id = None if self._worker is None else self._worker.worker_id
        if worker_id is None:
            self._left = {}
            return
        jobs = await self._database.read(lambda connection: held(connection, worker_id))
        now = time.monotonic()
        self._left = {
            job_id: self._left.get(job_id, now)
            for job_id, conversation_id in jobs.items()
            if not self._advancing.is_under_way(conversation_id)
        }
        if left := [job_id for job_id, since in self._left.items() if now - since >= LEFT_SECONDS]:
            await self._database.run(lambda connection: give_back(connection, left))
            log.warning(
                "Turns that nobody works on are taken again: %d.",
                len(left),
                extra={"action": "turns_left", "count": len(left)},
            )

    async def _sweep_forever(self) -> None:
        """See to jobs whose process has died, and to conversations that have none."""
        while True:
            pause = SWEEP_SECONDS
            try:
                taken = await self._sweep()
                pause = SWEEP_SECONDS if await self._announce() else ANNOUNCE_SECONDS
                await self._give_back_left()
            except StoreError as error:
                log.warning("The jobs cannot be looked at: %s", error, extra={"action": "store_failed"})
            else:
                if taken:
                    log.warning(
                        "Turns of a process that is gone are taken again: %d.",
                        taken,
                        extra={"action": "turns_taken_over", "count": taken},
                    )
            await asyncio.sleep(pause)

    async def _sweep(self) -> int:
        own = None if self._worker is None else self._worker.worker_id
        return await self._database.run(lambda connection: sweep(connection, self._served, own))

    async def _announce(self) -> bool:
        """Tell the others what is served here, once they know this process. False: they do not yet."""
        worker = self._worker
        worker_id = None if worker is None else worker.worker_id
        if worker is None or worker_id is None:
            return self._advancing.is_resting
        if worker_id != self._announced:
            await self._database.run(lambda connection: announce(connection, worker_id, self._served))
            self._announced = worker_id
        else:
            await self._see_to_heart(worker, await self._database.read(lambda connection: beats(connection, worker_id)))
        return True

    async def _see_to_heart(self, worker: Worker, beats: bool | None) -> None:
        if beats:
            self._still_since = None
            return
        now = time.monotonic()
        self._still_since = now if self._still_since is None else self._still_since
        if beats is None:
            # Held up for so long that others took it for dead: its heart would beat for nobody until the next job.
            worker.stop()
        elif now - self._still_since >= STILL_SECONDS:
            # Its connections lead nowhere: not held up, since this runs.
            await self._begin_again(worker)

    async def _begin_again(self, worker: Worker) -> None:
        """End the session, so that the next one begins. One that hangs is broken off."""
        worker.stop()
        session = self._session
        if session is not None:
            await asyncio.wait((session,), timeout=STOP_SECONDS)
            session.cancel()


def unless_cancelled() -> None:
    """Raises `CancelledError` where a library that was cancelled in the middle of connecting told another end."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _said(error: BaseException) -> str:
    return " ".join(str(error.__cause__ or error).split()) or type(error).__name__
