"""Tracks the running step of each conversation, so that a stop can end it.

A stop is a commit. A notification only makes the running step check for it. The store rejects every commit of a stopped
step, so it does not matter how far the step got.
"""

from __future__ import annotations

__all__ = ["CancellableRunner"]

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field

from askback.store.store import Store


@dataclass(slots=True)
class _Running:
    """One running step of one conversation."""

    task: asyncio.Task[bool]
    check_requested: asyncio.Event = field(default_factory=asyncio.Event)
    is_stopped: bool = False


class CancellableRunner:
    """Runs steps, one at a time for each conversation."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._running: dict[str, _Running] = {}

    async def run(self, conversation_id: str, stops: int, step: Coroutine[object, object, bool]) -> bool:
        """Run a step and return its result. If a stop cancels it, return True, so that the caller checks again.

        `stops` is the number of the conversation's stops when the step was read.
        """
        running = _Running(asyncio.create_task(step, name=f"askback step {conversation_id}"))
        self._running[conversation_id] = running
        try:
            while not await self._wait_for_end(running):
                if await self._store.count_stops(conversation_id) != stops:
                    running.is_stopped = True
                    running.task.cancel()
                    await asyncio.wait({running.task})
        finally:
            if not running.task.done():
                running.task.cancel()
                await asyncio.gather(running.task, return_exceptions=True)
            del self._running[conversation_id]
        return True if running.task.cancelled() else running.task.result()

    async def _wait_for_end(self, running: _Running) -> bool:
        """Wait until the step ends or `check_for_stop` reports a possible stop. Return True if the step has ended."""
        looking = asyncio.create_task(running.check_requested.wait(), name="askback check for stop")
        try:
            await asyncio.wait({running.task, looking}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
        running.check_requested.clear()
        return running.task.done()

    def is_stopped(self, conversation_id: str) -> bool:
        """Return True if a stop ended the running step. A step cancelled for another reason is repeated later."""
        running = self._running.get(conversation_id)
        return running is not None and running.is_stopped

    def check_for_stop(self, conversation_id: str | None = None) -> None:
        """Make running steps check whether this or another process stopped them. None means all steps."""
        for running_id, running in self._running.items():
            if conversation_id in (None, running_id):
                running.check_requested.set()
