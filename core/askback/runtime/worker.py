"""Do the work of this process: deliver messages and cards, handle deadlines, and run the agent's turns."""

from __future__ import annotations

__all__ = ["Worker"]

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

from askback.domain.ask import Ask
from askback.errors import AskbackError
from askback.inbound.card_recovery import CardGone, CardRecovery
from askback.internal import clock
from askback.internal.clock import utc_now
from askback.manager import QuestionManager
from askback.observability import telemetry
from askback.ports.platform import DeliveryError, MessageNotFound, Messages, Platform, RetryableError
from askback.runtime.circuit_breaker import CircuitBreaker
from askback.runtime.turns import LOOK_AGAIN, TurnScheduler, sleep
from askback.store.errors import StoreError
from askback.store.events import AskUncertain, Event, TurnRequested, WorkEnqueued
from askback.store.leases import keep_lease
from askback.store.store import Store
from askback.store.tables.outbox import LONGEST_PAUSE, OutboxItem
from askback.store.tables.retention import PruneCounts
from askback.store.unreadable_rows import UnreadableRow

log = logging.getLogger("askback.worker")

GIVE_UP = timedelta(seconds=60)
"""Time limit for something new that a fault in askback keeps from being shown: waiting does not fix a fault."""
KEEP_FOR = timedelta(hours=24)
"""Time limit for a delivery that the platform fails to accept. The card of an open question has no such limit."""
FIRST_PAUSE = 1.0
LOOK_PAUSE = 600.0
"""Seconds between two searches for a card that may exist in a channel that the bot may not read."""
TOLD_A_MINUTE = 6
"""Maximum log lines a minute about retried deliveries."""
STORE_PAUSE = 1.0
WATCH_SECONDS = 1.0
"""Seconds between two checks that the wall clock was not set. A smaller deviation is ignored."""
CLOCK_SECONDS = 30.0
"""Seconds between two checks that the clock did not go back."""
PRUNE_SECONDS = 3600.0
PRUNED_AT_ONCE = 20
UNSERVED_SECONDS = 30.0
"""Seconds between two checks for work that no process serves, and the minimum time that it must have waited."""


class _Hidden(AskbackError):
    """Raised if it is unknown for now whether a card exists."""


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

        `look_again`: longest sleep in seconds. `give_up`: time limit for something new that a fault in askback keeps
        from being shown. `first_pause`: seconds before the first retry. `retention`: how long inactive conversations
        are kept; None means permanently.
        """
        self._retention = retention
        self._give_up = give_up
        self._first_pause = first_pause
        self._store = store
        self._manager = manager
        self._platforms = platforms
        self._cards = CardRecovery(store, manager, platforms)
        self._turns = turns
        self._alone = alone
        self._look_again = look_again
        self._outbox = asyncio.Event()
        self._deadlines = asyncio.Event()
        self._idle = asyncio.Event()
        self._delivering: dict[str, bool] = {}
        """Running deliveries by target; True if the target must be delivered again afterwards."""
        self._in_flight: Counter[str] = Counter()
        """Number of running deliveries on each platform."""
        self._breakers: dict[str, CircuitBreaker] = {}
        self._failing: dict[str, float] = {}
        """Start of the time during which the platform fails to accept a target; monotonic."""
        self._faulty: dict[str, float] = {}
        """Start of the time during which a fault in askback keeps a target from being shown; monotonic."""
        self._told: deque[float] = deque(maxlen=TOLD_A_MINUTE)
        """Times of the last log lines about retries."""
        store.subscribe(self._on_event)

    def wake(self) -> None:
        """Note that a conversation may have something to do, or that there is something to show."""
        if self._turns is not None:
            self._turns.wake()
        self._outbox.set()
        self._deadlines.set()

    def _on_event(self, event: Event) -> None:
        match event:
            case WorkEnqueued() | AskUncertain():
                self._outbox.set()
                self._deadlines.set()
            case TurnRequested() if self._turns is not None:
                self._turns.wake()
            case _:
                pass

    async def run(self) -> None:
        """Work until cancelled. If `alone`, free the leases of the previous process first."""
        if self._alone:
            await self._take_over()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._deliver_forever(), name="askback outbox")
            tasks.create_task(self._forever("deadlines", self._deadlines, self._attend_due), name="askback deadlines")
            tasks.create_task(self._keep_time(), name="askback clock")
            tasks.create_task(self._watch_clock(), name="askback watch")
            if self._retention is not None:
                tasks.create_task(self._prune_forever(self._retention), name="askback retention")
            tasks.create_task(self._tell_unserved_forever(), name="askback unserved")
            if self._turns is not None:
                tasks.create_task(self._turns.run(), name="askback turns")

    async def finish(self, seconds: float) -> None:
        """Wait while `run` continues until nothing is due for delivery, up to `seconds`.

        Anything that could not be shown, or is due later, stays in the outbox for the next start.
        """
        # Use a new event: a check of the outbox that already runs began too early to count.
        idle = self._idle = asyncio.Event()
        self._outbox.set()
        try:
            async with asyncio.timeout(seconds):
                await idle.wait()
        except TimeoutError:
            log.warning("Something was not shown before the end.", extra={"action": "outbox_left"})

    async def rest(self, seconds: float) -> None:
        """Begin no further turn of the agent while `run` continues, and wait up to `seconds` for the running ones.

        A slower turn is cancelled together with `run`, and taken again later.
        """
        if self._turns is not None:
            await self._turns.rest(seconds)

    async def _take_over(self) -> None:
        while True:
            try:
                return await self._store.end_all_leases()
            except StoreError:
                log.exception("The outbox could not be taken over; trying again.", extra={"action": "store_failed"})
                await asyncio.sleep(STORE_PAUSE)

    async def _forever(self, what: str, nudged: asyncio.Event, work: Callable[[], Awaitable[timedelta | None]]) -> None:
        """Do the work, then sleep for as long as it returned, or until a nudge."""
        while True:
            nudged.clear()
            try:
                pause = await work()
            except StoreError:
                log.exception("The %s could not be read; trying again.", what, extra={"action": "store_failed"})
                pause = timedelta(seconds=STORE_PAUSE)
            await sleep(nudged, pause, self._look_again)

    # Deadlines

    async def _attend_due(self) -> timedelta | None:
        await self._manager.resolve_doubts()
        while due := await self._store.list_due():
            for ask_id in due:
                await self._manager.deadlines.apply(ask_id)
        return await self._store.time_until_ask_due(timedelta(seconds=self._look_again))

    # The clock

    async def _watch_clock(self) -> None:
        """Wake the outbox and the deadlines when the wall clock was set or the machine has slept."""
        while True:
            began, wall = time.monotonic(), utc_now()
            await asyncio.sleep(WATCH_SECONDS)
            passed = time.monotonic() - began
            if abs((utc_now() - wall).total_seconds() - passed) > WATCH_SECONDS:
                self.wake()

    async def _keep_time(self) -> None:
        """Make postponed deliveries due when the store's clock went back, instead of waiting until it has caught up."""
        while True:
            try:
                count = await self._store.repair_due_times()
            except StoreError:
                log.exception("The outbox could not be looked through.", extra={"action": "store_failed"})
            else:
                if count:
                    log.warning(
                        "The clock went back: %d deliveries that waited for a time far off are made "
                        "now. Deadlines go by the clock as it is.",
                        count,
                        extra={"action": "clock_back", "count": count},
                    )
            await asyncio.sleep(CLOCK_SECONDS)

    # Platforms that no process serves

    async def _tell_unserved_forever(self) -> None:
        """Warn about each platform with waiting work that no process serves, once each time that this begins."""
        told: frozenset[str] = frozenset()
        while True:
            await asyncio.sleep(UNSERVED_SECONDS)
            try:
                unserved = await self._store.unserved(timedelta(seconds=UNSERVED_SECONDS))
            except StoreError:
                log.exception("Could not check for unserved work.", extra={"action": "store_failed"})
                continue
            for platform in sorted(unserved - told):
                log.warning(
                    "Something on %s waits, and no process that serves it works on this database: start `askback %s`, "
                    "or `askback run`, which runs every bot that has a token.",
                    platform,
                    platform,
                    extra={"action": "unserved", "platform": platform},
                )
            told = unserved

    # Retention

    async def _prune_forever(self, retention: timedelta) -> None:
        while True:
            began, wall = time.monotonic(), utc_now()
            try:
                before, count = utc_now() - retention, 0
                # Delete a few at a time: clicks wait for these commits.
                while (pruned := await self._store.prune(before, PRUNED_AT_ONCE)) != PruneCounts():
                    count += pruned.conversations
                    await asyncio.sleep(0)
                if count:
                    log.info("Old conversations were deleted: %d.", count, extra={"action": "pruned", "count": count})
            except StoreError:
                log.exception("Old conversations could not be deleted; trying again.", extra={"action": "store_failed"})
            await asyncio.sleep(PRUNE_SECONDS)
            while (ahead := (utc_now() - wall).total_seconds() - (time.monotonic() - began)) > PRUNE_SECONDS:
                # Deleted data does not come back when the clock is set back.
                log.warning(
                    "The clock of this machine went ahead by %.0f s: nothing is deleted for an hour.",
                    ahead,
                    extra={"action": "clock_ahead", "seconds": round(ahead)},
                )
                began, wall = time.monotonic(), utc_now()
                await asyncio.sleep(PRUNE_SECONDS)

    # Deliveries

    async def _deliver_forever(self) -> None:
        """Deliver until cancelled, each delivery in its own task: a slow one delays no other."""
        async with asyncio.TaskGroup() as tasks:

            async def begin_due() -> timedelta | None:
                idle, pauses = self._idle, [await self._begin_on(name, tasks) for name in tuple(self._platforms)]
                if not self._delivering:
                    idle.set()
                return min((pause for pause in pauses if pause is not None), default=None)

            await self._forever("outbox", self._outbox, begin_due)

    async def _begin_on(self, platform: str, tasks: asyncio.TaskGroup) -> timedelta | None:
        """Start the deliveries that are due on one platform.

        Return the time until the next check. None means to check again when a delivery ends.
        """
        breaker = self._breaker(platform)
        while free := breaker.room(self._in_flight[platform]):
            taken_at = asyncio.get_running_loop().time()
            items = await self._store.lease(free, platform)
            if not items:
                return await self._store.time_until_due(platform)
            for item in items:
                if item.target in self._delivering:
                    self._delivering[item.target] = True
                else:
                    self._delivering[item.target] = False
                    self._in_flight[platform] += 1
                    delivery = self._deliver_one(item, platform, taken_at)
                    tasks.create_task(delivery, name=f"askback deliver {item.target}")
        return timedelta(seconds=breaker.seconds_to_probe()) if breaker.is_open else None

    def _breaker(self, platform: str) -> CircuitBreaker:
        return self._breakers.setdefault(platform, CircuitBreaker(platform))

    async def _deliver_one(self, item: OutboxItem, platform: str, taken_at: float) -> None:
        try:
            try:
                async with keep_lease(self._store, item.target, taken_at):
                    await self._deliver(item, platform)
            finally:
                self._in_flight[platform] -= 1
                again = self._delivering.pop(item.target)
            if again:
                # The target changed, or its lease ran out, during the delivery. No one holds the lease now.
                await self._store.release_lease(item.target)
        except UnreadableRow as error:
            await self._leave(item, error)
        except StoreError:
            # The item is delivered again when the lease runs out. The name of a posted message finds it again.
            log.exception("A delivery could not be recorded.", extra={"action": "store_failed", "target": item.target})
        finally:
            self._outbox.set()

    async def _leave(self, item: OutboxItem, error: UnreadableRow) -> None:
        try:
            await self._store.skip_unreadable(item, error)
        except StoreError:
            log.exception("A delivery could not be left to others.", extra={"action": "store_failed"})

    async def _deliver(self, item: OutboxItem, platform: str) -> None:
        try:
            reached = await (self._deliver_card(item) if item.kind == "card" else self._deliver_say(item))
            telemetry.record_delivery(item.kind, item.first_failed_at or item.due_at, utc_now())
            self._forget(item)
            if reached:
                await self._answered(platform)
        except RetryableError as later:
            if later.seconds is None:
                self._breaker(platform).failed(str(later))
            else:
                await self._answered(platform)
            self._faulty.pop(item.target, None)
            await self._later(item, str(later), later.seconds)
        except _Hidden as hidden:
            await self._answered(platform)
            await self._later(item, str(hidden), None, LOOK_PAUSE)
        except DeliveryError as refusal:
            await self._answered(platform)
            await self._refused(item, str(refusal))
        except CardGone as gone:
            await self._answered(platform)
            if not await self._cards.repost_missing(gone.ask):
                await self._refused(item, str(gone))
        except MessageNotFound as gone:
            await self._answered(platform)
            await self._refused(item, str(gone))
        except StoreError:
            raise
        except Exception as error:
            log.exception("A delivery failed.", extra={"action": "delivery_failed", "target": item.target})
            # Report only its type: its text may quote what was to be shown.
            await self._fault(item, f"there was a fault in the bot ({type(error).__name__}).")

    async def _answered(self, platform: str) -> None:
        """Note that the platform answered. Deliveries that failed while it was down become due at once."""
        if self._breaker(platform).answered():
            await self._store.retry_failed_now(platform)

    async def _deliver_card(self, item: OutboxItem) -> bool:
        """Draw a card. Return True if the platform was called."""
        if item.ask_id is None:
            await self._store.delete_item(item)
            return False
        reached = False

        async def paint(ask: Ask) -> Messages:
            nonlocal reached
            platform = self._platforms[ask.place.platform]
            if not ask.messages and item.attempts > 1:
                reached = True
                ask = ask.evolve(messages=await self._find_card(platform, ask, item))
            if not ask.messages and ask.outcome is not None:
                return ()  # settled before anyone saw it
            reached = True
            with telemetry.trace_delivery(ask.trace, ask.place.platform):
                try:
                    return await platform.show(ask)
                except MessageNotFound as gone:
                    raise CardGone(ask, gone) from gone

        await self._manager.cards.draw(item.ask_id, paint, anyway=item.contested)
        # Another process may have drawn it meanwhile. Then only the row remains to be deleted.
        ask = await self._store.get(item.ask_id)
        if ask is None or ask.is_drawn:
            await self._store.delete_item(item)
        return reached

    async def _find_card(self, platform: Platform, ask: Ask, item: OutboxItem) -> Messages:
        """Find the card that an earlier attempt may have posted."""
        try:
            return await platform.find_posted(ask.place, ask.id)
        except (DeliveryError, MessageNotFound) as refusal:
            # The first attempt was refused permanently, and nothing was posted.
            if ask.outcome is not None and item.attempts > 2:
                raise _Hidden(
                    f"A card with live buttons may stand there, and cannot be looked for: {refusal}"
                ) from None
            # Posting twice is better than not posting.
            log.warning("Earlier messages cannot be looked up: %s", refusal, extra={"action": "find_refused"})
            return ()

    async def _deliver_say(self, item: OutboxItem) -> bool:
        """Post or delete a text. Return True if the platform was called."""
        say, conversation_id = item.say, item.conversation_id
        if item.ask_id is not None:
            # The text is about a question. Drop it if the question is settled by now.
            ask = await self._store.get(item.ask_id)
            place = None if ask is None or ask.outcome is not None else ask.place
        else:
            place = None if conversation_id is None else await self._store.get_place(conversation_id)
        if say is None or place is None:
            await self._store.delete_item(item)
            return False
        platform = self._platforms[place.platform]
        if item.attempts > 1:
            try:
                last = None if conversation_id is None else await self._store.get_last_text(conversation_id)
                found = await platform.find_posted(place, say.target, message=say, since=item.tried_at, after=last)
            except (DeliveryError, MessageNotFound) as refusal:
                log.warning("Earlier messages cannot be looked up: %s", refusal, extra={"action": "find_refused"})
                found = ()
            say = say.evolve(messages=max(say.messages, found, key=len))
        try:
            messages = await platform.post(place, say)
        except MessageNotFound:
            messages = await platform.post(place, say.evolve(messages=()))
        if say.offer is not None:
            await self._store.mark_offer_posted(say.offer.id, messages)
        await self._store.delete_item(item, messages)
        return True

    async def _is_open(self, ask_id: str) -> bool:
        ask = await self._store.get(ask_id)
        return ask is not None and ask.outcome is None

    async def _later(self, item: OutboxItem, error: str, seconds: float | None, pause: float | None = None) -> None:
        """Retry a delivery later.

        `seconds` is the platform's Retry-After, which does not count as a failure. None means to use `pause` or
        back-off.
        """
        growing = self._first_pause * 2 ** min(item.attempts - 1, 16)
        after = next(one for one in (seconds, pause, min(growing, LONGEST_PAUSE.total_seconds())) if one is not None)
        if seconds is None:
            now = clock.monotonic()
            if item.first_failed_at is None:
                self._failing.pop(item.target, None)
            since = timedelta(seconds=now - self._failing.setdefault(item.target, now))
            waits = item.kind == "card" and item.ask_id is not None and await self._is_open(item.ask_id)
            if not waits and since + timedelta(seconds=after) > KEEP_FOR:
                await self._refused(item, f"{error} (tried for {int(since.total_seconds())} s)")
                return
        self._tell_later(item, error, after)
        await self._store.retry(item, timedelta(seconds=after), error, failed=seconds is None)

    async def _fault(self, item: OutboxItem, error: str) -> None:
        """Handle a fault in askback: retry what people see already, but soon give up on anything new."""
        now = clock.monotonic()
        since = now - self._faulty.setdefault(item.target, now)
        ask = None if item.ask_id is None else await self._store.get(item.ask_id)
        unseen = ask is None or not ask.messages
        if unseen and since + self._first_pause * 2 ** min(item.attempts - 1, 16) > self._give_up.total_seconds():
            await self._refused(item, f"{error} (tried for {int(since)} s)")
        else:
            await self._later(item, error, None)

    def _tell_later(self, item: OutboxItem, error: str, after: float) -> None:
        """Log a retry, at level DEBUG if too many were logged within a minute."""
        now = clock.monotonic()
        is_quiet = len(self._told) == TOLD_A_MINUTE and now - self._told[0] < 60.0
        if not is_quiet:
            self._told.append(now)
        log.log(
            logging.DEBUG if is_quiet else logging.WARNING,
            "Something could not be shown for now; trying again in %.1f s: %s",
            after,
            error,
            extra={"action": "delivery_later", "target": item.target, "attempts": item.attempts},
        )

    def _forget(self, item: OutboxItem) -> None:
        self._failing.pop(item.target, None)
        self._faulty.pop(item.target, None)

    async def _refused(self, item: OutboxItem, reason: str) -> None:
        self._forget(item)
        log.error("Something cannot be shown: %s", reason, extra={"action": "delivery_refused", "target": item.target})
        if item.kind == "card" and item.ask_id is not None:
            ask = await self._store.get(item.ask_id)
            if ask is not None and not ask.messages:
                await self._manager.cancel(item.ask_id, reason=reason, undeliverable=True)
        await self._store.delete_item(item)
