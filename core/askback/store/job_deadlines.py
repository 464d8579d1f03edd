"""Deadlines of queued transactions, watched by one timer for many of them."""

from __future__ import annotations

__all__ = ["JobDeadlines"]

import asyncio
import threading
from typing import TypeAlias

from askback.store.error_mapping import build_timeout_error
from askback.store.queued_transaction import AnyJob, JobState

_Key: TypeAlias = tuple[asyncio.AbstractEventLoop, float]


class JobDeadlines:
    """Raises `StoreBusy` for the callers of transactions that are not committed in time.

    The caller's event loop calls its methods. A timer for each transaction would take longer than the transaction's
    whole bookkeeping, so transactions that may take equally long share one: the first of them expires first.
    """

    def __init__(self, lock: threading.Lock) -> None:
        """`lock` is the lock of the database, which protects the states of its jobs."""
        self._lock = lock
        self._watched: dict[_Key, dict[AnyJob, None]] = {}

    def watch(self, job: AnyJob, within: float) -> None:
        """Expire a job after `within` seconds, unless it ends before. That time is the job's `deadline`."""
        key = job.loop, within
        jobs = self._watched.get(key)
        if jobs is None:
            jobs = self._watched[key] = {}
            job.loop.call_later(within, self._expire_late, key)
        jobs[job] = None

    def forget(self, job: AnyJob, within: float) -> None:
        """Stop watching a job, whose caller waits no longer."""
        jobs = self._watched.get((job.loop, within))
        if jobs is not None:
            jobs.pop(job, None)

    def _expire_late(self, key: _Key) -> None:
        loop = key[0]
        jobs = self._watched[key]
        now = loop.time()
        for job in [*jobs]:
            left = (job.deadline or now) - now
            if left > 0:
                loop.call_later(left, self._expire_late, key)
                return
            del jobs[job]
            self._expire(job)
        del self._watched[key]

    def _expire(self, job: AnyJob) -> None:
        with self._lock:
            state = job.state
            if state in (JobState.WAITING, JobState.RUNNING):
                job.state = JobState.OVER
        if state is not JobState.OVER and not job.future.done():
            job.future.set_exception(build_timeout_error(in_doubt=state is JobState.COMMITTING))
