"""Transactions on the SQLite file: one thread that writes, with group commit, and one that reads.

A transaction is a *work*: a function of a `Connection`. What holds for it:

- Its future resolves after the COMMIT that holds it, never before, also when it raised: what it saw
  may have been another work's, not committed yet.
- Works run one after the other in the order in which they were submitted. Those that are already
  there when a batch starts share its COMMIT, up to 64 or 2 ms of work; nobody waits for a batch to
  fill. Each has a savepoint: one that raises is undone alone.
- It may be run again before it is committed, when another one has to be taken out of its batch. So it
  must change nothing but the database.
- It must not catch the database's errors, other than around a savepoint of its own for a violated
  constraint: after a full disk there is no transaction left to go on in.
- It must be short. Everybody waits for it.

`Writer.run(work, within=seconds)` says what is guaranteed after the deadline.
"""

from __future__ import annotations

__all__ = ["Writer"]

import asyncio
import contextlib
import enum
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future as ThreadFuture
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine, MappingResult, Result, ScalarResult, create_engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from askback.errors import OperatorError
from askback.store import migrate
from askback.store.errors import StoreBusy, StoreError, StoreUnavailable
from askback.store.lockfile import create_private

T = TypeVar("T")

log = logging.getLogger("askback.store")

BATCH_JOBS = 64
BATCH_SECONDS = 0.002
LOCK_SECONDS = 5.0
"""How long another process may keep the write lock before we refuse everybody who waits for it."""

# What SQLite says when it is the database that is wrong and not the statement, and what to do then.
_UNAVAILABLE = {
    sqlite3.SQLITE_CANTOPEN: "see that its directory exists and can be written",
    sqlite3.SQLITE_CORRUPT: "restore a backup",
    sqlite3.SQLITE_FULL: "make room on its disk",
    sqlite3.SQLITE_IOERR: "check its disk",
    sqlite3.SQLITE_NOMEM: "give the process more memory",
    sqlite3.SQLITE_NOTADB: "set ASKBACK_DATABASE_URL to a SQLite database",
    sqlite3.SQLITE_READONLY: "make the file and its directory writable",
}
_BUSY = {
    sqlite3.SQLITE_BUSY: "another process keeps it locked",
    sqlite3.SQLITE_LOCKED: "another process keeps it locked",
}

# Bound to the thread of their connection.
_BOUND = (Connection, Result, ScalarResult, MappingResult)


class _State(enum.Enum):
    WAITING = enum.auto()  # in the queue: whoever refuses it now can be sure
    RUNNING = enum.auto()  # its statements run, or ran; not committed
    COMMITTING = enum.auto()  # the point of no return
    OVER = enum.auto()  # committed, or refused; nothing more happens to it


class _Job(Generic[T]):
    """A work on its way. `state` changes under the writer's lock only."""

    __slots__ = ("deadline", "error", "future", "loop", "result", "state", "work")

    def __init__(
        self,
        work: Callable[[Connection], T],
        loop: asyncio.AbstractEventLoop,
        deadline: float | None = None,
    ) -> None:
        self.work = work
        self.loop = loop
        self.deadline = deadline
        self.future: asyncio.Future[T] = loop.create_future()
        self.state = _State.WAITING
        self.result: T | None = None
        self.error: BaseException | None = None


_AnyJob: TypeAlias = _Job[Any]
_Queue: TypeAlias = SimpleQueue[_AnyJob | None]


class _Raw(sqlite3.Connection):
    """A work shares its transaction with others, so it must not end it."""

    def commit(self) -> None:
        if self.in_transaction:
            raise RuntimeError("A work must not commit: it is committed for it, together with others.")

    def rollback(self) -> None:
        if self.in_transaction:
            raise RuntimeError("A work must not roll back: raise, and what it changed is undone.")


class _Thread:
    """A thread that is known to have opened its connection, and whose end can be awaited."""

    def __init__(self, name: str, body: Callable[[Callable[[], None]], None]) -> None:
        opened: ThreadFuture[None] = ThreadFuture()
        self._ended: ThreadFuture[None] = ThreadFuture()
        # Running: a caller of `ended` who is cancelled cannot cancel it for the others.
        self._ended.set_running_or_notify_cancel()

        def main() -> None:
            try:
                body(lambda: opened.set_result(None))
            except BaseException as error:
                if opened.done():
                    log.critical("%s ended by an error.", name, exc_info=True, extra={"action": "store_thread_ended"})
                else:
                    opened.set_exception(error)
            finally:
                self._ended.set_result(None)

        # A daemon: a program that forgot to close must still be able to end. What was acknowledged is on
        # the disk by then.
        self._thread = threading.Thread(target=main, name=name, daemon=True)
        self._thread.start()
        try:
            opened.result()
        except BaseException:
            self._thread.join()
            raise

    async def ended(self) -> None:
        await asyncio.wrap_future(self._ended)
        self._thread.join()


class Writer:
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
        self._writes: _Queue = SimpleQueue()
        self._reads: _Queue = SimpleQueue()
        create_private(path)
        try:
            self._writing = _Thread("askback-writer", lambda opened: self._write_thread(prepare, opened))
            try:
                self._reading = _Thread("askback-reader", self._read_thread)
            except BaseException:
                self._writes.put(None)
                raise
        except (sqlite3.Error, DBAPIError) as error:
            raise OperatorError(f"The database {path} cannot be opened: {_reason(error)}.") from error

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
        job = _Job(work, loop, None if within is None else time.monotonic() + within)
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
        job = _Job(work, asyncio.get_running_loop())
        self._submit(self._reads, job)
        try:
            return await job.future
        except asyncio.CancelledError:
            self._drop(job)
            raise

    async def close(self) -> None:
        """Refuse new works, finish those that are there, write the log back into the file, end the threads."""
        with self._lock:
            closing, self._closed = not self._closed, True
        if closing:
            self._reads.put(None)
            self._writes.put(None)
        await self._reading.ended()
        await self._writing.ended()

    # What the caller's side does, on its event loop.

    def _submit(self, queue: _Queue, job: _AnyJob) -> None:
        with self._lock:
            if self._closed:
                raise _closed()
            queue.put(job)

    def _drop(self, job: _AnyJob) -> None:
        with self._lock:
            if job.state is _State.WAITING:
                job.state = _State.OVER

    def _expire(self, job: _AnyJob) -> None:
        with self._lock:
            state = job.state
            if state in (_State.WAITING, _State.RUNNING):
                job.state = _State.OVER
        if state is not _State.OVER and not job.future.done():
            job.future.set_exception(_overdue(in_doubt=state is _State.COMMITTING))

    # The writer thread.

    def _write_thread(self, prepare: Callable[[Connection], None], opened: Callable[[], None]) -> None:
        engine = _engine(self.path)
        try:
            with engine.connect() as connection:
                raw = _raw(connection)
                self._prepare(raw, connection, prepare)
                opened()
                while job := self._writes.get():
                    if self._batch(raw, connection, job):
                        break
                _checkpoint(raw)
        finally:
            self._refuse_rest(self._writes)
            engine.dispose()

    def _prepare(self, raw: _Raw, connection: Connection, prepare: Callable[[Connection], None]) -> None:
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
            _roll_back(raw)
            raise
        # Only now: migrations copy tables, and this has no effect inside a transaction.
        raw.execute("PRAGMA foreign_keys = ON")

    def _batch(self, raw: _Raw, connection: Connection, first: _AnyJob) -> bool:
        """Commit one batch, which begins with `first`. True when the queue's end was reached."""
        if first.state is not _State.WAITING:
            return False
        job: _AnyJob | None = first
        batch: list[_AnyJob] = []
        try:
            # Nobody has started while this waits for another process: all can still be dropped.
            raw.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            _roll_back(raw)
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

    def _started(self, job: _AnyJob) -> bool:
        with self._lock:
            if job.state is not _State.WAITING:
                return False
            job.state = _State.RUNNING
            return True

    def _attempt(self, raw: _Raw, connection: Connection, job: _AnyJob) -> bool:
        """Run one work. False if the transaction is gone, and with it what the works before it did."""
        raw.execute("SAVEPOINT job")
        _call(job, connection)
        if not raw.in_transaction:
            # With some errors (disk full, I/O, no memory) SQLite rolls everything back by itself.
            if job.error is None:
                job.result, job.error = None, _swallowed()
            return False
        if job.error is not None:
            _mend(connection)
            raw.execute("ROLLBACK TO job")
        raw.execute("RELEASE job")
        return True

    def _again(self, raw: _Raw, connection: Connection, batch: list[_AnyJob], *, without: list[_AnyJob]) -> None:
        """Run a batch again, from its start, after taking out the works that may not be in it."""
        while without:
            if raw.in_transaction:
                # Savepoints are nested: undoing one work in the middle undoes those after it too.
                raw.execute("ROLLBACK")
            batch[:] = [job for job in batch if job not in without]
            self._over(without)
            _mend(connection)
            raw.execute("BEGIN IMMEDIATE")
            without = []
            for job in batch:
                if not self._attempt(raw, connection, job):
                    without = [job]
                    break

    def _commit(self, raw: _Raw, connection: Connection, batch: list[_AnyJob]) -> None:
        while late := self._late(batch):
            self._again(raw, connection, batch, without=late)
        raw.execute("COMMIT")
        self.commits += bool(batch)
        self._over(batch)

    def _late(self, batch: list[_AnyJob]) -> list[_AnyJob]:
        """The works that may not be committed any more. When there are none: the point of no return."""
        now = time.monotonic()
        late: list[_AnyJob] = []
        with self._lock:
            for job in batch:
                if job.state is _State.OVER:
                    late.append(job)
                elif job.deadline is not None and job.deadline <= now:
                    # Its timer has not fired: its event loop is held up.
                    job.state = _State.OVER
                    job.error = _overdue(in_doubt=False)
                    late.append(job)
            if not late:
                for job in batch:
                    job.state = _State.COMMITTING
        return late

    def _over(self, batch: list[_AnyJob]) -> None:
        with self._lock:
            for job in batch:
                job.state = _State.OVER
        _settle(batch)

    def _fail(self, raw: _Raw, batch: list[_AnyJob], error: Exception) -> None:
        """Undo the whole batch and tell everybody in it. The next one starts afresh."""
        in_doubt = _code(error) == sqlite3.SQLITE_IOERR and any(job.state is _State.COMMITTING for job in batch)
        _roll_back(raw)
        log.error(
            "A batch of %d transactions was not committed: %s",
            len(batch),
            _reason(error),
            exc_info=error,
            extra={"action": "commit_failed", "works": len(batch), "in_doubt": in_doubt},
        )
        for job in batch:
            job.result, job.error = None, _refusal(error, in_doubt=in_doubt)
        self._over(batch)

    def _refuse_waiting(self, first: _AnyJob, error: sqlite3.Error) -> bool:
        """No transaction can be had: refuse all that wait. One by one, each would wait as long again."""
        refused: list[_AnyJob] = []
        job: _AnyJob | None = first
        with contextlib.suppress(Empty):
            while job is not None:
                if self._started(job):
                    job.error = _refusal(error)
                    refused.append(job)
                job = self._writes.get_nowait()
        log.error(
            "%d transactions could not begin: %s",
            len(refused),
            _reason(error),
            extra={"action": "begin_failed", "works": len(refused)},
        )
        self._over(refused)
        return job is None

    def _refuse_rest(self, queue: _Queue) -> None:
        """Nobody is left to work: whoever still waits must not wait for ever. Nobody does after `close`."""
        with self._lock:
            self._closed = True
        rest: list[_AnyJob] = []
        with contextlib.suppress(Empty):
            while True:
                if (job := queue.get_nowait()) and self._started(job):
                    job.error = _closed()
                    rest.append(job)
        self._over(rest)

    # The reader thread.

    def _read_thread(self, opened: Callable[[], None]) -> None:
        engine = _engine(self.path)
        try:
            with engine.connect() as connection:
                raw = _raw(connection)
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

    def _look(self, raw: _Raw, connection: Connection, job: _AnyJob) -> None:
        try:
            raw.execute("BEGIN")
            _call(job, connection)
            if job.error is not None:
                _mend(connection)
        except (sqlite3.Error, SQLAlchemyError) as error:
            job.result, job.error = None, _refusal(error)
        _roll_back(raw)


def _engine(path: Path) -> Engine:
    # isolation_level=None: Python begins nothing by itself. SQLAlchemy believes to be in one endless
    # transaction, which costs nothing; ours are begun and ended beneath it.
    return create_engine(
        "sqlite+pysqlite://",
        creator=lambda: sqlite3.connect(path, isolation_level=None, factory=_Raw, cached_statements=512),
        poolclass=NullPool,
        # An error of the database is told and logged: it must not quote what people wrote.
        hide_parameters=True,
    )


def _raw(connection: Connection) -> _Raw:
    raw = connection.connection.driver_connection
    assert isinstance(raw, _Raw)
    return raw


def _call(job: _AnyJob, connection: Connection) -> None:
    job.result = job.error = None
    try:
        result = job.work(connection)
        if isinstance(result, _BOUND):
            raise TypeError("A work must return values, not what belongs to its connection.")
        if connection.in_nested_transaction():
            raise RuntimeError("A work must end the savepoints that it begins.")
    except DBAPIError as error:
        job.error = _refusal(error) if _code(error) in _UNAVAILABLE or _code(error) in _BUSY else error
    except StopIteration as error:
        # A future cannot carry this one.
        job.error = RuntimeError("A work raised StopIteration.")
        job.error.__cause__ = error
    except BaseException as error:  # noqa: BLE001
        job.error = error
    else:
        job.result = result


def _mend(connection: Connection) -> None:
    """Take back what a work that raised may have left in SQLAlchemy's own view of the transaction."""
    while nested := connection.get_nested_transaction():
        nested.rollback()
    if (root := connection.get_transaction()) and not root.is_active:
        # It called `commit` or `rollback`, which was refused.
        root.close()


def _settle(jobs: list[_AnyJob]) -> None:
    """Wake each event loop once, for all of its callers."""
    loops: dict[asyncio.AbstractEventLoop, list[_AnyJob]] = {}
    for job in jobs:
        loops.setdefault(job.loop, []).append(job)
    for loop, theirs in loops.items():
        # A closed loop: nobody is left to hear it.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_deliver, theirs)


def _deliver(jobs: list[_AnyJob]) -> None:
    for job in jobs:
        future = job.future
        if future.done():
            if job.error is None and not future.cancelled() and _in_doubt(future.exception()):
                log.warning(
                    "A transaction was committed after its caller had been told that this is in doubt.",
                    extra={"action": "commit_late"},
                )
        elif job.error is None:
            future.set_result(job.result)
        else:
            future.set_exception(job.error)


def _roll_back(raw: _Raw) -> None:
    if raw.in_transaction:
        # If even this fails, the next BEGIN says so to whoever wants it.
        with contextlib.suppress(sqlite3.Error):
            raw.execute("ROLLBACK")


def _checkpoint(raw: _Raw) -> None:
    # Not worth waiting for: another process that still reads does it when it closes.
    raw.execute("PRAGMA busy_timeout = 100")
    with contextlib.suppress(sqlite3.Error):
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _code(error: BaseException) -> int:
    """SQLite's primary result code, 0 if it was not SQLite."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    # Absent where the Python module itself complains.
    return getattr(origin, "sqlite_errorcode", 0) & 0xFF


def _reason(error: BaseException) -> str:
    said = str(error.orig if isinstance(error, DBAPIError) else error)
    step = (_UNAVAILABLE | _BUSY).get(_code(error))
    return f"{said} ({step})" if step else said


def _refusal(error: BaseException, *, in_doubt: bool = False) -> StoreError:
    told = StoreBusy if _code(error) in _BUSY else StoreUnavailable
    refusal = told(
        f"The database did not commit: {_reason(error)}. "
        + ("Whether it still does is open." if in_doubt else "Nothing was changed."),
        in_doubt=in_doubt,
    )
    refusal.__cause__ = error
    return refusal


def _overdue(*, in_doubt: bool) -> StoreBusy:
    return StoreBusy(
        "The database did not commit in time. "
        + ("Whether it still does is open." if in_doubt else "Nothing was changed."),
        in_doubt=in_doubt,
    )


def _swallowed() -> StoreUnavailable:
    return StoreUnavailable(
        "A work caught an error with which SQLite had ended its transaction. Whether what it did afterwards "
        "was kept is open.",
        in_doubt=True,
    )


def _closed() -> StoreUnavailable:
    return StoreUnavailable("The store is closed: nothing more can be read or written.")


def _in_doubt(error: BaseException | None) -> bool:
    return isinstance(error, StoreError) and error.in_doubt
