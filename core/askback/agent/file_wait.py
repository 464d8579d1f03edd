"""Wait until the files of new messages are read, so that the model gets them with the messages."""

from __future__ import annotations

__all__ = ["FileWait"]

import asyncio
import logging

from askback.store.store import Store
from askback.store.transaction_events import Event, FileSettled

log = logging.getLogger("askback.agent")

FILE_SECONDS = 20.0
"""Seconds for which a turn waits for the files of its messages. Then the model reads that they are not there yet."""
LOOK_AGAIN_SECONDS = 0.5
"""Seconds between two looks. Another process may read the files."""


class FileWait:
    """The turns of this process that wait for files."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[str, asyncio.Event] = {}
        """The events of the waiting turns, by conversation."""
        store.subscribe(self._on_event)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, FileSettled) and event.conversation_id in self._waiting:
            self._waiting[event.conversation_id].set()

    async def wait(self, conversation_id: str) -> None:
        """Return once no file of an unread message is still to be read, or after `FILE_SECONDS`. Raises `StoreError`.

        A conversation takes one turn at a time, so no other turn of it waits.
        """
        settled = self._waiting[conversation_id] = asyncio.Event()
        try:
            async with asyncio.timeout(FILE_SECONDS):
                while await self._store.has_pending_files(conversation_id):
                    await self._wait_for(settled)
        except TimeoutError:
            log.info(
                "A turn begins without all files of its messages: they are not read yet.",
                extra={"action": "files_late", "conversation_id": conversation_id},
            )
        finally:
            self._waiting.pop(conversation_id, None)

    async def _wait_for(self, settled: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(LOOK_AGAIN_SECONDS):
                await settled.wait()
        except TimeoutError:
            return
        settled.clear()
