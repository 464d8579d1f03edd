"""Runs work after an ack. The work belongs to the connection, and ends shortly after it."""

from __future__ import annotations

__all__ = ["Background"]

import asyncio
import logging
from collections.abc import Coroutine
from types import TracebackType
from typing import Self

log = logging.getLogger("askback.slack")


class Background:
    """A group of background tasks. An error in one task ends only that task."""

    def __init__(self) -> None:
        self._tasks = asyncio.TaskGroup()
        self._going: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._tasks.__aexit__(kind, error, trace)

    def start_soon(self, work: Coroutine[object, object, None], name: str) -> None:
        """Start the work, which runs after the ack. Log an error, which ends only this task."""

        async def run() -> None:
            try:
                await work
            except Exception:
                log.exception("Work after an ack failed because of a bug.", extra={"action": "behind_ack_failed"})

        def end(task: asyncio.Task[None]) -> None:
            self._going.discard(task)
            work.close()  # in case it was cancelled before it began

        task = self._tasks.create_task(run(), name=f"askback slack {name}")
        self._going.add(task)
        task.add_done_callback(end)

    async def settle(self, seconds: float) -> None:
        """Wait at most this many seconds for the running tasks, then cancel the rest.

        The outbox repeats the cancelled deliveries. Other cancelled work is lost.
        """
        if self._going:
            _, late = await asyncio.wait(set(self._going), timeout=seconds)
            for task in late:
                task.cancel()
