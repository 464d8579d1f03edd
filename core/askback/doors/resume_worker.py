"""Continues the runs of an agent framework that people have answered while no process waited for them."""

from __future__ import annotations

__all__ = ["ResumeWorker"]

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from askback.errors import AskbackError
from askback.store.errors import StoreError

if TYPE_CHECKING:
    from askback.doors.framework_door import FrameworkDoor

log = logging.getLogger("askback.door")

POLL_SECONDS: Final = 2.0
"""Seconds between two searches for answered runs."""
GRACE_SECONDS: Final = 10.0
"""Seconds for which a run may be answered before it is continued here. A live process continues its own at once."""
RETRY_SECONDS: Final = 60.0
"""Seconds after which a run that still waits is tried again."""
MAX_RUNS: Final = 100
"""Maximum number of runs that are continued at the same time. The others wait for the next search."""


class ResumeWorker:
    """Searches for answered runs, and continues each of them in a separate task."""

    def __init__(self, door: FrameworkDoor, resume: Callable[[str], Awaitable[object]]) -> None:
        """`resume` continues the run with that id."""
        self._door = door
        self._resume = resume
        self._due: dict[str, float] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Work until it is cancelled. An error of one run is logged, and ends neither the worker nor other runs.

        Raises `AskbackError` if the place where people are asked cannot be found.
        """
        platform = await self._door.find_platform()
        async with asyncio.TaskGroup() as tasks:
            while True:
                # Entered each time, so that a session that failed is opened again.
                async with self._door.receive_answers(platform):
                    await self._search(tasks)
                    await asyncio.sleep(POLL_SECONDS)

    async def _search(self, tasks: asyncio.TaskGroup) -> None:
        try:
            listed = await self._door.hand_overs.list_answered_runs(self._door.framework)
        except StoreError as error:
            log.warning("Could not search for answered runs; trying again: %s", error, extra={"action": "not_searched"})
            return
        now = time.monotonic()
        self._due = {run: self._due.get(run, now + GRACE_SECONDS) for run in listed}
        for run, due in self._due.items():
            if due <= now and run not in self._tasks and len(self._tasks) < MAX_RUNS:
                task = tasks.create_task(self._continue(run), name="askback resume")
                self._tasks[run] = task
                task.add_done_callback(lambda _, run=run: self._end(run))

    def _end(self, run: str) -> None:
        del self._tasks[run]
        if run in self._due:
            self._due[run] = time.monotonic() + RETRY_SECONDS

    async def _continue(self, run: str) -> None:
        extra = {"action": "run_not_resumed", "framework": self._door.framework, "run": run}
        try:
            await self._resume(run)
        except AskbackError as error:
            log.warning("Could not continue %s: %s", run, error, extra=extra)
        except Exception:
            log.exception("%s failed after it was continued. It is tried again if it still waits.", run, extra=extra)
