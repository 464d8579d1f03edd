"""Threads for tools, so that no tool delays a click or keeps the process alive."""

from __future__ import annotations

__all__ = ["NoCapacityError", "ToolThreadPool"]

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class NoCapacityError(Exception):
    """Raised if calls that have not ended occupy all threads or loops, so that no other call can run."""


class ToolThreadPool(ThreadPoolExecutor):
    """A daemon thread for each call, up to a limit. A function that hangs keeps its thread, but not the process.

    It is a `ThreadPoolExecutor` only because event loops accept nothing else. The interpreter would wait for the
    threads of a real one at exit.
    """

    def __init__(self, most: int) -> None:
        super().__init__(max_workers=1)  # never started: no work reaches it
        self._most = most
        self._full = f"Calls that have not ended occupy all {most} threads for tools."
        self._taken = 0
        self._count = threading.Lock()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function in a new thread. Raises `NoCapacityError`."""
        with self._count:
            if self._taken >= self._most:
                raise NoCapacityError(self._full)
            self._taken += 1
        future = Future[T]()
        context = contextvars.copy_context()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                self._release()
                return
            try:
                result = context.run(fn, *args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - the receiver of the result gets it
                self._release()
                future.set_exception(error)
            else:
                # Do this first: the receiver of the result may want a thread at once.
                self._release()
                future.set_result(result)

        try:
            threading.Thread(target=run, name="askback tool", daemon=True).start()
        except RuntimeError:
            # The system cannot start another thread.
            self._release()
            raise NoCapacityError(self._full) from None
        return future

    @property
    def taken(self) -> int:
        """Number of calls that have a thread."""
        return self._taken

    @property
    def is_full(self) -> bool:
        """True if a call would be rejected."""
        return self._taken >= self._most

    def _release(self) -> None:
        with self._count:
            self._taken -= 1

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Return at once and ignore the arguments: the threads may never end."""
        del wait, cancel_futures
