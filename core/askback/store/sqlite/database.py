"""Transactions on the SQLite file. One thread writes, with group commit, and another one reads.

A *work* is a function of a `Connection` that runs as one transaction. These rules hold for it:

- Its future resolves after the COMMIT that contains it, never before, even if the work raised. The work may have read
  changes of another work that are not committed yet.
- Works run one after the other in the order in which they were submitted. Works that are queued when a batch starts
  share its COMMIT, up to 64 works or 10 ms of work. A batch does not wait to fill up. If a work raises, its batch runs
  again with a savepoint for each work, so that this one is rolled back alone.
- A work may run again before it is committed. So it must change nothing but the database.
- It must not catch the database's errors, except around its own savepoint for a violated constraint. Some errors, such
  as a full disk, end the whole transaction.
- It must be short, since all other callers wait for it.

`SqliteDatabase.run(work, within=seconds)` documents the guarantees after the deadline.
"""

from __future__ import annotations

__all__ = ["SqliteDatabase"]

import asyncio
import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from askback.errors import OperatorError
from askback.store import migrate
from askback.store.connection_thread import ConnectionThread
from askback.store.error_mapping import build_closed_error, build_timeout_error
from askback.store.job_deadlines import JobDeadlines
from askback.store.queued_transaction import AnyJob, Job, JobState, Queue, call, settle
from askback.store.sqlite.connections import (
    GuardedConnection,
    checkpoint,
    create_file_engine,
    get_raw,
    prepare_writer,
    reset_transaction,
    roll_back,
)
from askback.store.sqlite.error_mapping import (
    build_swallowed_commit_error,
    format_reason,
    get_code,
    is_of_the_database,
    to_store_error,
)
from askback.store.sqlite.files import create_private

T = TypeVar("T")

log = logging.getLogger("askback.store")

BATCH_JOBS = 64
BATCH_SECONDS = 0.01
LOCK_SECONDS = 5.0
"""Seconds for which another process may keep the write lock before all waiting works are rejected."""


class SqliteDatabase:
    """The writer thread and the reader thread, with their connections. The module's docstring states the guarantees."""

    def __init__(
        self,
        path: Path,
        *,
        prepare: Callable[[Connection], None] = migrate.prepare,
        batch_jobs: int = BATCH_JOBS,
        batch_seconds: float = BATCH_SECONDS,
        lock_seconds: float = LOCK_SECONDS,
        writes_back: bool = True,
    ) -> None:
        """Open `path` (created if missing), run `prepare` in a transaction and start both threads. Blocks meanwhile.

        `writes_back` is False if another process has the file open, which writes the WAL back itself.
        """
        self.path = path
        self.commits = 0
        """Number of committed batches."""
        self._batch_jobs = batch_jobs
        self._batch_seconds = batch_seconds
        self._lock_seconds = lock_seconds
        self._writes_back = writes_back
        self._lock = threading.Lock()
        self._deadlines = JobDeadlines(self._lock)
        self._closed = False
        self._is_closing = False
        """True if `close` was called. A thread that ends also closes the store, without setting this."""
        self._writes: Queue = SimpleQueue()
        self._reads: Queue = SimpleQueue()
        create_private(path)
        try:
            self._writing = ConnectionThread("askback-writer", lambda opened: self._write_thread(prepare, opened))
            try:
                self._reading = ConnectionThread("askback-reader", self._read_thread)
            except BaseException:
                self._writes.put(None)
                raise
        except (sqlite3.Error, DBAPIError) as error:
            raise OperatorError(
                f"Could not open the database {path}: {format_reason(error)}. Check it, or set ASKBACK_DATABASE_URL."
            ) from error

    async def run(self, work: Callable[[Connection], T], *, within: float | None = None) -> T:
        """Run `work` as a transaction and return its result once that is on the disk.

        Errors of `work` are raised here, and `work` changed nothing then. Otherwise this raises a `StoreError`:

        - `StoreUnavailable`: the database rejected the work. `in_doubt` is True only if the COMMIT ended with an I/O
          error. Readers see it as rolled back, but a crash before the next commit might apply it.
        - `StoreBusy`: the commit took longer than `within` seconds. `in_doubt` is False if the COMMIT had not begun,
          and then it never will for this work. A waiting work is dropped. If it had run already, its batch is rolled
          back and the others run again. `in_doubt` is True if the disk was processing the COMMIT. It may still succeed,
          which is logged. Without `within`, this is raised only if another process keeps the write lock for longer than
          `lock_seconds`.

        If the caller is cancelled, a work that has not started is dropped. One that has started is committed anyway.
        """
        loop = asyncio.get_running_loop()
        job = Job(work, loop, None if within is None else loop.time() + within)
        self._submit(self._writes, job)
        if within is not None:
            self._deadlines.watch(job, within)
        try:
            return await job.future
        except asyncio.CancelledError:
            self._drop(job)
            raise
        finally:
            if within is not None:
                self._deadlines.forget(job, within)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on a read-only connection, in parallel to the batches. It sees one snapshot."""
        job = Job(work, asyncio.get_running_loop())
        self._submit(self._reads, job)
        try:
            return await job.future
        except asyncio.CancelledError:
            self._drop(job)
            raise

    @property
    def is_shared(self) -> bool:
        return False  # a lock keeps a second process out

    def find_defect(self) -> str | None:
        dead = [thread.name for thread in (self._writing, self._reading) if not thread.is_alive]
        return f"{' and '.join(dead)} ended" if dead and not self._is_closing else None

    async def close(self) -> None:
        """Reject new works, finish the queued ones, write the WAL back into the file if asked, and end the threads."""
        with self._lock:
            # A thread that crashed has closed the queues, but the other one still runs.
            closing = not self._is_closing
            self._closed = self._is_closing = True
        if closing:
            self._reads.put(None)
            self._writes.put(None)
        await self._reading.join()
        await self._writing.join()

    # On the caller's event loop

    def _submit(self, queue: Queue, job: AnyJob) -> None:
        with self._lock:
            if self._closed:
                raise build_closed_error()
            queue.put(job)

    def _drop(self, job: AnyJob) -> None:
        with self._lock:
            if job.state is JobState.WAITING:
                job.state = JobState.OVER

    # The writer thread.

    def _write_thread(self, prepare: Callable[[Connection], None], opened: Callable[[], None]) -> None:
        try:
            with create_file_engine(self.path.absolute()).connect() as connection:
                raw = get_raw(connection)
                prepare_writer(raw, connection, prepare, path=self.path, lock_seconds=self._lock_seconds)
                opened()
                while job := self._writes.get():
                    if self._run_batch(raw, connection, job):
                        break
                if self._writes_back:
                    checkpoint(raw)
        finally:
            self._reject_rest(self._writes)

    def _run_batch(self, raw: GuardedConnection, connection: Connection, first: AnyJob) -> bool:
        """Commit one batch, which begins with `first`. Return True if the queue has ended."""
        if first.state is not JobState.WAITING:
            return False
        job: AnyJob | None = first
        batch: list[AnyJob] = []
        try:
            # No work has started while this waits for another process, so all can still be dropped.
            raw.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            roll_back(raw)
            return self._reject_waiting(first, error)
        until = time.monotonic() + self._batch_seconds
        is_guarded = False
        try:
            while job is not None:
                if self._begin(job):
                    batch.append(job)
                    if is_guarded:
                        if not self._attempt(raw, connection, job):
                            self._rerun_batch(raw, connection, batch, without=[job])
                    elif not _attempt_unguarded(raw, connection, job):
                        is_guarded = True
                        self._rerun_batch(raw, connection, batch)
                if len(batch) >= self._batch_jobs or time.monotonic() >= until:
                    break
                try:
                    job = self._writes.get_nowait()
                except Empty:
                    break
            self._commit(raw, connection, batch)
        except Exception as error:  # noqa: BLE001
            # Catch every error, because no caller may wait permanently. The next batch may succeed.
            self._fail(raw, batch, error)
        return job is None

    def _begin(self, job: AnyJob) -> bool:
        with self._lock:
            if job.state is not JobState.WAITING:
                return False
            job.state = JobState.RUNNING
            return True

    def _attempt(self, raw: GuardedConnection, connection: Connection, job: AnyJob) -> bool:
        """Run one work, and undo it if it raises. Return False if SQLite ended the transaction, which undid the works
        before this one too."""
        raw.execute("SAVEPOINT job")
        call(job, connection)
        _translate(job)
        if not raw.in_transaction:
            # After some errors (full disk, I/O, no memory) SQLite rolls back the whole transaction automatically.
            if job.error is None:
                job.result, job.error = None, build_swallowed_commit_error()
            return False
        if job.error is not None:
            reset_transaction(connection)
            raw.execute("ROLLBACK TO job")
        raw.execute("RELEASE job")
        return True

    def _rerun_batch(
        self, raw: GuardedConnection, connection: Connection, batch: list[AnyJob], *, without: Sequence[AnyJob] = ()
    ) -> None:
        """Run a batch again from its start with savepoints, without the works that must not be in it."""
        while True:
            if raw.in_transaction:
                # Savepoints are nested, so undoing a work in the middle undoes the later ones too.
                raw.execute("ROLLBACK")
            batch[:] = [job for job in batch if job not in without]
            self._end_jobs(without)
            reset_transaction(connection)
            raw.execute("BEGIN IMMEDIATE")
            failed = next((job for job in batch if not self._attempt(raw, connection, job)), None)
            if failed is None:
                return
            without = (failed,)

    def _commit(self, raw: GuardedConnection, connection: Connection, batch: list[AnyJob]) -> None:
        while late := self._list_late(batch):
            self._rerun_batch(raw, connection, batch, without=late)
        raw.execute("COMMIT")
        self.commits += bool(batch)
        self._end_jobs(batch)

    def _list_late(self, batch: list[AnyJob]) -> list[AnyJob]:
        """Return the works that must not be committed any more.

        If there are none, the batch passes the point of no return.
        """
        now = time.monotonic()
        late: list[AnyJob] = []
        with self._lock:
            for job in batch:
                if job.state is JobState.OVER:
                    late.append(job)
                elif job.deadline is not None and job.deadline <= now:
                    # Its timer has not fired yet, because its event loop is blocked.
                    job.state = JobState.OVER
                    job.error = build_timeout_error(in_doubt=False)
                    late.append(job)
            if not late:
                for job in batch:
                    job.state = JobState.COMMITTING
        return late

    def _end_jobs(self, batch: Sequence[AnyJob]) -> None:
        with self._lock:
            for job in batch:
                job.state = JobState.OVER
        settle(batch)

    def _fail(self, raw: GuardedConnection, batch: list[AnyJob], error: Exception) -> None:
        """Roll back the whole batch and raise the error for each of its callers."""
        in_doubt = get_code(error) == sqlite3.SQLITE_IOERR and any(job.state is JobState.COMMITTING for job in batch)
        roll_back(raw)
        log.error(
            "Could not commit a batch of %d transactions: %s",
            len(batch),
            format_reason(error),
            exc_info=error,
            extra={"action": "commit_failed", "works": len(batch), "in_doubt": in_doubt},
        )
        for job in batch:
            job.result, job.error = None, to_store_error(error, in_doubt=in_doubt)
        self._end_jobs(batch)

    def _reject_waiting(self, first: AnyJob, error: sqlite3.Error) -> bool:
        """Reject all waiting works, because no transaction can begin. One by one, each would wait as long again."""
        rejected: list[AnyJob] = []
        job: AnyJob | None = first
        with contextlib.suppress(Empty):
            while job is not None:
                if self._begin(job):
                    job.error = to_store_error(error)
                    rejected.append(job)
                job = self._writes.get_nowait()
        log.error(
            "Could not begin %d transactions: %s",
            len(rejected),
            format_reason(error),
            extra={"action": "begin_failed", "works": len(rejected)},
        )
        self._end_jobs(rejected)
        return job is None

    def _reject_rest(self, queue: Queue) -> None:
        """Reject the works that are left in the queue when its thread has ended. After `close` there are none."""
        with self._lock:
            self._closed = True
        rest: list[AnyJob] = []
        with contextlib.suppress(Empty):
            while True:
                if (job := queue.get_nowait()) and self._begin(job):
                    job.error = build_closed_error()
                    rest.append(job)
        self._end_jobs(rest)

    # The reader thread.

    def _read_thread(self, opened: Callable[[], None]) -> None:
        try:
            with create_file_engine(self.path.absolute()).connect() as connection:
                raw = get_raw(connection)
                raw.execute(f"PRAGMA busy_timeout = {round(self._lock_seconds * 1000)}")
                raw.execute("PRAGMA query_only = ON")
                opened()
                while job := self._reads.get():
                    if self._begin(job):
                        self._read_once(raw, connection, job)
                        self._end_jobs([job])
        finally:
            self._reject_rest(self._reads)

    def _read_once(self, raw: GuardedConnection, connection: Connection, job: AnyJob) -> None:
        try:
            raw.execute("BEGIN")
            call(job, connection)
            _translate(job)
            if job.error is not None:
                reset_transaction(connection)
        except (sqlite3.Error, SQLAlchemyError) as error:
            job.result, job.error = None, to_store_error(error)
        roll_back(raw)


def _attempt_unguarded(raw: GuardedConnection, connection: Connection, job: AnyJob) -> bool:
    """Run one work without a savepoint. Return False if its batch must run again with savepoints."""
    call(job, connection)
    if job.error is not None and raw.in_transaction:
        reset_transaction(connection)
    return job.error is None and raw.in_transaction


def _translate(job: AnyJob) -> None:
    if isinstance(job.error, DBAPIError) and is_of_the_database(job.error):
        job.error = to_store_error(job.error)
