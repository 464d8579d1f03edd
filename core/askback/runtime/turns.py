"""Advance the agent's turns in this process. `LocalTurnScheduler` is for a process that works alone on its database."""

from __future__ import annotations

__all__ = ["Advance", "LocalTurnScheduler", "TurnRunner", "TurnScheduler"]

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Protocol

from askback.agent.concurrency_slots import Slot, SlotPool, SlotsClosed, get_person_key
from askback.internal.clock import utc_now
from askback.runtime.periodic import STORE_PAUSE, sleep
from askback.store.errors import StoreError
from askback.store.store import Store
from askback.store.unreadable_rows import UnreadableRow

log = logging.getLogger("askback.worker")

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

    def wake(self) -> None:
        """Note that a conversation may have something to do."""
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
        starter = await self._store.get_starter(conversation_id)
        person = "" if starter is None else get_person_key(starter)
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

    def wake(self) -> None:
        self._woken.set()

    async def drain_turns(self, seconds: float) -> None:
        await self._advancing.drain_turns(seconds)

    async def run(self) -> None:
        waiting: set[str] = set()

        async def advance(conversation_id: str) -> None:
            try:
                with suppress(SlotsClosed):
                    await self._advancing.advance(conversation_id)
            finally:
                waiting.discard(conversation_id)
                # Check now for anything that arrived while it ran.
                self._woken.set()

        async with asyncio.TaskGroup() as tasks:
            while True:
                self._woken.clear()
                pause: timedelta | None = None
                try:
                    now = utc_now()
                    runnable = await self._store.list_runnable(now)
                    until = await self._store.get_next_turn_at(now)
                    pause = None if until is None else until - now
                except StoreError as error:
                    log.error(
                        "Could not look for conversations with work; trying again: %s",
                        error,
                        extra={"action": "store_failed"},
                    )
                    runnable, pause = (), timedelta(seconds=STORE_PAUSE)
                for conversation_id in runnable:
                    if conversation_id not in waiting and not self._advancing.is_draining:
                        waiting.add(conversation_id)
                        tasks.create_task(advance(conversation_id), name=f"askback turn {conversation_id}")
                await sleep(self._woken, pause)
