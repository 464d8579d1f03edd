"""Transactions on the SQLite file: one thread that writes, with group commit, and one that reads.

A transaction is a *work*: a function of a `Connection`. What holds for it:

- Its future resolves after the COMMIT that holds it, never before, also when it raised: what it saw
  may have been another work's, not committed yet.
- Works run one after the other in the order in which they were submitted. Those that are already
  there when a batch starts share its COMMIT, up to 64 or 10 ms of work; nobody waits for a batch to
  fill. Each has a savepoint: one that raises is undone alone.
- It may be run again before it is committed, when another one has to be taken out of its batch. So it
  must change nothing but the database.
- It must not catch the database's errors, other than around a savepoint of its own for a violated
  constraint: after a full disk there is no transaction left to go on in.
- It must be short. Everybody waits for it.

`SqliteDatabase.run(work, within=seconds)` says what is guaranteed after the deadline.
"""

from __future__ import annotations

__all__ = ["SqliteDatabase"]

import asyncio
import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from askback.errors import OperatorError
from askback.store import migrate
from askback.store.error_mapping import closed, overdue
from askback.store.sqlite.connections import Raw, checkpoint, engine_for, mend, raw_of, roll_back
from askback.store.sqlite.error_mapping import code, is_of_the_database, reason, refusal, swallowed
from askback.store.sqlite.files import create_private
from askback.store.thread import OwnThread
from askback.store.work import AnyJob, Job, Queue, State, call, settle

T = TypeVar("T")

log = logging.getLogger("askback.store")

BATCH_JOBS = 64
BATCH_SECONDS = 0.01
LOCK_SECONDS = 5.0
"""How long another process may keep the write lock before we refuse everybody who waits for it."""


class SqliteDatabase:
    """The two threads and their connections. Everything that is promised is said at the module's top."""

    def __init__(
        self,
        path: Path,
        *,
        prepare: Callable[[Connection], None] = migrate.prepare,
        batch_jobs: int = BATCH_JOBS,
        batch_seconds: float = BATCH_SECONDS,
        lock_seconds: float = LOCK_SECONDS,
    ) -> None:
        """Open `path`, created if missing, run `prepare` in a transaction, start. Blocks meanwhile."""
        self.path = path
        self.commits = 0
        """How many batches were committed."""
        self._batch_jobs = batch_jobs
        self._batch_seconds = batch_seconds
        self._lock_seconds = lock_seconds
        self._lock = threading.Lock()
        self._closed = False
        self._is_closing = False
        """Whether somebody called `close`; a thread that ends closes the store as well."""
        self._writes: Queue = SimpleQueue()
        self._reads: Queue = SimpleQueue()
        create_private(path)
        try:
            self._writing = OwnThread("askback-writer", lambda opened: self._write_thread(prepare, opened))
            try:
                self._reading = OwnThread("askback-reader", self._read_thread)
            except BaseException:
                self._writes.put(None)
                raise
        except (sqlite3.Error, DBAPIError) as error:
            raise OperatorError(f"The database {path} cannot be opened: {reason(error)}.") from error

    async def run(self, work: Callable[[Connection], T], *, within: float | None = None) -> T:
        """Run `work` as a transaction and return what it returned, once that is on the disk.

        What `work` raises is raised here, and `work` changed nothing. Otherwise a `StoreError`:

        - `StoreUnavailable`: the database refused. `in_doubt` only if the COMMIT broke off with an I/O
          error: undone as far as anybody can see, but a crash before the next commit might bring it back.
        - `StoreBusy`: not committed `within` that many seconds. `in_doubt` is False if the COMMIT had
          not begun, and then it never will for this work: it is dropped, or, if it had run already, the
          batch is rolled back and the others run again. `in_doubt` is True if the disk was taking the
          COMMIT at that moment: it may succeed afterwards, which is logged. Without `within`, raised
          only if another process keeps the write lock for longer than `lock_seconds`.

        Cancelling the caller drops a work that has not started; one that has is committed all the same.
        """
        loop = asyncio.get_running_loop()
        job = Job(work, loop, None if within is None else time.monotonic() + within)
        timer = None if within is None else loop.call_later(within, self._expire, job)
        self._submit(self._writes, job)
        try:
            return await job.future
        except asyncio.CancelledError:
            self._drop(job)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on a connection that cannot write, beside the batches. It sees one snapshot."""
        job = Job(work, asyncio.get_running_loop())
        self._submit(self._reads, job)
        try:
            return await job.future
        except asyncio.CancelledError:
            self._drop(job)
            raise

    def defect(self) -> str | None:
        dead = [thread.name for thread in (self._writing, self._reading) if not thread.is_alive]
        return f"{' and '.join(dead)} ended" if dead and not self._is_closing else None

    async def close(self) -> None:
        """Refuse new works, finish those that are there, write the log back into the file, end the threads."""
        with self._lock:
            closing, self._closed = not self._closed, True
            self._is_closing = True
        if closing:
            self._reads.put(None)
            self._writes.put(None)
        await self._reading.ended()
        await self._writing.ended()

    # What the caller's side does, on its event loop.

    def _submit(self, queue: Queue, job: AnyJob) -> None:
        with self._lock:
            if self._closed:
                raise closed()
            queue.put(job)

    def _drop(self, job: AnyJob) -> None:
        with self._lock:
            if job.state is State.WAITING:
                job.state = State.OVER

    def _expire(self, job: AnyJob) -> None:
        with self._lock:
            state = job.state
            if state in (State.WAITING, State.RUNNING):
                job.state = State.OVER
        if state is not State.OVER and not job.future.done():
            job.future.set_exception(overdue(in_doubt=state is State.COMMITTING))

    # The writer thread.

    def _write_thread(self, prepare: Callable[[Connection], None], opened: Callable[[], None]) -> None:
        engine = engine_for(self.path)
        try:
            with engine.connect() as connection:
                raw = raw_of(connection)
                self._prepare(raw, connection, prepare)
                opened()
                while job := self._writes.get():
                    if self._batch(raw, connection, job):
                        break
                checkpoint(raw)
        finally:
            self._refuse_rest(self._writes)
            engine.dispose()

    def _prepare(self, raw: Raw, connection: Connection, prepare: Callable[[Connection], None]) -> None:
        raw.execute(f"PRAGMA busy_timeout = {round(self._lock_seconds * 1000)}")
        mode = raw.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise OperatorError(
                f"The database {self.path} cannot use SQLite's write-ahead log (it stays in mode {mode}): "
                "set ASKBACK_DATABASE_URL to a file on a local disk."
            )
        raw.execute("PRAGMA synchronous = FULL")
        raw.execute("PRAGMA temp_store = MEMORY")
        raw.execute("BEGIN IMMEDIATE")
        try:
            prepare(connection)
            raw.execute("COMMIT")
        except BaseException:
            roll_back(raw)
            raise
        # Only now: migrations copy tables, and this has no effect inside a transaction.
        raw.execute("PRAGMA foreign_keys = ON")

    def _batch(self, raw: Raw, connection: Connection, first: AnyJob) -> bool:
        """Commit one batch, which begins with `first`. True when the queue's end was reached."""
        if first.state is not State.WAITING:
            return False
        job: AnyJob | None = first
        batch: list[AnyJob] = []
        try:
            # Nobody has started while this waits for another process: all can still be dropped.
            raw.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            roll_back(raw)
            return self._refuse_waiting(first, error)
        until = time.monotonic() + self._batch_seconds
        try:
            while job is not None:
                if self._started(job):
                    batch.append(job)
                    if not self._attempt(raw, connection, job):
                        self._again(raw, connection, batch, without=[job])
                if len(batch) >= self._batch_jobs or time.monotonic() >= until:
                    break
                try:
                    job = self._writes.get_nowait()
                except Empty:
                    break
            self._commit(raw, connection, batch)
        except Exception as error:  # noqa: BLE001
            # Whatever it was: nobody may wait for ever, and the next batch may succeed.
            self._fail(raw, batch, error)
        return job is None

    def _started(self, job: AnyJob) -> bool:
        with self._lock:
            if job.state is not State.WAITING:
                return False
            job.state = State.RUNNING
            return True

    def _attempt(self, raw: Raw, connection: Connection, job: AnyJob) -> bool:
        """Run one work. False if the transaction is gone, and with it what the works before it did."""
        raw.execute("SAVEPOINT job")
        call(job, connection)
        _translate(job)
        if not raw.in_transaction:
            # With some errors (disk full, I/O, no memory) SQLite rolls everything back by itself.
            if job.error is None:
                job.result, job.error = None, swallowed()
            return False
        if job.error is not None:
            mend(connection)
            raw.execute("ROLLBACK TO job")
        raw.execute("RELEASE job")
        return True

    def _again(self, raw: Raw, connection: Connection, batch: list[AnyJob], *, without: list[AnyJob]) -> None:
        """Run a batch again, from its start, after taking out the works that may not be in it."""
        while without:
            if raw.in_transaction:
                # Savepoints are nested: undoing one work in the middle undoes those after it too.
                raw.execute("ROLLBACK")
            batch[:] = [job for job in batch if job not in without]
            self._over(without)
            mend(connection)
            raw.execute("BEGIN IMMEDIATE")
            without = []
            for job in batch:
                if not self._attempt(raw, connection, job):
                    without = [job]
                    break

    def _commit(self, raw: Raw, connection: Connection, batch: list[AnyJob]) -> None:
        while late := self._late(batch):
            self._again(raw, connection, batch, without=late)
        raw.execute("COMMIT")
        self.commits += bool(batch)
        self._over(batch)

    def _late(self, batch: list[AnyJob]) -> list[AnyJob]:
        """The works that may not be committed any more. When there are none: the point of no return."""
        now = time.monotonic()
        late: list[AnyJob] = []
        with self._lock:
            for job in batch:
                if job.state is State.OVER:
                    late.append(job)
                elif job.deadline is not None and job.deadline <= now:
                    # Its timer has not fired: its event loop is held up.
                    job.state = State.OVER
                    job.error = overdue(in_doubt=False)
                    late.append(job)
            if not late:
                for job in batch:
                    job.state = State.COMMITTING
        return late

    def _over(self, batch: list[AnyJob]) -> None:
        with self._lock:
            for job in batch:
                job.state = State.OVER
        settle(batch)

    def _fail(self, raw: Raw, batch: list[AnyJob], error: Exception) -> None:
        """Undo the whole batch and tell everybody in it. The next one starts afresh."""
        in_doubt = code(error) == sqlite3.SQLITE_IOERR and any(job.state is State.COMMITTING for job in batch)
        roll_back(raw)
        log.error(
            "A batch of %d transactions was not committed: %s",
            len(batch),
            reason(error),
            exc_info=error,
            extra={"action": "commit_failed", "works": len(batch), "in_doubt": in_doubt},
        )
        for job in batch:
            job.result, job.error = None, refusal(error, in_doubt=in_doubt)
        self._over(batch)

    def _refuse_waiting(self, first: AnyJob, error: sqlite3.Error) -> bool:
        """No transaction can be had: refuse all that wait. One by one, each would wait as long again."""
        refused: list[AnyJob] = []
        job: AnyJob | None = first
        with contextlib.suppress(Empty):
            while job is not None:
                if self._started(job):
                    job.error = refusal(error)
                    refused.append(job)
                job = self._writes.get_nowait()
        log.error(
            "%d transactions could not begin: %s",
            len(refused),
            reason(error),
            extra={"action": "begin_failed", "works": len(refused)},
        )
        self._over(refused)
        return job is None

    def _refuse_rest(self, queue: Queue) -> None:
        """Nobody is left to work: whoever still waits must not wait for ever. Nobody does after `close`."""
        with self._lock:
            self._closed = True
        rest: list[AnyJob] = []
        with contextlib.suppress(Empty):
            while True:
                if (job := queue.get_nowait()) and self._started(job):
                    job.error = closed()
                    rest.append(job)
        self._over(rest)

    # The reader thread.

    def _read_thread(self, opened: Callable[[], None]) -> None:
        engine = engine_for(self.path)
        try:
            with engine.connect() as connection:
                raw = raw_of(connection)
                raw.execute(f"PRAGMA busy_timeout = {round(self._lock_seconds * 1000)}")
                raw.execute("PRAGMA query_only = ON")
                opened()
                while job := self._reads.get():
                    if self._started(job):
                        self._look(raw, connection, job)
                        self._over([job])
        finally:
            self._refuse_rest(self._reads)
            engine.dispose()

    def _look(self, raw: Raw, connection: Connection, job: AnyJob) -> None:
        try:
            raw.execute("BEGIN")
            call(job, connection)
            _translate(job)
            if job.error is not None:
                mend(connection)
        except (sqlite3.Error, SQLAlchemyError) as error:
            job.result, job.error = None, refusal(error)
        roll_back(raw)


def _translate(job: AnyJob) -> None:
    if isinstance(job.error, DBAPIError) and is_of_the_database(job.error):
        job.error = refusal(job.error)
