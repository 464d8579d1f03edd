"""Let any free process of several advance the agent's turns, through procrastinate's jobs on PostgreSQL.

A commit that gives a conversation something to do defers its job, too (`store/queries/turns.py`). The job has the
conversation's own lock and its platform's queue. So no two processes advance one conversation at once, and only a
process that serves the platform takes it. A missing heartbeat reveals a dead process, and others take its jobs. A
process that was only slow may return later. Its commits are then rejected, because the conversation has continued
without it (`TurnEnd.after`).
"""

from __future__ import annotations

__all__ = ["JobTurnScheduler", "raise_unless_cancelled"]

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
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
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool

from askback.agent.concurrency_slots import MAX_SLOTS
from askback.runtime.shutdown import end_tasks
from askback.runtime.turns import Advance, TurnRunner
from askback.store.database import Database
from askback.store.errors import StoreError
from askback.store.outage_log import REPEAT_SECONDS, is_outage_logged
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.connection import build_conninfo, build_settings
from askback.store.postgres.dead_connections import BoundedConnection
from askback.store.postgres.jobs import TURN, get_queue_name, has_heartbeat, list_held_jobs, release_jobs, sweep
from askback.store.queries.platform_claims import STALLED_SECONDS, announce_platforms
from askback.store.store import Store

log = logging.getLogger("askback.worker")

HEARTBEAT_SECONDS = 1.0
SWEEP_SECONDS = 1.0
ANNOUNCE_SECONDS = 0.1
"""Seconds between two attempts to announce the platforms that this process serves."""
POLL_SECONDS = 1.0
PAUSE_SECONDS = 0.5
"""Seconds between two sessions."""
UNREGISTER_SECONDS = 0.5
"""Seconds for which the end of a session waits for a connection to remove its worker."""
OPEN_SECONDS = 3.0
"""Timeout in seconds for connecting, and for getting a connection from the pool."""
CONNECTIONS = 4
LEFT_SECONDS = 3.0
"""Seconds after which this process releases a job that it holds but does not work on, because it could not record the
job's end."""
NEWER_SECONDS = 5
"""Seconds until a job that only a newer process knows is tried again."""
STILL_SECONDS = 5.0
"""Seconds that this process's heartbeat may be missing in the database before its session is restarted."""
STOP_SECONDS = 1.0
"""Seconds that a session gets to end before it is cancelled and restarted."""
JOBS = 3 * MAX_SLOTS
"""Maximum number of jobs held: their turns or tools run, or they wait for a slot. Other processes take the rest."""
JOBS_EACH = JOBS // 2
"""Maximum number of jobs held for the conversations of one person."""
LEAVE_SECONDS = 0.1
"""Seconds that turns may continue if the process ends without resting first; other processes take them again."""


_LIBRARIES = ("procrastinate.worker", "procrastinate.utils", "psycopg.pool")


def _is_news(record: logging.LogRecord) -> bool:
    """Return False for a record that only reports a lost connection: this module logs that. At DEBUG, return True."""
    error = record.exc_info[1] if record.exc_info else None
    is_loss = record.name == "psycopg.pool" or isinstance(error, ConnectorException | psycopg.Error)
    return not is_loss or logging.getLogger().isEnabledFor(logging.DEBUG)


class _NewerError(Exception):
    """Raised for a job that only a newer release knows."""


class _Again(BaseRetryStrategy):
    """Retries without limit. If a process ends during a turn, any other process may take the turn at once."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision:
        if isinstance(exception, _NewerError):
            _log_newer(job.task_name)
            return RetryDecision(retry_in={"seconds": NEWER_SECONDS})
        # Retry at once, by the database's clock.
        return RetryDecision()


_AnyTask: TypeAlias = Task[Any, Any, Any]


class _Manager(JobManager):
    """Suppress lost connections when recording a job's end; `_release_left` frees such jobs.

    The end of a worker waits only briefly for a connection. Raises `TimeoutError` then.
    """

    def __init__(self, connector: PsycopgConnector, leave: Callable[[Job], None]) -> None:
        """`leave` gets each job whose end could not be recorded."""
        super().__init__(connector)
        self._leave = leave

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        try:
            await super().finish_job(job, status, delete_job)
        except ConnectorException:
            self._leave(job)

    async def retry_job(
        self,
        job: Job,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        try:
            await super().retry_job(job, retry_at, priority, queue, lock)
        except ConnectorException:
            self._leave(job)

    async def unregister_worker(self, worker_id: int) -> None:
        # A pool that has lost its server waits longer before each attempt. Do not wait with it: the next session begins
        # only after this one, and `_release_left` frees the jobs of a worker that stayed.
        async with asyncio.timeout(UNREGISTER_SECONDS):
            await super().unregister_worker(worker_id)


class _Tasks(dict[str, _AnyTask]):
    """The tasks that this release knows. A job of any other task is left to processes that know it."""

    def __init__(self, known: Mapping[str, _AnyTask], other: _AnyTask) -> None:
        super().__init__(known)
        self._other = other

    def get(self, key: str, default: object = None) -> _AnyTask:  # type: ignore[override] - always finds one
        del default
        return super().get(key, self._other)


@cache
def _log_newer(task: str) -> None:
    log.warning(
        "A newer askback created a job that this version does not know. Finish the upgrade: replace this process.",
        extra={"action": "left_to_newer", "kind": "job", "task": task},
    )


async def _reject_unknown_job(**arguments: object) -> None:
    del arguments
    raise _NewerError


class JobTurnScheduler:
    """Take jobs of the served platforms, and take over those that dead processes left."""

    def __init__(
        self, address: PostgresAddress, database: Database, store: Store, advance: Advance, served: frozenset[str]
    ) -> None:
        self._database = database
        self._served = served
        self._announced: int | None = None
        self._advancing = TurnRunner(store, advance, JOBS_EACH)
        self._address = address
        for name in _LIBRARIES:
            logging.getLogger(name).addFilter(_is_news)
        self._logged = float("-inf")
        """Time of the last log line that the jobs cannot be read."""
        self._worker: Worker | None = None
        self._session: asyncio.Task[None] | None = None
        """Runs as long as its connections work."""
        self._still_since: float | None = None
        """Start of the time during which the other processes see no heartbeat of this one; monotonic."""
        self._left: dict[int, float] = {}
        """By job id, the time since which this process holds a job without working on it; monotonic."""
        self._former: set[int] = set()
        """Workers of this process whose sessions ended while the database was unreachable."""

    def wake(self, conversation_id: str | None = None) -> None:
        """Do nothing: the commit that gave the agent something to do deferred a job, which wakes a process."""

    async def drain_turns(self, seconds: float) -> None:
        if self._worker is not None:
            self._worker.shutdown_graceful_timeout = seconds
            self._worker.stop()
        await self._advancing.drain_turns(seconds)

    async def run(self) -> None:
        """Work until cancelled, and wait while the database is unreachable."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._sweep_repeatedly(), name="askback sweep")
            while not self._advancing.is_draining:
                self._session = asyncio.create_task(self._open_and_work(), name="askback jobs")
                try:
                    await asyncio.wait((self._session,))
                finally:
                    await end_tasks((self._session,))
                    if not self._session.cancelled():
                        # At the end of the process, nobody else reads it, and asyncio would log a traceback.
                        self._session.exception()
                self._log_end(self._session)
                await asyncio.sleep(PAUSE_SECONDS)

    def _log_end(self, session: asyncio.Task[None]) -> None:
        """Log why a session ended, unless the log says so already. Raises any error that is a fault in askback."""
        error = asyncio.CancelledError() if session.cancelled() else session.exception()
        if error is None:
            return
        if not isinstance(error, ConnectorException | psycopg.Error | TimeoutError | asyncio.CancelledError):
            raise error
        if is_outage_logged() or time.monotonic() - self._logged < REPEAT_SECONDS:
            return
        self._logged = time.monotonic()
        log.warning("Could not read the jobs; trying again: %s", _format_error(error), extra={"action": "store_failed"})

    async def _open_and_work(self) -> None:
        """Take jobs over new connections: those of the previous session may lead to another server."""
        parameters = build_conninfo(self._address)

        async def configure(connection: BoundedConnection) -> None:
            # Each statement commits at once. Otherwise the lock of a heartbeat that is cut off before its commit would
            # stop every process that removes dead workers.
            await connection.set_autocommit(True)
            await connection.execute(build_settings(parameters))

        pool = AsyncConnectionPool(
            kwargs=parameters,
            configure=configure,
            connection_class=BoundedConnection,
            min_size=1,
            max_size=CONNECTIONS,
            timeout=OPEN_SECONDS,
            check=AsyncConnectionPool.check_connection,
            open=False,
        )
        try:
            # While the server is away, one attempt fails at once. The pool would make attempts with growing pauses.
            async with await BoundedConnection.connect(make_conninfo(**parameters)):
                pass
            await pool.open(wait=True, timeout=OPEN_SECONDS)
            connector = PsycopgConnector()
            app = App(connector=connector)
            app.job_manager = _Manager(connector, self._note_left)
            app.task(name=TURN, retry=_Again())(self._run_turn)
            known: Any = app.tasks  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped there
            app.tasks = _Tasks(known, app.task(name="askback.unknown", retry=_Again())(_reject_unknown_job))
            async with app.open_async(pool):
                await self._run_worker(app)
        finally:
            await pool.close()

    async def _run_turn(self, conversation_id: str | None = None, **newer: object) -> None:
        if conversation_id is None or newer:
            raise _NewerError
        await self._advancing.advance(conversation_id)

    async def _run_worker(self, app: App) -> None:
        """Take jobs until the process is to rest, or the connection is lost."""
        self._worker = Worker(
            app,
            queues=[get_queue_name(platform) for platform in sorted(self._served)],
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
            if self._worker.worker_id is not None:
                self._former.add(self._worker.worker_id)
            self._worker = None

    async def _release_left(self) -> None:
        """Release jobs that this process finished while the database was unreachable.

        No other process does so: this one's heartbeat continues, and no further job of their conversations would ever
        run.
        """
        left: list[int] = []
        workers = [*self._former]
        for former in workers:
            jobs = await self._list_held_jobs(former)
            left += self._find_unworked_jobs(jobs)
            if not jobs:
                self._former.discard(former)
        worker_id = None if self._worker is None else self._worker.worker_id
        unworked = () if worker_id is None else self._find_unworked_jobs(await self._list_held_jobs(worker_id))
        now = time.monotonic()
        self._left = {job_id: self._left.get(job_id, now) for job_id in unworked}
        # The current session may be about to begin a job, or to record its end. A former one does nothing any more.
        left += [job_id for job_id, since in self._left.items() if now - since >= LEFT_SECONDS]
        if worker_id is not None:
            workers.append(worker_id)
        count = await self._database.run(lambda connection: release_jobs(connection, workers, left)) if left else 0
        if count:
            log.warning(
                "Released %d turns that this process held but did not work on.",
                count,
                extra={"action": "turns_left", "count": count},
            )

    def _note_left(self, job: Job) -> None:
        """Release this job as soon as the database works again."""
        if job.id is not None:
            self._left[job.id] = float("-inf")

    async def _list_held_jobs(self, worker_id: int) -> dict[int, str]:
        return await self._database.read(lambda connection: list_held_jobs(connection, worker_id))

    def _find_unworked_jobs(self, jobs: Mapping[int, str]) -> list[int]:
        """Return the ids of those jobs whose conversations do not run in this process."""
        return [job_id for job_id, conversation_id in jobs.items() if not self._advancing.is_under_way(conversation_id)]

    async def _sweep_repeatedly(self) -> None:
        """Release the jobs of dead processes, and defer a job for each conversation that lacks one."""
        while True:
            pause = SWEEP_SECONDS
            try:
                taken = await self._sweep()
                pause = SWEEP_SECONDS if await self._announce() else ANNOUNCE_SECONDS
                await self._release_left()
            except StoreError as error:
                log.warning("Could not check the jobs: %s", error, extra={"action": "store_failed"})
            else:
                if taken:
                    log.warning(
                        "Took over %d turns that a process left without an end.",
                        taken,
                        extra={"action": "turns_taken_over", "count": taken},
                    )
            await asyncio.sleep(pause)

    async def _sweep(self) -> int:
        own = None if self._worker is None else self._worker.worker_id
        return await self._database.run(lambda connection: sweep(connection, self._served, own))

    async def _announce(self) -> bool:
        """Announce the platforms that this process serves, once its worker is registered. Return False until then."""
        worker = self._worker
        worker_id = None if worker is None else worker.worker_id
        if worker is None or worker_id is None:
            return self._advancing.is_draining
        if worker_id != self._announced:
            await self._database.run(lambda connection: announce_platforms(connection, worker_id, self._served))
            self._announced = worker_id
        else:
            await self._check_heartbeat(
                worker, await self._database.read(lambda connection: has_heartbeat(connection, worker_id))
            )
        return True

    async def _check_heartbeat(self, worker: Worker, beats: bool | None) -> None:
        if beats:
            self._still_since = None
            return
        now = time.monotonic()
        self._still_since = now if self._still_since is None else self._still_since
        if beats is None:
            # This process stalled so long that others declared it dead. Restart the worker: otherwise its heartbeats
            # would be ignored until the next job.
            worker.stop()
        elif now - self._still_since >= STILL_SECONDS:
            # Its connections lead nowhere. The process did not stall, since this code runs.
            await self._begin_again(worker)

    async def _begin_again(self, worker: Worker) -> None:
        """End the session, so that the next one begins. Cancel one that hangs."""
        worker.stop()
        session = self._session
        if session is not None:
            await asyncio.wait((session,), timeout=STOP_SECONDS)
            session.cancel()


def raise_unless_cancelled() -> None:
    """Raise `CancelledError` if a library that was cancelled while connecting raised a different error instead."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _format_error(error: BaseException) -> str:
    return " ".join(str(error.__cause__ or error).split()) or type(error).__name__
