"""Hands transactions to the threads that run them."""

from __future__ import annotations

__all__ = ["JobQueue"]

import threading
from collections import deque
from queue import SimpleQueue

from askback.store.queued_transaction import AnyJob, Queue


class JobQueue:
    """Gives each job to the thread that became idle last, so that a quiet process needs few connections.

    A connection is opened for a thread's first job, and its first statements take longer than all later ones. Jobs
    that find no idle thread wait, and run in the order in which they came.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[AnyJob] = deque()
        self._idle: list[Queue] = []
        self._ended = False

    def join(self) -> Queue:
        """Return the queue from which a new thread takes its jobs. None in it means that the thread must end."""
        own: Queue = SimpleQueue()
        self.free(own)
        return own

    def free(self, own: Queue) -> None:
        """Give the next job to a thread that has finished the last one, now or when there is one."""
        with self._lock:
            if self._waiting:
                own.put(self._waiting.popleft())
            elif self._ended:
                own.put(None)
            else:
                self._idle.append(own)

    def put(self, job: AnyJob) -> None:
        with self._lock:
            if self._idle:
                self._idle.pop().put(job)
            else:
                self._waiting.append(job)

    def end(self) -> None:
        """Let each thread end once no job waits."""
        with self._lock:
            self._ended = True
            for own in self._idle:
                own.put(None)
            self._idle.clear()

    def clear(self) -> tuple[AnyJob, ...]:
        """Return the jobs that no thread has taken, and forget them."""
        with self._lock:
            left = tuple(self._waiting)
            self._waiting.clear()
        return left
