"""Event loops in separate threads, for tools that are coroutines.

A coroutine that blocks holds up only its own loop: later calls go to another one, and calls that have not begun move
there. A call that was given up before it began never begins.
"""

from __future__ import annotations

__all__ = ["AsyncCall", "ToolLoops"]

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from types import CodeType, FrameType
from typing import Any, Generic, TypeAlias, TypeVar

from askback.user_tools.worker_threads import NoCapacityError, ToolThreadPool

log = logging.getLogger("askback.toolbox")

T = TypeVar("T")

LOOPS = 4
"""Maximum number of loops: three tools may block at the same time, and the others still run."""
BLOCKED_SECONDS = 3.0
"""Seconds without an answer after which a loop counts as blocked."""
WATCH_SECONDS = 0.5
"""Seconds between two checks that the loop of a call still answers."""
END_SECONDS = 1.0
"""Seconds that coroutines cancelled at shutdown may take to clean up."""


class AsyncCall(Generic[T]):
    """One call, until its loop has run it."""

    def __init__(self, tool: str, code: CodeType | None, work: Callable[[], Coroutine[object, object, T]]) -> None:
        """`code` is the code object that the tool runs; it identifies the tool that blocks."""
        self.tool = tool
        self.code = code
        self.future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        """Belongs to the loop that waits for the result."""
        self._work = work
        self._lock = threading.Lock()
        self._given_up = False
        self._task: asyncio.Task[None] | None = None

    @property
    def is_begun(self) -> bool:
        return self._task is not None

    def cancel(self) -> bool:
        """Cancel the call. Return True if it has begun; otherwise it never will."""
        with self._lock:
            self._given_up = True
            task = self._task
        if task is None:
            return False
        task.get_loop().call_soon_threadsafe(task.cancel)
        return True

    def reject(self, error: Exception) -> None:
        """Never begin the call, and raise this error for its caller. Does nothing if the call has begun."""
        if not self.cancel() and not self.future.done():
            self.future.set_exception(error)

    def begin(self, ended: Callable[[AsyncCall[T]], None]) -> bool:
        """Begin the call in the running loop. Return False if it was given up or has begun elsewhere."""
        with self._lock:
            if self._given_up or self._task is not None:
                return False
            self._task = asyncio.get_running_loop().create_task(self._run(ended), name=f"askback tool {self.tool}")
            return True

    async def _run(self, ended: Callable[[AsyncCall[T]], None]) -> None:
        settle: Callable[[], object] = self.future.cancel
        try:
            settle = partial(self._return, await self._work())
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - it is raised where the call is waited for
            settle = partial(self._raise, error)
        finally:
            ended(self)
            # The waiting loop may have ended with its process.
            with suppress(RuntimeError):
                self.future.get_loop().call_soon_threadsafe(settle)

    def _return(self, result: T) -> None:
        if not self.future.done():
            self.future.set_result(result)

    def _raise(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


AnyCall: TypeAlias = AsyncCall[Any]


class ToolLoops:
    """The loops of one process, created when they are needed."""

    def __init__(self, threads: ToolThreadPool) -> None:
        self._threads = threads
        """Default executor of the loops, used by `asyncio.to_thread`."""
        self._loops: list[_Loop] = []

    def submit(self, call: AnyCall) -> None:
        """Run a call in a loop that is not blocked. Raises `NoCapacityError` if all are."""
        self._get_free_loop().put(call)

    def check_loops(self) -> None:
        """Check which loops answer, and move calls that have not begun away from those that do not."""
        for loop in self._loops:
            loop.ask()
        for loop in [one for one in self._loops if one.is_blocked]:
            loop.report()
            for call in loop.take_waiting():
                try:
                    self.submit(call)
                except NoCapacityError as error:
                    call.reject(error)

    @property
    def blocked_loops(self) -> tuple[str, ...]:
        """Describe the tool that blocks each blocked loop, for the operator."""
        return tuple(loop.description for loop in self._loops if loop.is_blocked)

    @property
    def is_full(self) -> bool:
        """True if a call would be rejected."""
        return len(self.blocked_loops) >= LOOPS

    async def close(self) -> None:
        """Cancel the remaining calls and end the loops. A loop that a tool blocks runs until the process ends."""
        await asyncio.gather(*(loop.close() for loop in self._loops))

    def _get_free_loop(self) -> _Loop:
        for loop in self._loops:
            if not loop.is_blocked:
                return loop
        if self.is_full:
            raise NoCapacityError(f"All {LOOPS} event loops for async tools are blocked by calls that never await.")
        self._loops.append(_Loop(self._threads))
        return self._loops[-1]


class _Loop:
    """One loop and its thread."""

    def __init__(self, threads: ToolThreadPool) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(threads)
        self._calls: set[AnyCall] = set()
        self._changing = threading.Lock()
        self._asked: float | None = None
        """Start of the wait for an answer. None means that it has answered."""
        self._is_reported = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="askback tool loop", daemon=True)
        self._thread.start()

    @property
    def is_blocked(self) -> bool:
        asked = self._asked
        return asked is not None and time.monotonic() - asked >= BLOCKED_SECONDS

    @property
    def description(self) -> str:
        tools, where = self._find_blocking_tool()
        return f"{tools} blocks an event loop at {where}"

    def ask(self) -> None:
        """Ask for an answer, unless the last one is still missing."""
        if self._asked is None:
            self._asked = time.monotonic()
            self._loop.call_soon_threadsafe(self._return_answer)

    def _return_answer(self) -> None:
        self._asked = None
        self._is_reported = False

    def put(self, call: AnyCall) -> None:
        with self._changing:
            self._calls.add(call)
        self._loop.call_soon_threadsafe(self._begin, call)

    def _begin(self, call: AnyCall) -> None:
        if not call.begin(self._drop):
            self._drop(call)

    def _drop(self, call: AnyCall) -> None:
        with self._changing:
            self._calls.discard(call)

    def take_waiting(self) -> list[AnyCall]:
        """Remove and return the calls that have not begun, so that they can begin in another loop."""
        with self._changing:
            waiting = [call for call in self._calls if not call.is_begun]
            self._calls.difference_update(waiting)
        return waiting

    def report(self) -> None:
        """Log that the loop is blocked, once each time."""
        if self._is_reported:
            return
        self._is_reported = True
        tools, where = self._find_blocking_tool()
        log.error(
            "The tool %s blocks its event loop at %s, so other async tools move to another loop. "
            "Use await for slow work there, or make the tool a plain def.",
            tools,
            where,
            extra={"action": "tool_blocks", "tool": tools},
        )

    def _find_blocking_tool(self) -> tuple[str, str]:
        """Return the tool that runs now, and its current line. If no frame is a tool's, name all that have begun."""
        frame: FrameType | None = sys._current_frames().get(self._thread.ident or 0)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - documented
        where = "an unknown place" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
        with self._changing:
            begun = [call for call in self._calls if call.is_begun]
        while frame is not None:
            for call in begun:
                if call.code is frame.f_code:
                    return call.tool, f"{frame.f_code.co_filename}:{frame.f_lineno}"
            frame = frame.f_back
        return ", ".join(sorted({call.tool for call in begun})) or "(unknown)", where

    async def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._ended.wait, 2 * END_SECONDS)

    def _run(self) -> None:
        left: set[asyncio.Task[object]] = set()
        try:
            asyncio.set_event_loop(self._loop)
            self._loop.run_forever()
            if left := asyncio.all_tasks(self._loop):
                for task in left:
                    task.cancel()
                _, left = self._loop.run_until_complete(asyncio.wait(left, timeout=END_SECONDS))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            if left:
                # Some coroutine ignores cancellation. Keep it until the process has ended. An interpreter that shuts
                # down closes unreferenced coroutines, and one that catches even that would hang the shutdown.
                self._ended.set()
                threading.Event().wait()
            self._loop.close()
            self._ended.set()
