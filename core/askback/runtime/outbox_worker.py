"""Takes due items from the outbox and delivers them, each in its own task."""

from __future__ import annotations

__all__ = ["OutboxWorker"]

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta

from askback.inbound.card_recovery import CardGone, CardRecovery
from askback.internal.clock import utc_now
from askback.manager import QuestionManager
from askback.observability import telemetry
from askback.ports.platform import DeliveryError, MessageNotFound, Platform, RetryableError
from askback.runtime.circuit_breaker import CircuitBreaker
from askback.runtime.delivery import CardHidden, Delivery
from askback.runtime.delivery_retries import DeliveryRetries
from askback.runtime.periodic import repeat
from askback.store.errors import StoreError
from askback.store.leases import keep_lease
from askback.store.queries.outbox_leases import OutboxItem
from askback.store.store import Store
from askback.store.unreadable_rows import UnreadableRow

log = logging.getLogger("askback.worker")

LOOK_PAUSE = 600.0
"""Seconds between two searches for a card that may exist in a channel that the bot may not read."""


class OutboxWorker:
    """Delivers what is due, as many at once as each platform's circuit breaker allows."""

    def __init__(
        self,
        store: Store,
        manager: QuestionManager,
        platforms: Mapping[str, Platform],
        retries: DeliveryRetries,
        look_again: float,
    ) -> None:
        """`look_again` is the longest sleep in seconds."""
        self._store = store
        self._platforms = platforms
        self._delivery = Delivery(store, manager, platforms)
        self._retries = retries
        self._cards = CardRecovery(store, manager, platforms)
        self._look_again = look_again
        self._wakeup = asyncio.Event()
        self._idle = asyncio.Event()
        self._running: dict[str, bool] = {}
        """Running deliveries by target; True if the target must be delivered again afterwards."""
        self._in_flight: Counter[str] = Counter()
        """Number of running deliveries on each platform."""
        self._ended: dict[str, asyncio.Event] = {}
        """Set when a delivery to a platform ends, for those that wait for that."""
        self._breakers: dict[str, CircuitBreaker] = {}

    def wake(self) -> None:
        """Check the outbox now."""
        self._wakeup.set()

    async def run(self) -> None:
        """Deliver until cancelled. A slow delivery delays no other."""
        async with asyncio.TaskGroup() as tasks:

            async def start_due() -> timedelta | None:
                idle, pauses = self._idle, [await self._start_due(name, tasks) for name in tuple(self._platforms)]
                if not self._running:
                    idle.set()
                return min((pause for pause in pauses if pause is not None), default=None)

            await repeat("outbox", self._wakeup, start_due, self._look_again)

    async def finish(self, seconds: float) -> None:
        """Wait up to `seconds` until nothing is due for delivery. `run` must continue meanwhile.

        Items that fail, or are due later, stay in the outbox for the next start.
        """
        # Use a new event: a check of the outbox that already runs began too early to count.
        idle = self._idle = asyncio.Event()
        self._wakeup.set()
        try:
            async with asyncio.timeout(seconds):
                await idle.wait()
        except TimeoutError:
            log.warning(
                "Shut down before all deliveries were done. The next start delivers the rest.",
                extra={"action": "outbox_left"},
            )

    async def finish_deliveries(self, platform: str, seconds: float) -> None:
        """Wait up to `seconds` until no delivery to a platform runs. New ones may begin nevertheless."""
        ended = self._ended.setdefault(platform, asyncio.Event())
        try:
            async with asyncio.timeout(seconds):
                while self._in_flight[platform]:
                    ended.clear()
                    await ended.wait()
        except TimeoutError:
            log.debug("A delivery to %s has not ended in time.", platform)

    async def _start_due(self, platform: str, tasks: asyncio.TaskGroup) -> timedelta | None:
        """Start the deliveries that are due on one platform.

        Return the time until the next check. None means to check again when a delivery ends.
        """
        breaker = self._get_breaker(platform)
        while free := breaker.count_free(self._in_flight[platform]):
            taken_at = asyncio.get_running_loop().time()
            items = await self._store.lease(free, platform)
            if not items:
                return await self._store.get_time_until_due(platform)
            for item in items:
                if item.target in self._running:
                    self._running[item.target] = True
                else:
                    self._running[item.target] = False
                    self._in_flight[platform] += 1
                    run = self._run_delivery(item, platform, taken_at)
                    tasks.create_task(run, name=f"askback deliver {item.target}")
        return timedelta(seconds=breaker.get_seconds_to_probe()) if breaker.is_open else None

    def _get_breaker(self, platform: str) -> CircuitBreaker:
        return self._breakers.setdefault(platform, CircuitBreaker(platform))

    async def _run_delivery(self, item: OutboxItem, platform: str, taken_at: float) -> None:
        """Deliver an item under its lease, which was taken at `taken_at`, a time of the running loop."""
        try:
            try:
                async with keep_lease(self._store, item.target, taken_at):
                    await self._deliver(item, platform)
            finally:
                self._in_flight[platform] -= 1
                if (ended := self._ended.get(platform)) is not None:
                    ended.set()
                again = self._running.pop(item.target)
            if again:
                # The target changed, or its lease ran out, during the delivery. No one holds the lease now.
                await self._store.release_lease(item.target)
        except UnreadableRow as unreadable:
            await self._skip_unreadable(item, unreadable)
        except StoreError as error:
            # The item is delivered again when the lease runs out. The name of a posted message finds it again.
            log.error(
                "Could not record a delivery; it is checked and repeated when its lease expires: %s",
                error,
                extra={"action": "store_failed", "target": item.target},
            )
        finally:
            self._wakeup.set()

    async def _skip_unreadable(self, item: OutboxItem, unreadable: UnreadableRow) -> None:
        try:
            await self._store.skip_unreadable(item, unreadable)
        except StoreError as error:
            log.error(
                "Could not release an item that only a newer askback can read: %s",
                error,
                extra={"action": "store_failed"},
            )

    async def _deliver(self, item: OutboxItem, platform: str) -> None:
        try:
            is_called = await self._delivery.deliver(item)
            telemetry.record_delivery(item.kind, item.first_failed_at or item.due_at, utc_now())
            self._retries.forget(item)
            if is_called:
                await self._close_circuit(platform, after_failure=item.first_failed_at is not None)
        except RetryableError as later:
            if later.seconds is None:
                self._get_breaker(platform).record_failure(str(later))
            else:
                await self._close_circuit(platform)
            await self._retries.retry(item, str(later), later.seconds)
        except CardHidden as hidden:
            await self._close_circuit(platform)
            await self._retries.retry(item, str(hidden), None, LOOK_PAUSE)
        except CardGone as gone:
            await self._close_circuit(platform)
            if not await self._cards.repost_missing(gone.ask):
                await self._retries.give_up(item, str(gone))
        except (DeliveryError, MessageNotFound) as rejection:
            await self._close_circuit(platform)
            await self._retries.give_up(item, str(rejection))
        except StoreError:
            raise
        except Exception as error:
            log.exception("A bug made a delivery fail.", extra={"action": "delivery_failed", "target": item.target})
            # Report only the error's type, since its text may quote the item.
            await self._retries.handle_fault(item, f"there is a bug in askback ({type(error).__name__}).")

    async def _close_circuit(self, platform: str, *, after_failure: bool = False) -> None:
        """Note that the platform answered. Deliveries that failed while it was down become due at once."""
        if self._get_breaker(platform).record_success(after_failure=after_failure):
            await self._store.retry_failed_now(platform)
