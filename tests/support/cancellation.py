"""Cancel work at a chosen moment of its run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any


class CancelledWork:
    """Work that is cancelled at its n-th wait, and perhaps also at the next ones."""

    def __init__(self, work: Coroutine[Any, Any, object], at: int, times: int = 1) -> None:
        """`at` counts the waits from 0; `times` is the number of cancellations."""
        self._work = work
        self._waits = range(at, at + times)
        self.reached = False
        """True if the work lasted until the first cancellation."""

    async def run(self) -> BaseException | None:
        """Run until the work ends. Return its error, if any but the cancellation ended it."""
        task = asyncio.create_task(self._drive())
        await asyncio.wait({task})
        return None if task.cancelled() else task.exception()

    async def _drive(self) -> None:
        await _Steps(self._work, self._cancel)

    def _cancel(self, wait: int) -> None:
        task = asyncio.current_task()
        if wait in self._waits and task is not None:
            self.reached = True
            task.cancel()  # before anything else runs, even what the work has just started


class _Steps:
    """Await a coroutine, and call a function before each of its waits."""

    def __init__(self, work: Coroutine[Any, Any, object], before: Callable[[int], None]) -> None:
        self._work = work
        self._before = before

    def __await__(self) -> Generator[Any, Any, None]:
        waits = 0
        error: BaseException | None = None
        while True:
            try:
                future = self._work.send(None) if error is None else self._work.throw(error)
            except StopIteration:
                return
            self._before(waits)
            waits += 1
            error = None
            try:
                yield future
            except (Exception, asyncio.CancelledError) as thrown:  # noqa: BLE001 - it is the work's
                error = thrown
