"""Runs transactions on PostgreSQL in several threads, each with its own connection.

In addition to the rules of `Database`, these apply to a *work*:

- Works run concurrently, in this process and in others. A work that decides by what it reads first takes the lock of
  its place (`askback.store.queries.locks`).
- A work runs again if it conflicted with another transaction (a deadlock, the same new row), or if the connection was
  lost before its COMMIT.
- If the connection is lost during the COMMIT, its outcome is unknown here, and the error is `in_doubt`. An exception is
  a server that ended the session before it read the COMMIT.
"""

from __future__ import annotations

__all__ = ["PostgresDatabase"]

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import psycopg
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from askback.errors import OperatorError
from askback.store.connection_thread import ConnectionThread
from askback.store.error_mapping import build_closed_error, build_timeout_error
from askback.store.errors import StoreBusy
from askback.store.job_deadlines import JobDeadlines
from askback.store.outage_log import Outage
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.connection import ReconnectingConnection, create_shared_engine
from askback.store.postgres.error_mapping import (
    NotPrimary,
    format_reason,
    is_conflict,
    is_lost,
    is_of_the_database,
    is_silent,
    is_unread,
    may_be_standby,
    to_store_error,
)
from askback.store.postgres.job_queue import JobQueue
from askback.store.postgres.prepare import prepare as prepare_database
from askback.store.queued_transaction import AnyJob, Job, JobState, call, settle

T = TypeVar("T")

log = logging.getLogger("askback.store")

CONNECTIONS = 8
PATIENCE_SECONDS = 5.0
"""Seconds for which a work without its own time limit waits for a server that cannot be reached."""
TRIES = 5
"""Largest number of tries of a work that conflicts with other transactions."""
PAUSE_SECONDS = 0.1
STUCK_SECONDS = 60.0
"""Seconds after which a running transaction counts as stuck. The threads abandon a silent connection much earlier."""


class PostgresDatabase:
    """The threads and their connections. The module's docstring states the guarantees."""

    def __init__(
        self,
        address: PostgresAddress,
        *,
        connections: int = CONNECTIONS,
        prepare: Callable[[Connection], None] = prepare_database,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        """Connect, run `prepare` in a transaction and start the threads. Blocks meanwhile. Raises `OperatorError`."""
        self.address = address
        self.commits = 0
        """Number of committed transactions."""
        self._engine = create_shared_engine(address)
        self._patience = patience
        self._lock = threading.Lock()
        self._deadlines = JobDeadlines(self._lock)
        self._closed = False
        self._jobs = JobQueue()
        self._outage = Outage(f"The database {address}")
        self._running: dict[int, float] = {}
        """Start time of each busy thread's current work, by thread id, on the monotonic clock."""
        try:
            self._prepare(prepare)
        except (psycopg.Error, DBAPIError) as error:
            raise OperatorError(
                f"Could not open the database {address}: {format_reason(error)}. Check the server and "
                "ASKBACK_DATABASE_URL."
            ) from error
        self._threads = [ConnectionThread(f"askback-database-{number}", self._serve) for number in range(connections)]

    def _prepare(self, prepare: Callable[[Connection], None]) -> None:
        link = ReconnectingConnection(self._engine)
        try:
            prepare(link.begin())
            link.commit()
        finally:
            link.close()

    async def run(self, work: Callable[[Connection], T], *, within: float | None = None) -> T:
        """Run `work` as a transaction and return its result once that is committed.

        Raises the errors of `work`. Otherwise this raises a `StoreError`:

        - `StoreUnavailable`: the server rejected the transaction, or cannot be reached. `in_doubt` is True only if the
          connection was lost during the COMMIT.
        - `StoreBusy`: the commit took longer than `within` seconds. `in_doubt` is False if the COMMIT had not begun,
          and then it never will.

        If the caller is cancelled, a work that has not started is dropped. One that has started is committed anyway.
        """
        return await self._submit(Job(work, asyncio.get_running_loop(), _compute_deadline(within)), within)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a read-only transaction, which sees one snapshot."""
        return await self._submit(Job(work, asyncio.get_running_loop(), reads=True), None)

    async def close(self) -> None:
        """Reject new works, finish the queued ones and close the connections."""
        with self._lock:
            closing, self._closed = not self._closed, True
        if closing:
            self._jobs.end()
        for thread in self._threads:
            await thread.join()
        self._outage.clear()

    @property
    def is_shared(self) -> bool:
        return True

    def find_defect(self) -> str | None:
        dead = sum(not thread.is_alive for thread in self._threads)
        if dead and not self._closed:
            return f"{dead} of {len(self._threads)} threads have ended"
        longest = time.monotonic() - min([*self._running.values()], default=float("inf"))
        return f"a transaction has run for {longest:.0f} s" if longest >= STUCK_SECONDS else None

    # On the caller's event loop

    async def _submit(self, job: Job[T], within: float | None) -> T:
        with self._lock:
            if self._closed:
                raise build_closed_error()
            self._jobs.put(job)
        if within is not None:
            self._deadlines.watch(job, within)
        try:
            return await job.future
        except asyncio.CancelledError:
            with self._lock:
                if job.state is JobState.WAITING:
                    job.state = JobState.OVER
            raise
        finally:
            if within is not None:
                self._deadlines.forget(job, within)

    # The threads.

    def _serve(self, opened: Callable[[], None]) -> None:
        link = ReconnectingConnection(self._engine)
        own = self._jobs.join()
        opened()
        try:
            while job := own.get():
                with self._lock:
                    begins = job.state is JobState.WAITING
                    if begins:
                        job.state = JobState.RUNNING
                if begins:
                    self._running[threading.get_ident()] = time.monotonic()
                    try:
                        self._perform(link, job)
                    except Exception as error:
                        # Catch every error, because no caller may wait permanently.
                        log.exception(
                            "A transaction failed because of a bug. Please report this with the traceback.",
                            extra={"action": "commit_failed"},
                        )
                        link.drop()
                        job.result, job.error = None, error
                    finally:
                        del self._running[threading.get_ident()]
                    with self._lock:
                        job.state = JobState.OVER
                # Do this before the caller learns of the result, so that its next job comes here, too.
                self._jobs.free(own)
                if begins:
                    settle([job])
        finally:
            link.close()
            self._reject_rest()

    def _perform(self, link: ReconnectingConnection, job: AnyJob) -> None:
        """Run a work until it is committed or rejected, or until its caller no longer waits."""
        until = job.deadline
        pause, tries, losses = PAUSE_SECONDS, 1, 0
        while not self._attempt(link, job):
            error = job.error
            assert error is not None
            if until is None:
                # Count from the first failure: one try may take longer than this on a machine that stalls.
                until = time.monotonic() + self._patience
            if is_lost(error):
                link.drop()
                losses += 1
                if losses > 1 or is_silent(error):
                    # The first loss may affect this connection alone. Then the next connection opens at once.
                    self._outage.record_failure(format_reason(error))
                if time.monotonic() + pause >= until:
                    job.error = to_store_error(error)
                    return
                time.sleep(pause)
                pause = min(pause * 2, 1.0)
            elif tries >= TRIES or time.monotonic() >= until:
                job.error = to_store_error(error) if is_of_the_database(error) else error
                return
            else:
                tries += 1
            if job.state is JobState.OVER:
                return

    def _attempt(self, link: ReconnectingConnection, job: AnyJob) -> bool:
        """Run a work once. Return False if it was not committed and may be tried again."""
        try:
            connection = link.begin(read_only=job.reads)
        except (psycopg.Error, SQLAlchemyError) as error:
            job.result, job.error = None, error
            return not is_lost(error) and self._give_up(link, job, error)
        call(job, connection)
        error = job.error
        if error is not None:
            if may_be_standby(error) and not job.reads and not link.can_commit():
                error, job.error = NotPrimary(), NotPrimary()
            link.roll_back()
            if is_lost(error) or is_conflict(error):
                return False
            if is_of_the_database(error):
                return self._give_up(link, job, error)
            return True
        if job.reads:
            link.end_reading()
            self._outage.record_success()
            return True
        return self._commit(link, job)

    def _commit(self, link: ReconnectingConnection, job: AnyJob) -> bool:
        with self._lock:
            late = job.deadline is not None and job.deadline <= time.monotonic()
            if job.state is JobState.RUNNING and late:
                # The caller's time limit has passed, but its timer has not fired, because its event loop is blocked.
                job.error = build_timeout_error(in_doubt=False)
            elif job.state is JobState.RUNNING:
                job.state = JobState.COMMITTING
        if job.state is not JobState.COMMITTING:
            link.roll_back()
            return True
        try:
            link.commit()
        except (psycopg.Error, SQLAlchemyError) as error:
            job.result, job.error = None, error
            lost, unread = is_lost(error), is_unread(error)
            if not lost:
                link.roll_back()
            if job.deadline is None and (unread or is_conflict(error)):
                return False
            job.error = to_store_error(error, in_doubt=lost and not unread)
            link.drop()
            self._log_failure(error)
            return True
        self.commits += 1
        self._outage.record_success()
        return True

    def _give_up(self, link: ReconnectingConnection, job: AnyJob, error: BaseException) -> bool:
        link.roll_back()
        job.result, job.error = None, to_store_error(error)
        # Drop the connection. Finding the cause may have changed its settings, and a new one may lead to another
        # server.
        link.drop()
        self._log_failure(error)
        return True

    def _log_failure(self, error: BaseException) -> None:
        """Log that the database rejected a transaction. Repeated rejections are logged as one outage."""
        if not isinstance(to_store_error(error), StoreBusy):
            self._outage.record_failure(format_reason(error))
            return
        log.warning(
            "Could not commit a transaction: %s", format_reason(error), extra={"action": "commit_failed", "works": 1}
        )

    def _reject_rest(self) -> None:
        """Reject the works that still wait when the last thread has ended. After `close` there are none."""
        with self._lock:
            if not self._closed:
                return
        for job in self._jobs.clear():
            if job.state is JobState.WAITING:
                job.state, job.error = JobState.OVER, build_closed_error()
                settle([job])


def _compute_deadline(within: float | None) -> float | None:
    return None if within is None else time.monotonic() + within
