"""Advance the agent's turns in this process. `LocalTurnScheduler` is for a process that works alone on its database."""

from __future__ import annotations

__all__ = ["Advance", "LocalTurnScheduler", "TurnRunner", "TurnScheduler"]

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Protocol

from cachetools import LRUCache

from askback.agent.concurrency_slots import Slot, SlotPool, SlotsClosed, get_person_key
from askback.internal.clock import utc_now
from askback.runtime.periodic import LOOK_AGAIN, STORE_PAUSE, sleep
from askback.store.errors import StoreError
from askback.store.store import Store
from askback.store.unreadable_rows import UnreadableRow

log = logging.getLogger("askback.worker")

STARTERS = 1000
"""Number of conversations whose starters this process remembers."""
LATER_SECONDS = 1.0
"""Seconds until a conversation is tried again if its starter has too many others in this process."""
LONGEST_PAUSE = 60.0
LEFT_PAUSE = 5.0
"""Seconds for which this and other processes leave a conversation alone that only a newer release can read."""

Advance = Callable[[str, Slot], Awaitable[None]]
"""A function that does a conversation's pending work until it waits or is done. It may lend its slot to others."""


class TurnScheduler(Protocol):
    """Advance every conversation that has something to do, one turn at a time for each."""

    async def run(self) -> None:
        """Work until cancelled."""
        ...

    def wake(self, conversation_id: str | None = None) -> None:
        """Note that a conversation has something to do. None means that any may have."""
        ...

    async def drain_turns(self, seconds: float) -> None:
        """Stop beginning turns, and wait up to `seconds` for the running ones. `run` must continue meanwhile."""
        ...


class TurnRunner:
    """The turns that run in this process."""

    def __init__(self, store: Store, advance: Advance, most_each: int | None = None) -> None:
        """`most_each` limits the conversations of one person in this process. None means no limit."""
        self._store = store
        self._advance = advance
        self._most_each = most_each
        self._slots = SlotPool()
        self._starters: LRUCache[str, str] = LRUCache[str, str](STARTERS)
        """The key of the person who began a conversation, by conversation id. It never changes."""
        self._here: Counter[str] = Counter()
        """Number of each person's conversations that have a slot, wait for one, or run tools."""
        self._under_way: dict[str, asyncio.Event] = {}
        """Event for the end of each running turn, by conversation id."""
        self._failures: dict[str, int] = {}
        self._calm = asyncio.Event()
        self.is_draining = False

    def is_under_way(self, conversation_id: str) -> bool:
        return conversation_id in self._under_way

    async def advance(self, conversation_id: str) -> None:
        """Advance a conversation. If it fails, postpone it, longer after each failure.

        If the conversation already runs here, wait until that run has ended. This happens after a long stall: other
        processes take this one for dead, and it may then get its own jobs back. Raises `SlotsClosed` at shutdown.
        """
        while (other := self._under_way.get(conversation_id)) is not None:
            await other.wait()
        ended = self._under_way[conversation_id] = asyncio.Event()
        try:
            await self._advance_in_slot(conversation_id)
            self._failures.pop(conversation_id, None)
        except SlotsClosed:
            raise
        except UnreadableRow as error:
            self._store.leave_turn(conversation_id, error)
            await self._put_off(conversation_id, LEFT_PAUSE)
        except StoreError as error:
            # The turn itself is fine, and is repeated as soon as the database is back.
            log.error(
                "Could not commit a turn of the agent; it is repeated when the database is back: %s",
                error,
                extra={"action": "store_failed"},
            )
            await asyncio.sleep(STORE_PAUSE)
        except Exception:
            failures = self._failures[conversation_id] = self._failures.get(conversation_id, 0) + 1
            pause = min(2.0**failures, LONGEST_PAUSE)
            log.exception(
                "A turn of the agent failed; trying again in %.0f s.",
                pause,
                extra={"action": "turn_failed", "conversation_id": conversation_id},
            )
            await self._put_off(conversation_id, pause)
        finally:
            del self._under_way[conversation_id]
            ended.set()
            if not self._under_way:
                self._calm.set()

    async def _advance_in_slot(self, conversation_id: str) -> None:
        person = await self._get_starter_key(conversation_id)
        if self._most_each is not None and self._here[person] >= self._most_each:
            # The number of jobs held is limited. Leave space for those of other people.
            await self._put_off(conversation_id, LATER_SECONDS)
            return
        self._here[person] += 1
        try:
            async with self._slots.hold(person) as slot:
                await self._advance(conversation_id, slot)
        finally:
            self._here[person] -= 1
            if not self._here[person]:
                del self._here[person]

    async def _get_starter_key(self, conversation_id: str) -> str:
        known = self._starters.get(conversation_id)
        if known is not None:
            return known
        starter = await self._store.get_starter(conversation_id)
        if starter is None:
            return ""
        self._starters[conversation_id] = get_person_key(starter)
        return self._starters[conversation_id]

    async def _put_off(self, conversation_id: str, pause: float) -> None:
        try:
            await self._store.postpone(conversation_id, timedelta(seconds=pause))
        except StoreError as error:
            log.error("Could not postpone a conversation: %s", error, extra={"action": "store_failed"})
            await asyncio.sleep(pause)

    async def drain_turns(self, seconds: float) -> None:
        """Begin no further turn, and wait up to `seconds` for the running ones. A slower one is taken again later."""
        self.is_draining = True
        self._slots.close()
        if not self._under_way:
            return
        self._calm.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._calm.wait()
        except TimeoutError:
            log.warning(
                "A turn of the agent did not end before the shutdown. The next start or another process repeats it.",
                extra={"action": "turn_left", "turns": len(self._under_way)},
            )


class LocalTurnScheduler:
    """Find conversations with something to do, and advance them."""

    def __init__(self, store: Store, advance: Advance) -> None:
        self._store = store
        self._advancing = TurnRunner(store, advance)
        self._woken = asyncio.Event()
        self._wanted: set[str] = set()
        """Ids of conversations that have something to do."""
        self._is_search_due = True
        self._started: set[str] = set()
        """Ids of conversations that a task advances."""

    def wake(self, conversation_id: str | None = None) -> None:
        if conversation_id is None:
            self._is_search_due = True
        else:
            self._wanted.add(conversation_id)
        self._woken.set()

    async def drain_turns(self, seconds: float) -> None:
        await self._advancing.drain_turns(seconds)

    async def run(self) -> None:
        until = utc_now()
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._woken.clear()
                # The commit that gave a conversation something to do names it, so that no search delays its turn.
                wanted, self._wanted = self._wanted, set()
                self._start(wanted, tasks)
                if self._is_search_due:
                    self._is_search_due = False
                    until = await self._search(tasks)
                await sleep(self._woken, until - utc_now())
                if not self._woken.is_set():
                    self._is_search_due = True

    async def _search(self, tasks: asyncio.TaskGroup) -> datetime:
        """Start all that have something to do. Return the time of the next search."""
        now = utc_now()
        try:
            self._start(await self._store.list_runnable(now), tasks)
            until = await self._store.get_next_turn_at(now)
        except StoreError as error:
            log.error(
                "Could not look for conversations with work; trying again: %s",
                error,
                extra={"action": "store_failed"},
            )
            return now + timedelta(seconds=STORE_PAUSE)
        latest = now + timedelta(seconds=LOOK_AGAIN)
        return latest if until is None else min(until, latest)

    def _start(self, conversation_ids: Iterable[str], tasks: asyncio.TaskGroup) -> None:
        for conversation_id in conversation_ids:
            if conversation_id not in self._started and not self._advancing.is_draining:
                self._started.add(conversation_id)
                tasks.create_task(self._advance(conversation_id), name=f"askback turn {conversation_id}")

    async def _advance(self, conversation_id: str) -> None:
        try:
            with suppress(SlotsClosed):
                await self._advancing.advance(conversation_id)
        finally:
            self._started.discard(conversation_id)
            self.wake()  # something may have arrived while it ran
