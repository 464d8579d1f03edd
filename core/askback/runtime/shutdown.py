"""End a serving process: the first signal starts a drain, and the process always ends within ten seconds."""

from __future__ import annotations

__all__ = ["ShutdownHandler", "end_tasks"]

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
"""Seconds after the first signal until the process exits in any case. Nothing that was committed is lost."""

LOST_SECONDS = 1.0
"""Seconds after which a task that has not ended is cancelled again."""


class ShutdownHandler:
    """Handle the signals for the task that creates it."""

    def __init__(self) -> None:
        self.can_drain = False
        """True if something can be drained. Before that, the first signal cancels the task."""
        self._over = asyncio.Event()
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            # `nohup` ignores SIGHUP, so that the process survives its terminal.
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._on_signal, number)

    async def wait(self) -> None:
        """Wait for the first signal."""
        await self._over.wait()

    def _on_signal(self, number: int) -> None:
        if self._over.is_set():
            _end(128 + number)
        self._over.set()
        # Use a thread, since the event loop itself may hang.
        last = threading.Timer(LAST_SECONDS, _end_late)
        last.daemon = True
        last.start()
        if not self.can_drain and self._task is not None:
            self._task.cancel()


async def end_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks until all have ended. Libraries can lose a cancellation (`asyncio.wait_for` before Python 3.12)."""
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=LOST_SECONDS)


def _end_late() -> None:
    log.warning("Some work did not end in time. The next start continues it.", extra={"action": "ended_late"})
    _end(0)


def _end(code: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # closed or missing, so no one would read it
    os._exit(code)
