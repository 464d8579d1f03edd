"""Gets work done in this process: what people are to see, and deadlines; beside it, the agent's turns."""

from __future__ import annotations

__all__ = ["Worker"]

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta

from askback import telemetry
from askback.asks import Ask
from askback.clock import utc_now
from askback.identity import Actor, Place
from askback.manager import QuestionManager
from askback.platform import Gone, Messages, Platform, TryLater, Undeliverable
from askback.serving.turns import LOOK_AGAIN, Turns, sleep
from askback.store.errors import StoreError
from askback.store.outbox import OutboxItem
from askback.store.pruning import Pruned
from askback.store.store import Store

log = logging.getLogger("askback.worker")

AT_ONCE = 16
"""Deliveries in flight at the same time."""
GIVE_UP = timedelta(seconds=60)
"""How long a card or a text that nobody has seen is tried."""
SETTLE_FOR = timedelta(hours=24)
"""How long a card that people look at is tried to be brought up to date."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
STORE_PAUSE = 1.0
WATCH_SECONDS = 1.0
"""How often it is looked whether the wall clock was set; one that is off by no more is let be."""
CLOCK_SECONDS = 30.0
"""How often it is looked whether the clock went back."""
HOLD_SECONDS = 3.0
"""How often whoever shows something says that it still does."""
PRUNE_SECONDS = 3600.0
PRUNED_AT_ONCE = 20
UNSERVED_SECONDS = 30.0
"""How often it is looked whether something waits that nobody serves, and how long it has to have waited."""


class Worker:
    """The worker of this process; `run` owns every task of it."""

    def __init__(
        self,
        store: Store,
        manager: QuestionManager,
        platforms: Mapping[str, Platform],
        turns: Turns | None = None,
        *,
        alone: bool = True,
        look_again: float = LOOK_AGAIN,
        give_up: timedelta = GIVE_UP,
        first_pause: float = FIRST_PAUSE,
        retention: timedelta | None = None,
    ) -> None:
        """`alone`: no other process works on this store, so that whatever is taken was taken by one that ended.

        `look_again`: how many seconds to sleep at most. `give_up`: how long what nobody has seen is tried, at first
        after `first_pause` seconds. `retention`: how long what rests is kept; None: for ever.
        """
        self._retention = retention
        self._give_up = give_up
        self._first_pause = first_pause
        self._store = store
        self._manager = manager
        self._platforms = platforms
        self._turns = turns
        self._alone = alone
        self._look_again = look_again
        self._outbox = asyncio.Event()
        self._deadlines = asyncio.Event()
        self._idle = asyncio.Event()
        self._delivering: dict[str, bool] = {}
        """What is under way, and whether it has to be looked at once more after that."""
        self._failing: dict[str, float] = {}
        """Since when something could not be shown, by a clock that does not jump."""
        manager.on_work(self._nudge)
        manager.members = self._members
        if turns is not None:
            manager.on_settled(lambda _: turns.wake())
            manager.on_heard(turns.wake)

    def wake(self) -> None:
        """A conversation may have something to do, or there is something to show."""
        if self._turns is not None:
            self._turns.wake()
        self._outbox.set()

    def _nudge(self) -> None:
        self._outbox.set()
        self._deadlines.set()

    async def run(self) -> None:
        """Work until cancelled. What a process before this one left is taken up first."""
        if self._alone:
            await self._take_over()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._deliver_forever(), name="askback outbox")
            tasks.create_task(self._forever("deadlines", self._deadlines, self._attend_due), name="askback deadlines")
            tasks.create_task(self._keep_time(), name="askback clock")
            tasks.create_task(self._watch_clock(), name="askback watch")
            if self._retention is not None:
                tasks.create_task(self._prune_forever(self._retention), name="askback retention")
            tasks.create_task(self._hold_forever(), name="askback leases")
            tasks.create_task(self._tell_unserved_forever(), name="askback unserved")
            if self._turns is not None:
                tasks.create_task(self._turns.run(), name="askback turns")

    async def finish(self, seconds: float) -> None:
        """While `run` goes on: wait until nothing is to be shown now, so many seconds at most.

        What could not be shown, or is to be shown later, stays in the outbox for the next start.
        """
        # A new one: a look at the outbox that is under way began too early to count.
        idle = self._idle = asyncio.Event()
        self._outbox.set()
        try:
            async with asyncio.timeout(seconds):
                await idle.wait()
        except TimeoutError:
            log.warning("Something was not shown before the end.", extra={"action": "outbox_left"})

    async def rest(self, seconds: float) -> None:
        """While `run` goes on: begin no further turn of the agent, and wait for those under way, so many seconds.

        One that takes longer is broken off with `run`, and taken again.
        """
        if self._turns is not None:
            await self._turns.rest(seconds)

    async def _take_over(self) -> None:
        while True:
            try:
                return await self._store.free_leases()
            except StoreError:
                log.exception("The outbox could not be taken over; trying again.", extra={"action": "store_failed"})
                await asyncio.sleep(STORE_PAUSE)

    async def _forever(self, what: str, nudged: asyncio.Event, work: Callable[[], Awaitable[datetime | None]]) -> None:
        """Do the work, then sleep until the moment that it names, or a nudge."""
        while True:
            nudged.clear()
            try:
                until = await work()
            except StoreError:
                log.exception("The %s could not be read; trying again.", what, extra={"action": "store_failed"})
                until = utc_now() + timedelta(seconds=STORE_PAUSE)
            await sleep(nudged, until, self._look_again)

    # Deadlines

    async def _attend_due(self) -> datetime | None:
        await self._manager.resolve_doubts()
        while due := await self._store.due(utc_now()):
            for ask_id in due:
                await self._manager.attend(ask_id)
        return await self._store.next_moment(utc_now() + timedelta(seconds=self._look_again))

    async def _members(self, place: Place, groups: tuple[str, ...]) -> Mapping[str, tuple[Actor, ...]]:
        platform = self._platforms.get(place.platform)
        return {} if platform is None else await platform.members(place, groups)

    # The clock

    async def _watch_clock(self) -> None:
        """When the wall clock is set, or the machine has slept, whatever waits for a moment looks again."""
        while True:
            began, wall = time.monotonic(), utc_now()
            await asyncio.sleep(WATCH_SECONDS)
            passed = time.monotonic() - began
            if abs((utc_now() - wall).total_seconds() - passed) > WATCH_SECONDS:
                self._nudge()

    async def _keep_time(self) -> None:
        """When the wall clock goes back, nothing waits in the outbox until it has caught up."""
        while True:
            try:
                count = await self._store.set_right()
            except StoreError:
                log.exception("The outbox could not be looked through.", extra={"action": "store_failed"})
            else:
                if count:
                    log.warning(
                        "The clock of this machine went back: %d deliveries that waited for a time far off are made "
                        "now. Deadlines go by the clock as it is.",
                        count,
                        extra={"action": "clock_back", "count": count},
                    )
                    self._outbox.set()
            await asyncio.sleep(CLOCK_SECONDS)

    # What nobody serves

    async def _tell_unserved_forever(self) -> None:
        """Say of which platforms something waits that no process serves, each time that it begins to."""
        told: frozenset[str] = frozenset()
        while True:
            await asyncio.sleep(UNSERVED_SECONDS)
            try:
                unserved = await self._store.unserved(utc_now() - timedelta(seconds=UNSERVED_SECONDS))
            except StoreError:
                log.exception("It could not be looked at what waits.", extra={"action": "store_failed"})
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

    # What was kept long enough

    async def _prune_forever(self, retention: timedelta) -> None:
        while True:
            began, wall = time.monotonic(), utc_now()
            try:
                before, count = utc_now() - retention, 0
                # A few at a time: clicks wait for their commits behind it.
                while (pruned := await self._store.prune(before, PRUNED_AT_ONCE)) != Pruned():
                    count += pruned.conversations
                    await asyncio.sleep(0)
                if count:
                    log.info("Old conversations were deleted: %d.", count, extra={"action": "pruned", "count": count})
            except StoreError:
                log.exception("Old conversations could not be deleted; trying again.", extra={"action": "store_failed"})
            await asyncio.sleep(PRUNE_SECONDS)
            while (ahead := (utc_now() - wall).total_seconds() - (time.monotonic() - began)) > PRUNE_SECONDS:
                # What is deleted does not come back when the clock does.
                log.warning(
                    "The clock of this machine went ahead by %.0f s: nothing is deleted for an hour.",
                    ahead,
                    extra={"action": "clock_ahead", "seconds": round(ahead)},
                )
                began, wall = time.monotonic(), utc_now()
                await asyncio.sleep(PRUNE_SECONDS)

    # What people are to see

    async def _deliver_forever(self) -> None:
        """Each delivery is a task of its own: one that the platform keeps waiting holds up no other."""
        async with asyncio.TaskGroup() as tasks:

            async def begin_due() -> datetime | None:
                while free := AT_ONCE - len(self._delivering):
                    idle = self._idle
                    items = await self._store.lease(free)
                    if not items:
                        if not self._delivering:
                            idle.set()
                        return await self._store.next_due()
                    for item in items:
                        if item.target in self._delivering:
                            self._delivering[item.target] = True
                        else:
                            self._delivering[item.target] = False
                            tasks.create_task(self._deliver_one(item), name=f"askback deliver {item.target}")
                return None

            await self._forever("outbox", self._outbox, begin_due)

    async def _hold_forever(self) -> None:
        """What takes long is still being shown: nobody else is to take it for left behind."""
        while True:
            await asyncio.sleep(HOLD_SECONDS)
            if self._delivering:
                try:
                    await self._store.hold(tuple(self._delivering))
                except StoreError:
                    log.exception("The outbox could not be held.", extra={"action": "store_failed"})

    async def _deliver_one(self, item: OutboxItem) -> None:
        try:
            try:
                await self._deliver(item)
            finally:
                again = self._delivering.pop(item.target)
            if again:
                # It changed, or its lease ran out, while it was under way: nobody holds it now.
                await self._store.release(item.target)
        except StoreError:
            # The lease runs out, and it is delivered then; what was posted is found again by its name.
            log.exception("A delivery could not be recorded.", extra={"action": "store_failed", "target": item.target})
        finally:
            self._outbox.set()

    async def _deliver(self, item: OutboxItem) -> None:
        try:
            if item.kind == "card" and item.ask_id is not None:
                await self._deliver_card(item, item.ask_id)
            else:
                await self._deliver_say(item)
            telemetry.delivered(item.kind, item.first_failed_at or item.due_at, utc_now())
            self._failing.pop(item.target, None)
        except TryLater as later:
            await self._later(item, str(later), later.seconds)
        except Undeliverable as refusal:
            await self._refused(item, str(refusal))
        except Gone as gone:
            if item.kind == "card" and item.ask_id is not None and await self._is_open(item.ask_id):
                log.warning(
                    "The card of an open question is gone from the platform; it is posted anew.",
                    extra={"action": "card_gone", "ask_id": item.ask_id},
                )
                await self._store.lost(item.ask_id)
                await self._store.release(item.target)
            else:
                await self._refused(item, str(gone))
        except StoreError:
            raise
        except Exception as error:
            log.exception("A delivery failed.", extra={"action": "delivery_failed", "target": item.target})
            # Only its kind: its words may quote what was to be shown.
            await self._later(item, f"there was a fault in the bot ({type(error).__name__}).", None)

    async def _deliver_card(self, item: OutboxItem, ask_id: str) -> None:
        async def paint(ask: Ask) -> Messages:
            platform = self._platforms[ask.place.platform]
            if not ask.messages and item.attempts > 1:
                ask = ask.evolve(messages=await platform.find(ask.place, ask.id))
            if not ask.messages and ask.outcome is not None:
                return ()  # over before anybody saw it
            with telemetry.delivering(ask.trace, ask.place.platform):
                return await platform.show(ask)

        await self._manager.redraw(ask_id, paint)
        # Somebody else may have drawn it meanwhile; then only the row is left over.
        ask = await self._store.get(ask_id)
        if ask is None or ask.is_drawn:
            await self._store.drop(item)

    async def _deliver_say(self, item: OutboxItem) -> None:
        say, conversation_id = item.say, item.conversation_id
        if item.ask_id is not None:
            # About a question: over by now, nobody is to hear of it.
            ask = await self._store.get(item.ask_id)
            place = None if ask is None or ask.outcome is not None else ask.place
        else:
            place = None if conversation_id is None else await self._store.place(conversation_id)
        if say is None or place is None:
            await self._store.drop(item)
            return
        platform = self._platforms[place.platform]
        if item.attempts > 1:
            found = await platform.find(place, say.target)
            say = say.evolve(messages=max(say.messages, found, key=len))
        try:
            messages = await platform.say(place, say)
        except Gone:
            messages = await platform.say(place, say.evolve(messages=()))
        if say.offer is not None:
            await self._store.offered(say.offer.id, messages)
        await self._store.drop(item)

    async def _is_open(self, ask_id: str) -> bool:
        ask = await self._store.get(ask_id)
        return ask is not None and ask.outcome is None

    async def _later(self, item: OutboxItem, error: str, seconds: float | None) -> None:
        growing = self._first_pause * 2 ** min(item.attempts - 1, 16)
        pause = seconds if seconds is not None else min(growing, LONGEST_PAUSE)
        now = time.monotonic()
        if item.first_failed_at is None:
            self._failing.pop(item.target, None)
        since = timedelta(seconds=now - self._failing.setdefault(item.target, now))
        ask = None if item.ask_id is None else await self._store.get(item.ask_id)
        unseen = ask is None or not ask.messages
        if since + timedelta(seconds=pause) > (self._give_up if unseen else SETTLE_FOR):
            await self._refused(item, f"{error} (tried for {int(since.total_seconds())} s)")
            return
        log.warning(
            "Something could not be shown for now; trying again in %.1f s: %s",
            pause,
            error,
            extra={"action": "delivery_later", "target": item.target, "attempts": item.attempts},
        )
        await self._store.retry(item, timedelta(seconds=pause), error)

    async def _refused(self, item: OutboxItem, reason: str) -> None:
        self._failing.pop(item.target, None)
        log.error("Something cannot be shown: %s", reason, extra={"action": "delivery_refused", "target": item.target})
        if item.kind == "card" and item.ask_id is not None:
            ask = await self._store.get(item.ask_id)
            if ask is not None and not ask.messages:
                await self._manager.reject(item.ask_id, reason)
        await self._store.drop(item)
