"""Gets work done in this process: what people are to see, deadlines, and the agent's turns."""

from __future__ import annotations

__all__ = ["Worker"]

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta

from askback import telemetry
from askback.asks import Ask
from askback.clock import utc_now
from askback.manager import QuestionManager
from askback.platform import Gone, Messages, Platform, TryLater, Undeliverable
from askback.store.errors import StoreError
from askback.store.outbox import OutboxItem
from askback.store.pruning import Pruned
from askback.store.store import Store

log = logging.getLogger("askback.worker")

AT_ONCE = 16
"""Deliveries, and turns, in flight at the same time."""
GIVE_UP = timedelta(seconds=60)
"""How long a card or a text that nobody has seen is tried."""
SETTLE_FOR = timedelta(hours=24)
"""How long a card that people look at is tried to be brought up to date."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
STORE_PAUSE = 1.0
LOOK_AGAIN = 30.0
"""The longest that is slept: the clock may jump, and what was committed late told nobody."""

PRUNE_SECONDS = 3600.0
PRUNED_AT_ONCE = 20

Advance = Callable[[str], Awaitable[None]]
"""Does what a conversation has to do, until it waits or is done."""


class Worker:
    """The one worker of this process; `run` owns every task of it."""

    def __init__(
        self,
        store: Store,
        manager: QuestionManager,
        platforms: Mapping[str, Platform],
        advance: Advance | None = None,
        *,
        give_up: timedelta = GIVE_UP,
        first_pause: float = FIRST_PAUSE,
        retention: timedelta | None = None,
    ) -> None:
        """`give_up`: how long what nobody has seen is tried, at first after `first_pause` seconds.

        `retention`: how long what rests is kept; None: for ever.
        """
        self._retention = retention
        self._give_up = give_up
        self._first_pause = first_pause
        self._store = store
        self._manager = manager
        self._platforms = platforms
        self._advance = advance
        self._outbox = asyncio.Event()
        self._turns = asyncio.Event()
        self._deadlines = asyncio.Event()
        self._idle = asyncio.Event()
        self._delivering: dict[str, bool] = {}
        """What is under way, and whether it has to be looked at once more after that."""
        self._advancing: set[str] = set()
        self._resting = False
        self._calm = asyncio.Event()
        self._failures: dict[str, int] = {}
        manager.on_work(self._nudge)
        manager.on_settled(lambda _: self._turns.set())

    def wake(self) -> None:
        """A conversation may have something to do, or there is something to show."""
        self._turns.set()
        self._outbox.set()

    def _nudge(self) -> None:
        self._outbox.set()
        self._deadlines.set()

    async def run(self) -> None:
        """Work until cancelled. What a process before this one left is taken up first."""
        await self._take_over()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._deliver_forever(), name="askback outbox")
            tasks.create_task(self._forever("deadlines", self._deadlines, self._expire_due), name="askback deadlines")
            if self._retention is not None:
                tasks.create_task(self._prune_forever(self._retention), name="askback retention")
            if self._advance is not None:
                tasks.create_task(self._advance_conversations(self._advance), name="askback turns")

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

        One that takes longer is broken off with `run`, and taken again at the next start.
        """
        self._resting = True
        if not self._advancing:
            return
        self._calm.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._calm.wait()
        except TimeoutError:
            log.warning(
                "A turn of the agent did not end in time; it is taken again at the next start.",
                extra={"action": "turn_left", "turns": len(self._advancing)},
            )

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
            await _sleep(nudged, until)

    # Deadlines

    async def _expire_due(self) -> datetime | None:
        await self._manager.resolve_doubts()
        while due := await self._store.due(utc_now()):
            for ask_id in due:
                await self._manager.expire(ask_id)
        return await self._store.next_deadline()

    # What was kept long enough

    async def _prune_forever(self, retention: timedelta) -> None:
        while True:
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
        except TryLater as later:
            await self._later(item, str(later), later.seconds)
        except Undeliverable as refusal:
            await self._refused(item, str(refusal))
        except Gone as gone:
            if item.ask_id is not None and await self._is_open(item.ask_id):
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
            platform = self._platform(ask.place.platform)
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
        place = None if conversation_id is None else await self._store.place(conversation_id)
        if say is None or place is None:
            await self._store.drop(item)
            return
        platform = self._platform(place.platform)
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

    def _platform(self, name: str) -> Platform:
        try:
            return self._platforms[name]
        except KeyError:
            raise TryLater(f"The bot for {name} is not running here.") from None

    async def _is_open(self, ask_id: str) -> bool:
        ask = await self._store.get(ask_id)
        return ask is not None and ask.outcome is None

    async def _later(self, item: OutboxItem, error: str, seconds: float | None) -> None:
        growing = self._first_pause * 2 ** min(item.attempts - 1, 16)
        pause = seconds if seconds is not None else min(growing, LONGEST_PAUSE)
        since = utc_now() - item.first_failed_at if item.first_failed_at is not None else timedelta(0)
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
        log.error("Something cannot be shown: %s", reason, extra={"action": "delivery_refused", "target": item.target})
        if item.ask_id is not None:
            ask = await self._store.get(item.ask_id)
            if ask is not None and not ask.messages:
                await self._manager.reject(item.ask_id, reason)
        await self._store.drop(item)

    # The agent's turns

    async def _advance_conversations(self, advance: Advance) -> None:
        free = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._turns.clear()
                try:
                    runnable = await self._store.runnable()
                except StoreError:
                    log.exception("The conversations could not be read.", extra={"action": "store_failed"})
                    await _sleep(self._turns, utc_now() + timedelta(seconds=STORE_PAUSE))
                    continue
                for conversation_id in runnable:
                    if conversation_id not in self._advancing and not self._resting:
                        self._advancing.add(conversation_id)
                        tasks.create_task(
                            self._advance_one(advance, conversation_id, free), name=f"askback turn {conversation_id}"
                        )
                await _sleep(self._turns, None)

    async def _advance_one(self, advance: Advance, conversation_id: str, free: asyncio.Semaphore) -> None:
        try:
            async with free:
                await advance(conversation_id)
            self._failures.pop(conversation_id, None)
        except Exception:
            failures = self._failures[conversation_id] = self._failures.get(conversation_id, 0) + 1
            log.exception(
                "A turn of the agent failed; trying again.",
                extra={"action": "turn_failed", "conversation_id": conversation_id},
            )
            await asyncio.sleep(min(2**failures, LONGEST_PAUSE))
        finally:
            self._advancing.discard(conversation_id)
            if not self._advancing:
                self._calm.set()
            # What came in while it ran is looked at now.
            self._turns.set()


async def _sleep(nudged: asyncio.Event, until: datetime | None) -> None:
    seconds = LOOK_AGAIN if until is None else (until - utc_now()).total_seconds()
    if seconds <= 0:
        await asyncio.sleep(0)
        return
    try:
        async with asyncio.timeout(min(seconds, LOOK_AGAIN)):
            await nudged.wait()
    except TimeoutError:
        return
