"""Does the work of this process: delivers messages and cards, applies deadlines, and runs the agent's turns."""

from __future__ import annotations

__all__ = ["Worker"]

import asyncio
import logging
from collections.abc import Mapping
from datetime import timedelta

from askback.manager import QuestionManager
from askback.ports.files import FileReader
from askback.ports.platform import Platform
from askback.runtime.delivery_retries import FIRST_PAUSE, GIVE_UP, DeliveryRetries
from askback.runtime.file_worker import FileWorker
from askback.runtime.maintenance import Maintenance
from askback.runtime.outbox_worker import OutboxWorker
from askback.runtime.periodic import LOOK_AGAIN, STORE_PAUSE, repeat
from askback.runtime.turns import TurnScheduler
from askback.store.errors import StoreError
from askback.store.store import Store
from askback.store.transaction_events import (
    CommitUncertain,
    DeadlineChanged,
    Event,
    FilesAttached,
    TurnRequested,
    WorkEnqueued,
)

log = logging.getLogger("askback.worker")


class Worker:
    """The worker of this process; `run` owns all its tasks."""

    def __init__(
        self,
        store: Store,
        manager: QuestionManager,
        platforms: Mapping[str, Platform],
        turns: TurnScheduler | None = None,
        *,
        alone: bool = True,
        look_again: float = LOOK_AGAIN,
        give_up: timedelta = GIVE_UP,
        first_pause: float = FIRST_PAUSE,
        retention: timedelta | None = None,
        readers: Mapping[str, FileReader] | None = None,
    ) -> None:
        """`alone` means that no other process works on this store, so that only dead processes can hold leases.

        `look_again` is the maximum sleep in seconds. `DeliveryRetries` explains `give_up` and `first_pause`.
        `retention` is the time for which inactive conversations are kept; None means permanently. `readers` read the
        files of messages, by platform.
        """
        self._store = store
        self._manager = manager
        self._turns = turns
        self._platforms = platforms  # the bots add theirs when they connect
        self._alone = alone
        self._look_again = look_again
        self._deadlines = asyncio.Event()
        retries = DeliveryRetries(store, manager, give_up=give_up, first_pause=first_pause)
        self._outbox = OutboxWorker(store, manager, platforms, retries, look_again)
        self._files = FileWorker(store, manager, {} if readers is None else readers, look_again)
        self._maintenance = Maintenance(store, self.wake, retention)
        self._has_doubts = False
        """True if some commit is in doubt."""
        store.subscribe(self._on_event)

    def wake(self) -> None:
        """Note that a conversation may have something to do, or that there is something to show."""
        if self._turns is not None:
            self._turns.wake()
        self._outbox.wake()
        self._files.wake()
        self._deadlines.set()

    def _on_event(self, event: Event) -> None:
        match event:
            case WorkEnqueued():
                self._outbox.wake()
            case FilesAttached():
                self._files.wake()
            case DeadlineChanged():
                self._deadlines.set()
            case CommitUncertain():
                self._has_doubts = True
                self._deadlines.set()
            case TurnRequested() if self._turns is not None:
                is_known = event.is_settled and event.platform in self._platforms
                self._turns.wake(event.conversation_id if is_known else None)
            case _:
                pass

    async def run(self) -> None:
        """Work until cancelled. If `alone`, free the leases of the previous process first."""
        if self._alone:
            await self._end_all_leases()
        deadlines = repeat("deadlines", self._deadlines, self._apply_deadlines, self._look_again)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._outbox.run(), name="askback outbox")
            tasks.create_task(self._files.run(), name="askback files")
            tasks.create_task(deadlines, name="askback deadlines")
            tasks.create_task(self._maintenance.run(), name="askback maintenance")
            if self._turns is not None:
                tasks.create_task(self._turns.run(), name="askback turns")

    async def finish(self, seconds: float) -> None:
        """Wait up to `seconds` until nothing is due for delivery. `run` must continue meanwhile."""
        await self._outbox.finish(seconds)

    async def finish_deliveries(self, platform: str, seconds: float) -> None:
        """Wait up to `seconds` until no delivery to a platform runs."""
        await self._outbox.finish_deliveries(platform, seconds)

    async def drain_turns(self, seconds: float) -> None:
        """Stop beginning turns, and wait up to `seconds` for the running ones. `run` must continue meanwhile.

        The end of `run` cancels a slower turn, which is repeated later.
        """
        if self._turns is not None:
            await self._turns.drain_turns(seconds)

    async def _end_all_leases(self) -> None:
        while True:
            try:
                await self._store.end_all_leases()
                return await self._store.end_all_file_leases()
            except StoreError as error:
                log.error(
                    "Could not release the leases of the previous process; trying again: %s",
                    error,
                    extra={"action": "store_failed"},
                )
                await asyncio.sleep(STORE_PAUSE)

    async def _apply_deadlines(self) -> timedelta | None:
        if self._has_doubts:
            await self._manager.resolve_doubts()
            self._has_doubts = False
            self.wake()  # there was no event for the committed work
        while due := await self._store.list_due():
            for ask_id in due:
                await self._manager.deadlines.apply(ask_id)
        return await self._store.get_time_until_ask_due(timedelta(seconds=self._look_again))
