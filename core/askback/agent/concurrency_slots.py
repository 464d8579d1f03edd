"""Slots that limit concurrent work, shared fairly between people."""

from __future__ import annotations

__all__ = ["MAX_SLOTS", "MAX_SLOTS_PER_PERSON", "Slot", "SlotPool", "SlotsClosed", "get_person_key"]

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from askback.domain.identity import Actor

MAX_SLOTS = 16
"""Number of slots in a pool. Each process has one pool for model turns, and another for running tool calls."""
MAX_SLOTS_PER_PERSON = MAX_SLOTS // 2
"""Maximum number of slots for one person's conversations: half of all, so that nobody can block everyone else."""


class SlotsClosed(Exception):
    """Raised when no slot is available any more, because the process is shutting down."""


class SlotPool:
    """A fixed number of slots. The next free one goes to the person who holds the fewest."""

    def __init__(self, most: int = MAX_SLOTS, each: int = MAX_SLOTS_PER_PERSON) -> None:
        self._free = most
        self._each = each
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """Waiters by person, the longest waiting first."""
        self._is_closed = False

    @asynccontextmanager
    async def hold(self, person: str) -> AsyncGenerator[Slot]:
        """Hold a slot until the block ends. Raises `SlotsClosed`."""
        slot = Slot(self, person)
        await self.acquire(person)
        try:
            yield slot
        finally:
            slot.release()

    def close(self) -> None:
        """Give no further slot, and make all waiters raise `SlotsClosed`. Held slots stay held."""
        self._is_closed = True
        for waiting in self._waiting.values():
            for future in waiting:
                if not future.done():
                    future.set_exception(SlotsClosed())
        self._waiting.clear()

    async def acquire(self, person: str) -> None:
        """Wait for a slot for a person. Raises `SlotsClosed`."""
        if self._is_closed:
            raise SlotsClosed
        if self._free and self._held[person] < self._each:
            self._give(person)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(person, deque()).append(future)
        try:
            await future
        except asyncio.CancelledError:
            if not future.cancelled() and future.exception() is None:
                self.release(person)
            raise

    def release(self, person: str) -> None:
        """Release a person's slot and pass it to the next waiter."""
        self._free += 1
        self._held[person] -= 1
        if not self._held[person]:
            del self._held[person]
        self._pass_on()

    def _pass_on(self) -> None:
        while self._free and (person := self._find_next()) is not None:
            waiting = self._waiting[person]
            future = waiting.popleft()
            if not waiting:
                del self._waiting[person]
            if not future.done():
                self._give(person)
                future.set_result(None)

    def _find_next(self) -> str | None:
        """Return the waiting person with the fewest slots; of several, the one who has waited longest. None if nobody
        can take one."""
        able = [person for person in self._waiting if self._held[person] < self._each]
        return min(able, key=lambda person: self._held[person], default=None)

    def _give(self, person: str) -> None:
        self._free -= 1
        self._held[person] += 1


class Slot:
    """A slot that a person holds."""

    def __init__(self, slots: SlotPool | None = None, person: str = "") -> None:
        """Without `slots`, nothing is held; this is for work that runs alone."""
        self._slots = slots
        self._person = person
        self._is_held = slots is not None

    async def acquire(self) -> None:
        """Take the slot again after `release`. Does nothing if it is held. Raises `SlotsClosed`."""
        if not self._is_held and self._slots is not None:
            await self._slots.acquire(self._person)
            self._is_held = True

    def release(self) -> None:
        """Release the slot for others. Does nothing if it is not held."""
        if self._is_held and self._slots is not None:
            self._is_held = False
            self._slots.release(self._person)


def get_person_key(actor: Actor) -> str:
    """Return the key under which a person's slots are counted."""
    return f"{actor.platform}:{actor.id}"
