"""Where tools run: beside the bot's event loop, so that nothing they do keeps a click waiting or the process alive."""

from __future__ import annotations

__all__ = ["NoThread", "Threads", "ToolLoop"]

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

END_SECONDS = 1.0
"""How long coroutines that were cancelled at the end may take to clean up."""


class NoThread(Exception):
    """Every thread is taken by a function that has not ended."""

    def __init__(self, most: int) -> None:
        super().__init__(f"All {most} threads for tools are taken by calls that have not ended.")


class Threads(ThreadPoolExecutor):
    """A daemon thread for each call, so many at most: a function that hangs keeps its thread, and no process alive.

    It is a `ThreadPoolExecutor` only because event loops take nothing else; its own threads would be waited for
    when the interpreter ends.
    """

    def __init__(self, most: int) -> None:
        super().__init__(max_workers=1)  # never started: no work reaches it
        self._most = most
        self._taken = 0
        self._count = threading.Lock()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function in a thread of its own. Raises `NoThread`."""
        with self._count:
            if self._taken >= self._most:
                raise NoThread(self._most)
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
            raise NoThread(self._most) from None
        return future

    def _give_back(self) -> None:
        with self._count:
            self._taken -= 1

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Waits for nothing, whatever it is asked: the threads may never end."""
        del wait, cancel_futures


class ToolLoop:
    """An event loop for tools that are coroutines, in a daemon thread. It begins with the first of them."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        """What `asyncio.to_thread` gets there."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = threading.Event()

    def submit(self, work: Callable[[], Coroutine[object, object, T]]) -> Future[T]:
        """Run a coroutine there. Cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(work(), self._loop or self._begin())

    async def close(self) -> None:
        """Cancel what is left, and end the loop; one that a tool blocks is left to the end of the process."""
        if self._loop is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._ended.wait, 2 * END_SECONDS)

    def _begin(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        loop.set_default_executor(self._threads)
        threading.Thread(target=self._turn, args=(loop,), name="askback tool loop", daemon=True).start()
        self._loop = loop
        return loop

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        left: set[asyncio.Task[object]] = set()
        try:
            asyncio.set_event_loop(loop)
            loop.run_forever()
            if left := asyncio.all_tasks(loop):
                for task in left:
                    task.cancel()
                _, left = loop.run_until_complete(asyncio.wait(left, timeout=END_SECONDS))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            if left:
                # Some coroutine takes no cancellation. It is kept until the process has gone: an interpreter that
                # ends closes those that nobody keeps, and one that catches even that would never let it end.
                self._ended.set()
                threading.Event().wait()
            loop.close()
            self._ended.set()
