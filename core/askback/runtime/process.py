"""Runs a command as a process, and ends it cleanly on signals."""

from __future__ import annotations

__all__ = ["run_to_end"]

import signal
from collections.abc import Coroutine
from types import FrameType

from askback.errors import AskbackError
from askback.internal.early_interrupt import raise_on_interrupt
from askback.internal.garbage_collector import resume_collector

LOADED_SECONDS = 10.0
"""Seconds after which the garbage collector resumes in a command that loads nothing."""
LOST_SECONDS = 1.0
"""Seconds after which a signal's cancellation is repeated if the task has not ended."""


def run_to_end(work: Coroutine[object, object, int], *, terminated_code: int = 0) -> int:
    """Run the work to its end, and return the exit code.

    SIGINT, SIGTERM and SIGHUP cancel it. The exit code is then 130 after SIGINT, or else `terminated_code`.
    """
    # Imported late, which makes `--help` a quarter faster.
    import asyncio

    signals: list[int] = []

    async def run_until_signal() -> int:
        task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        cancelling = signal.getsignal(signal.SIGINT)

        def end() -> None:
            """Cancel repeatedly, since libraries can lose a cancellation before Python 3.12."""
            if task is not None and not task.done():
                task.cancel()
                loop.call_later(LOST_SECONDS, end)

        def on_termination(number: int) -> None:
            signals.append(number)
            end()

        def on_sigint(number: int, frame: FrameType | None) -> None:
            signals.append(number)
            loop.call_soon_threadsafe(loop.call_later, LOST_SECONDS, end)
            if callable(cancelling):
                cancelling(number, frame)  # asyncio's own handler raises at once on the second signal

        for number in (signal.SIGTERM, signal.SIGHUP):
            # `nohup` ignores SIGHUP, so that the process survives its terminal.
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, on_termination, number)
        # Resume at the latest then. A bot or a server resumes it as soon as everything is loaded.
        loop.call_later(LOADED_SECONDS, resume_collector)
        if callable(cancelling):
            signal.signal(signal.SIGINT, on_sigint)
        try:
            return await work
        finally:
            if signal.getsignal(signal.SIGINT) is on_sigint:
                signal.signal(signal.SIGINT, cancelling)

    from askback.observability.logs import catch_crashes

    catch_crashes()
    raise_on_interrupt()
    try:
        return asyncio.run(run_until_signal())
    except KeyboardInterrupt:
        return 130
    except asyncio.CancelledError:
        return 130 if signal.SIGINT in signals else terminated_code
    except BaseExceptionGroup as group:
        known, rest = group.split(AskbackError)
        if rest is not None or known is None:
            raise
        raise _get_first_error(known) from None


def _get_first_error(group: BaseExceptionGroup[AskbackError]) -> AskbackError:
    first = group.exceptions[0]
    return _get_first_error(first) if isinstance(first, BaseExceptionGroup) else first
