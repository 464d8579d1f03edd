"""Where tools run: beside the bot's event loop, so that nothing they do keeps a click waiting or the process alive."""

from __future__ import annotations

__all__ = ["NoThread", "Threads"]

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class NoThread(Exception):
    """Nothing is left that could run a call: everything is taken by calls that have not ended."""


class Threads(ThreadPoolExecutor):
    """A daemon thread for each call, so many at most: a function that hangs keeps its thread, and no process alive.

    It is a `ThreadPoolExecutor` only because event loops take nothing else; its own threads would be waited for
    when the interpreter ends.
    """

    def __init__(self, most: int) -> None:
        super().__init__(max_workers=1)  # never started: no work reaches it
        self._most = most
        self._full = f"All {most} threads for tools are taken by calls that have not ended."
        self._taken = 0
        self._count = threading.Lock()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function in a thread of its own. Raises `NoThread`."""
        with self._count:
            if self._taken >= self._most:
                raise NoThread(self._full)
            self._taken += 1
        future = Future[T]()
        context = contextvars.copy_context()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                self._give_back()
                return
            try:
                result = context.run(fn, *args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - whoever waits gets it
                self._give_back()
                future.set_exception(error)
            else:
                # First: whoever hears of the result may want a thread at once.
                self._give_back()
                future.set_result(result)

        try:
            threading.Thread(target=run, name="askback tool", daemon=True).start()
        except RuntimeError:
            # The system has no more of them.
            self._give_back()
            raise NoThread(self._full) from None
        return future

    @property
    def taken(self) -> int:
        """How many calls have a thread."""
        return self._taken

    @property
    def is_full(self) -> bool:
        """Whether a call would be refused."""
        return self._taken >= self._most

    def _give_back(self) -> None:
        with self._count:
            self._taken -= 1

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Waits for nothing, whatever it is asked: the threads may never end."""
        del wait, cancel_futures
