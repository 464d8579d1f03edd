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

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import DeleteJobCondition
from procrastinate.worker import Worker

from askback.clock import utc_now
from askback.serving.turns import AT_ONCE, Advance, Advancing
from askback.store.database import Database
from askback.store.errors import StoreError
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.jobs import TURN, give_back, held, is_known, queue_of, sweep
from askback.store.postgres.link import conninfo
from askback.store.served import STALLED_SECONDS, announce
from askback.store.store import Store

log = logging.getLogger("askback.worker")

HEARTBEAT_SECONDS = 1.0
SWEEP_SECONDS = 1.0
ANNOUNCE_SECONDS = 0.1
"""How often it is looked whether the others can be told what this process serves."""
POLL_SECONDS = 1.0
PAUSE_SECONDS = 1.0
LEFT_SECONDS = 10.0
"""A job of ours that nobody works on for so long: that it was done could not be said."""
LEAVE_SECONDS = 0.1
"""How long turns may go on when the process ends without having rested: they are taken again by others."""


class JobTurns:
    """Takes jobs of the platforms that are served here, and sees to those that dead processes left."""

    def __init__(
        self, address: PostgresAddress, database: Database, store: Store, advance: Advance, served: frozenset[str]
    ) -> None:
        self._database = database
        self._served = served
        self._announced: int | None = None
        self._advancing = Advancing(store, advance)
        self._app = App(connector=PsycopgConnector(kwargs=conninfo(address), min_size=1, max_size=4, timeout=5.0))
        # For ever: a turn that was broken off by the end of a process is anybody's, at once.
        self._app.task(name=TURN, retry=True)(self._turn)
        self._worker: Worker | None = None
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
                try:
                    async with self._app.open_async():
                        await self._work()
                except (ConnectorException, psycopg.Error, TimeoutError) as error:
                    log.warning(
                        "The jobs cannot be read, trying again: %s", _said(error), extra={"action": "store_failed"}
                    )
                unless_cancelled()
                await asyncio.sleep(PAUSE_SECONDS)

    async def _turn(self, conversation_id: str) -> None:
        await self._advancing.advance(conversation_id)

    async def _work(self) -> None:
        """Take jobs until the process is to rest, or the connection is lost."""
        self._worker = Worker(
            self._app,
            queues=[queue_of(platform) for platform in sorted(self._served)],
            concurrency=AT_ONCE,
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
        return await self._database.run(lambda connection: sweep(connection, utc_now(), self._served, own))

    async def _announce(self) -> bool:
        """Tell the others what is served here, once they know this process. False: they do not yet."""
        worker = self._worker
        worker_id = None if worker is None else worker.worker_id
        if worker is None or worker_id is None:
            return self._advancing.is_resting
        if worker_id != self._announced:
            await self._database.run(lambda connection: announce(connection, worker_id, self._served))
            self._announced = worker_id
        elif not await self._database.read(lambda connection: is_known(connection, worker_id)):
            # Held up for so long that others took it for dead: its heart would beat for nobody until the next job.
            worker.stop()
        return True


def unless_cancelled() -> None:
    """Raises `CancelledError` where a library that was cancelled in the middle of connecting told another end."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _said(error: BaseException) -> str:
    return " ".join(str(error.__cause__ or error).split()) or type(error).__name__
