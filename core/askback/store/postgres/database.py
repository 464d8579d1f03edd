"""Transactions on PostgreSQL: some threads, each with a connection of its own.

What holds for a *work* beyond what `Database` says:

- Works run side by side, and processes too. One that decides by what it reads takes the lock of its place first
  (`askback.store.locks`).
- It is run again when it met another transaction (a deadlock, the same new row), and when the connection was
  lost before its COMMIT.
- When the connection is lost while it commits, nobody here can know whether it did: `in_doubt`.
"""

from __future__ import annotations

__all__ = ["PostgresDatabase"]

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

import psycopg
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from askback.errors import OperatorError
from askback.store.error_mapping import closed, overdue
from askback.store.errors import StoreBusy
from askback.store.outage import Outage
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.error_mapping import (
    NotPrimary,
    is_lost,
    is_of_the_database,
    is_silent,
    may_be_standby,
    reason,
    refusal,
    wants_another_try,
)
from askback.store.postgres.link import Link, engine_for
from askback.store.postgres.prepare import prepare as prepare_database
from askback.store.thread import OwnThread
from askback.store.work import AnyJob, Job, Queue, State, call, settle

T = TypeVar("T")

log = logging.getLogger("askback.store")

CONNECTIONS = 8
PATIENCE_SECONDS = 5.0
"""How long a work without a limit of its own waits for a server that cannot be reached."""
TRIES = 5
"""How often a work is run that meets other transactions."""
PAUSE_SECONDS = 0.1
STUCK_SECONDS = 60.0
"""A transaction that runs for so long will not end: the threads give up what is silent much earlier."""


class PostgresDatabase:
    """The threads and their connections. What is promised is said at the module's top."""

    def __init__(
        self,
        address: PostgresAddress,
        *,
        connections: int = CONNECTIONS,
        prepare: Callable[[Connection], None] = prepare_database,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        """Connect, run `prepare` in a transaction, start. Blocks meanwhile. Raises `OperatorError`."""
        self.address = address
        self.commits = 0
        """How many transactions were committed."""
        self._engine = engine_for(address)
        self._patience = patience
        self._lock = threading.Lock()
        self._closed = False
        self._jobs: Queue = SimpleQueue()
        self._outage = Outage(f"The database {address}")
        self._running: dict[int, float] = {}
        """Since when each thread tries the work that it has, by a clock that does not jump."""
        try:
            self._prepare(prepare)
        except (psycopg.Error, DBAPIError) as error:
            raise OperatorError(f"The database {address} cannot be used: {reason(error)}.") from error
        self._threads = [OwnThread(f"askback-database-{number}", self._serve) for number in range(connections)]

    def _prepare(self, prepare: Callable[[Connection], None]) -> None:
        link = Link(self._engine)
        try:
            prepare(link.begin())
            link.commit()
        finally:
            link.close()

    async def run(self, work: Callable[[Connection], T], *, within: float | None = None) -> T:
        """Run `work` as a transaction and return what it returned, once that is committed.

        Raises what `work` raises; otherwise a `StoreError`:

        - `StoreUnavailable`: the server refused, or cannot be reached. `in_doubt` only if the connection was lost
          while it committed.
        - `StoreBusy`: not committed `within` that many seconds. `in_doubt` is False if the COMMIT had not begun,
          and then it never will.

        Cancelling the caller drops a work that has not started; one that has is committed all the same.
        """
        return await self._submit(Job(work, asyncio.get_running_loop(), _deadline(within)), within)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction that cannot write. It sees one snapshot."""
        return await self._submit(Job(work, asyncio.get_running_loop(), reads=True), None)

    async def close(self) -> None:
        """Refuse new works, finish those that are there, close the connections."""
        with self._lock:
            closing, self._closed = not self._closed, True
        if closing:
            for _ in self._threads:
                self._jobs.put(None)
        for thread in self._threads:
            await thread.ended()
        self._outage.ended()

    def defect(self) -> str | None:
        dead = sum(not thread.is_alive for thread in self._threads)
        if dead and not self._closed:
            return f"{dead} of {len(self._threads)} threads have ended"
        longest = time.monotonic() - min([*self._running.values()], default=float("inf"))
        return f"a transaction has run for {longest:.0f} s" if longest >= STUCK_SECONDS else None

    # What the caller's side does, on its event loop.

    async def _submit(self, job: Job[T], within: float | None) -> T:
        timer = None if within is None else job.loop.call_later(within, self._expire, job)
        try:
            with self._lock:
                if self._closed:
                    raise closed()
                self._jobs.put(job)
            return await job.future
        except asyncio.CancelledError:
            with self._lock:
                if job.state is State.WAITING:
                    job.state = State.OVER
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def _expire(self, job: AnyJob) -> None:
        with self._lock:
            state = job.state
            if state in (State.WAITING, State.RUNNING):
                job.state = State.OVER
        if state is not State.OVER and not job.future.done():
            job.future.set_exception(overdue(in_doubt=state is State.COMMITTING))

    # The threads.

    def _serve(self, opened: Callable[[], None]) -> None:
        link = Link(self._engine)
        opened()
        try:
            while job := self._jobs.get():
                with self._lock:
                    begins = job.state is State.WAITING
                    if begins:
                        job.state = State.RUNNING
                if begins:
                    self._running[threading.get_ident()] = time.monotonic()
                    try:
                        self._perform(link, job)
                    except Exception as error:
                        # Whatever it was: nobody may wait for ever.
                        log.exception("A transaction failed in an unknown way.", extra={"action": "commit_failed"})
                        link.drop()
                        job.result, job.error = None, error
                    finally:
                        del self._running[threading.get_ident()]
                    with self._lock:
                        job.state = State.OVER
                    settle([job])
        finally:
            link.close()
            self._refuse_rest()

    def _perform(self, link: Link, job: AnyJob) -> None:
        """Run a work until it is committed, refused, or nobody waits for it any more."""
        until = time.monotonic() + self._patience if job.deadline is None else job.deadline
        pause, tries, losses = PAUSE_SECONDS, 1, 0
        while not self._attempt(link, job):
            error = job.error
            assert error is not None
            if is_lost(error):
                link.drop()
                losses += 1
                if losses > 1 or is_silent(error):
                    # A single loss may be of this connection alone: the next one is there at once then.
                    self._outage.failed(reason(error))
                if time.monotonic() + pause >= until:
                    job.error = refusal(error)
                    return
                time.sleep(pause)
                pause = min(pause * 2, 1.0)
            elif tries >= TRIES or time.monotonic() >= until:
                job.error = refusal(error) if is_of_the_database(error) else error
                return
            else:
                tries += 1
            if job.state is State.OVER:
                return

    def _attempt(self, link: Link, job: AnyJob) -> bool:
        """Run a work once. False: it was not committed, and may be tried again."""
        try:
            connection = link.begin(read_only=job.reads)
        except (psycopg.Error, SQLAlchemyError) as error:
            job.result, job.error = None, error
            return not is_lost(error) and self._give_up(link, job, error)
        call(job, connection)
        error = job.error
        if error is not None:
            if may_be_standby(error) and not job.reads and not link.takes_commits():
                error, job.error = NotPrimary(), NotPrimary()
            link.roll_back()
            if is_lost(error) or wants_another_try(error):
                return False
            if is_of_the_database(error):
                return self._give_up(link, job, error)
            return True
        if job.reads:
            link.roll_back()
            self._outage.succeeded()
            return True
        return self._commit(link, job)

    def _commit(self, link: Link, job: AnyJob) -> bool:
        with self._lock:
            late = job.deadline is not None and job.deadline <= time.monotonic()
            if job.state is State.RUNNING and late:
                # Its timer has not fired: its event loop is held up.
                job.error = overdue(in_doubt=False)
            elif job.state is State.RUNNING:
                job.state = State.COMMITTING
        if job.state is not State.COMMITTING:
            link.roll_back()
            return True
        try:
            link.commit()
        except (psycopg.Error, SQLAlchemyError) as error:
            job.result, job.error = None, error
            lost = is_lost(error)
            if not lost:
                link.roll_back()
                if wants_another_try(error) and job.deadline is None:
                    return False
            job.error = refusal(error, in_doubt=lost)
            link.drop()
            self._failed(error)
            return True
        self.commits += 1
        self._outage.succeeded()
        return True

    def _give_up(self, link: Link, job: AnyJob, error: BaseException) -> bool:
        link.roll_back()
        job.result, job.error = None, refusal(error)
        # Whatever it was: its settings may have been changed to find that out, or it may lead elsewhere tomorrow.
        link.drop()
        self._failed(error)
        return True

    def _failed(self, error: BaseException) -> None:
        """Log what the database refused, unless it does so all the time."""
        if not isinstance(refusal(error), StoreBusy):
            self._outage.failed(reason(error))
            return
        log.warning("A transaction was not committed: %s", reason(error), extra={"action": "commit_failed", "works": 1})

    def _refuse_rest(self) -> None:
        """Whoever still waits when the last thread has ended must not wait for ever. Nobody does after `close`."""
        with self._lock:
            if not self._closed:
                return
        try:
            while True:
                job = self._jobs.get_nowait()
                if job is not None and job.state is State.WAITING:
                    job.state, job.error = State.OVER, closed()
                    settle([job])
                elif job is None:
                    # Another thread's end.
                    self._jobs.put(None)
                    return
        except Empty:
            return


def _deadline(within: float | None) -> float | None:
    return None if within is None else time.monotonic() + within
