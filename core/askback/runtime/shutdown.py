"""How a process that serves ends: the first signal lets it drain, and it is over within ten seconds in every case."""

from __future__ import annotations

__all__ = ["Ending", "end_tasks"]

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterable
from typing import Any

log = logging.getLogger("askback.serve")

LAST_SECONDS = 9.0
"""After that, the process ends whatever goes on: nothing that was committed is lost by it."""

LOST_SECONDS = 1.0
"""After so long without an end, a task is cancelled again."""


class Ending:
    """Takes the signals of the task that makes it."""

    def __init__(self) -> None:
        self.can_drain = False
        """Whether there is anything that could; before, the first signal ends everything."""
        self._over = asyncio.Event()
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            # `nohup` lets it live on when its terminal closes.
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._signalled, number)

    async def wait(self) -> None:
        """Until the first signal."""
        await self._over.wait()

    def _signalled(self, number: int) -> None:
        if self._over.is_set():
            _end(128 + number)
        self._over.set()
        # A thread, since what hangs may be the event loop itself.
        last = threading.Timer(LAST_SECONDS, _end_late)
        last.daemon = True
        last.start()
        if not self.can_drain and self._task is not None:
            self._task.cancel()


async def end_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """End tasks. A cancellation can get lost on its way through a library (`asyncio.wait_for` before Python 3.12)."""
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=LOST_SECONDS)


def _end_late() -> None:
    log.warning("Something did not end in time; it is taken up at the next start.", extra={"action": "ended_late"})
    _end(0)


def _end(code: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # closed, or never there: nobody would read it
    os._exit(code)
