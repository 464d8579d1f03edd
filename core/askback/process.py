"""A command's life as a process: its work runs to the end, and signals end it cleanly."""

from __future__ import annotations

__all__ = ["quiet_interrupt", "run_to_end"]

import asyncio
import os
import signal
from collections.abc import Coroutine
from types import FrameType

from askback.errors import AskbackError


def run_to_end(work: Coroutine[object, object, int]) -> int:
    """Run to the end, and return the exit code. SIGINT and SIGTERM end it cleanly."""

    async def ended_by_signals() -> int:
        task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        if task is not None:
            loop.add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    from askback.logs import catch_crashes

    catch_crashes()
    if signal.getsignal(signal.SIGINT) is _quit:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return asyncio.run(ended_by_signals())
    except KeyboardInterrupt:
        return 130
    except asyncio.CancelledError:
        return 0
    except BaseExceptionGroup as group:
        known, rest = group.split(AskbackError)
        if rest is not None or known is None:
            raise
        raise _leaf(known) from None


def quiet_interrupt() -> None:
    """Let Ctrl-C end the process at once until `run_to_end` begins."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _quit)


def _leaf(group: BaseExceptionGroup[AskbackError]) -> AskbackError:
    first = group.exceptions[0]
    return _leaf(first) if isinstance(first, BaseExceptionGroup) else first


def _quit(number: int, frame: FrameType | None) -> None:
    """Ctrl-C before anything has begun: an exception would turn up in the middle of some import."""
    os._exit(130)
