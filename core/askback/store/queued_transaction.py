"""A transaction on its way to the thread that runs it, and back to its caller."""

from __future__ import annotations

__all__ = ["AnyJob", "Job", "JobState", "Queue", "call", "settle"]

import asyncio
import contextlib
import enum
import logging
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar

from sqlalchemy import Connection, MappingResult, Result, ScalarResult

from askback.store.errors import StoreError

T = TypeVar("T")

log = logging.getLogger("askback.store")

# These are bound to the thread of their connection.
_BOUND = (Connection, Result, ScalarResult, MappingResult)


class JobState(enum.Enum):
    WAITING = enum.auto()  # queued, so it can still be rejected with certainty
    RUNNING = enum.auto()  # its statements run or have run, but are not committed
    COMMITTING = enum.auto()  # after the point of no return
    OVER = enum.auto()  # committed or rejected; nothing more happens to it


class Job(Generic[T]):
    """A work with its caller's future. `state` changes only under the lock of its database."""

    __slots__ = ("deadline", "error", "future", "loop", "reads", "result", "state", "work")

    def __init__(
        self,
        work: Callable[[Connection], T],
        loop: asyncio.AbstractEventLoop,
        deadline: float | None = None,
        *,
        reads: bool = False,
    ) -> None:
        """`deadline` is a time on the monotonic clock. `reads` means that the work changes nothing."""
        self.work = work
        self.loop = loop
        self.deadline = deadline
        self.reads = reads
        self.future: asyncio.Future[T] = loop.create_future()
        self.state = JobState.WAITING
        self.result: T | None = None
        self.error: BaseException | None = None


AnyJob: TypeAlias = Job[Any]
Queue: TypeAlias = SimpleQueue[AnyJob | None]


def call(job: AnyJob, connection: Connection) -> None:
    """Run a work, and store its result or error in the job."""
    job.result = job.error = None
    try:
        result = job.work(connection)
        if isinstance(result, _BOUND):
            raise TypeError("A work must return plain values, not objects that belong to its connection.")
        if connection.in_nested_transaction():
            raise RuntimeError("A work must release the savepoints that it creates.")
    except StopIteration as error:
        # A future cannot hold a StopIteration.
        job.error = RuntimeError("A work raised StopIteration.")
        job.error.__cause__ = error
    except BaseException as error:  # noqa: BLE001 - the caller raises it
        job.error = error
    else:
        job.result = result


def settle(jobs: Sequence[AnyJob]) -> None:
    """Resolve the futures of these jobs. Each event loop is woken once for all of its callers."""
    loops: dict[asyncio.AbstractEventLoop, list[AnyJob]] = {}
    for job in jobs:
        loops.setdefault(job.loop, []).append(job)
    for loop, theirs in loops.items():
        # RuntimeError means that the loop is closed, so no caller is left.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_deliver, theirs)


def _deliver(jobs: list[AnyJob]) -> None:
    for job in jobs:
        future = job.future
        if future.done():
            if job.error is None and not future.cancelled() and _is_in_doubt(future.exception()):
                log.warning(
                    "A transaction that was reported as in doubt has been committed after all.",
                    extra={"action": "commit_late"},
                )
        elif job.error is None:
            future.set_result(job.result)
        else:
            future.set_exception(job.error)


def _is_in_doubt(error: BaseException | None) -> bool:
    return isinstance(error, StoreError) and error.in_doubt
