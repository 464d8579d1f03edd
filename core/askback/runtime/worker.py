"""Does the work of this process: deliver messages and cards, handle deadlines, and run the agent's turns."""

from __future__ import annotations

__all__ = ["Worker"]

import asyncio
import logging
from collections.abc import Mapping
from datetime import timedelta

from askback.manager import QuestionManager
from askback.ports.platform import Platform
from askback.runtime.delivery_retries import FIRST_PAUSE, GIVE_UP, DeliveryRetries
from askback.runtime.maintenance import Maintenance
from askback.runtime.outbox_worker import OutboxWorker
from askback.runtime.periodic import LOOK_AGAIN, STORE_PAUSE, repeat
from askback.runtime.turns import TurnScheduler
from askback.store.errors import StoreError
from askback.store.store import Store
from askback.store.transaction_events import CommitUncertain, Event, TurnRequested, WorkEnqueued

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
    ) -> None:
        """`alone` means that no other process works on this store, so a process that has ended took every lease.

        `look_again`: longest sleep in seconds. `give_up` and `first_pause`: see `DeliveryRetries`. `retention`: how
        long inactive conversations are kept; None means permanently.
        """
        self._store = store
        self._manager = manager
        self._turns = turns
        self._alone = alone
        self._look_again = look_again
        self._deadlines = asyncio.Event()
        retries = DeliveryRetries(store, manager, give_up=give_up, first_pause=first_pause)
        self._outbox = OutboxWorker(store, manager, platforms, retries, look_again)
        self._maintenance = Maintenance(store, self.wake, retention)
        self._has_doubts = False
        """True if it is unknown for some commit if it succeeded."""
        store.subscribe(self._on_event)

    def wake(self) -> None:
        """Note that a conversation may have something to do, or that there is something to show."""
        if self._turns is not None:
            self._turns.wake()
        self._outbox.wake()
        self._deadlines.set()

    def _on_event(self, event: Event) -> None:
        match event:
            case WorkEnqueued():
                self._outbox.wake()
                self._deadlines.set()
            case CommitUncertain():
                self._has_doubts = True
                self._deadlines.set()
            case TurnRequested() if self._turns is not None:
                self._turns.wake()
            case _:
                pass

    async def run(self) -> None:
        """Work until cancelled. If `alone`, free the leases of the previous process first."""
        if self._alone:
            await self._end_all_leases()
        deadlines = repeat("deadlines", self._deadlines, self._apply_deadlines, self._look_again)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._outbox.run(), name="askback outbox")
            tasks.create_task(deadlines, name="askback deadlines")
            tasks.create_task(self._maintenance.run(), name="askback maintenance")
            if self._turns is not None:
                tasks.create_task(self._turns.run(), name="askback turns")

    async def finish(self, seconds: float) -> None:
        """Wait while `run` continues until nothing is due for delivery, up to `seconds`."""
        await self._outbox.finish(seconds)

    async def rest(self, seconds: float) -> None:
        """Begin no further turn of the agent while `run` continues, and wait up to `seconds` for the running ones.

        A slower turn is cancelled together with `run`, and taken again later.
        """
        if self._turns is not None:
            await self._turns.rest(seconds)

    async def _end_all_leases(self) -> None:
        while True:
            try:
                return await self._store.end_all_leases()
            except StoreError as error:
                log.error(
                    "The outbox could not be taken over; trying again: %s", error, extra={"action": "store_failed"}
                )
                await asyncio.sleep(STORE_PAUSE)

    async def _apply_deadlines(self) -> timedelta | None:
        if self._has_doubts:
            await self._manager.resolve_doubts()
            self._has_doubts = False
            self.wake()  # no event told of the work that was committed
        while due := await self._store.list_due():
            for ask_id in due:
                await self._manager.deadlines.apply(ask_id)
        return await self._store.get_time_until_ask_due(timedelta(seconds=self._look_again))
