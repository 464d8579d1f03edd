"""What an agent does at this moment, conversation by conversation, so that a stop can end it.

A stop is a commit; what runs is only told of it. Whatever a step that was stopped still wants to commit is
refused by the store, so that it does not matter how far it got.
"""

from __future__ import annotations

__all__ = ["Stepping"]

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from askback.store.store import Store


@dataclass(slots=True)
class _Running:
    """One step of one conversation."""

    task: asyncio.Task[bool]
    look: asyncio.Event = field(default_factory=asyncio.Event)


class Stepping:
    """Runs steps, one at a time for each conversation."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._running: dict[str, _Running] = {}

    async def run(self, conversation_id: str, step: Callable[[str], Awaitable[bool]]) -> bool:
        """Take a step to its end. Returns what it returns; True where a stop ended it: the next look decides."""

        async def whole() -> bool:
            return await step(conversation_id)

        before = await self._store.stops(conversation_id)
        running = _Running(asyncio.create_task(whole(), name=f"askback step {conversation_id}"))
        self._running[conversation_id] = running
        try:
            while not await self._ended(running):
                if await self._store.stops(conversation_id) != before:
                    running.task.cancel()
                    await asyncio.wait({running.task})
        finally:
            del self._running[conversation_id]
            if not running.task.done():
                running.task.cancel()
                await asyncio.gather(running.task, return_exceptions=True)
        return True if running.task.cancelled() else running.task.result()

    async def _ended(self, running: _Running) -> bool:
        """Wait for the end of the step, or until somebody says that there may have been a stop."""
        looking = asyncio.create_task(running.look.wait(), name="askback look for a stop")
        try:
            await asyncio.wait({running.task, looking}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
        running.look.clear()
        return running.task.done()

    def recheck(self, conversation_id: str | None = None) -> None:
        """There may have been a stop, here or in another process: whoever runs, there or anywhere, looks for it."""
        for running_id, running in self._running.items():
            if conversation_id in (None, running_id):
                running.look.set()
