"""Slots that limit concurrent work, shared fairly between people."""

from __future__ import annotations

__all__ = ["AT_ONCE", "EACH", "Closed", "Slot", "Slots", "person_of"]

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from askback.domain.identity import Actor

AT_ONCE = 16
"""Slots of one pool. Turns of the model have one pool in a process, and running tool calls another."""
EACH = AT_ONCE // 2
"""Most slots that one person's conversations hold. It is half of them, so that no single person blocks all others."""


class Closed(Exception):
    """Raised because no further slot is given: the process is shutting down."""


class Slots:
    """A fixed number of slots. The next free one goes to the person who holds the fewest."""

    def __init__(self, most: int = AT_ONCE, each: int = EACH) -> None:
        self._free = most
        self._each = each
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """Waiters by person, the longest waiting first."""
        self._is_closed = False

    @asynccontextmanager
    async def held(self, person: str) -> AsyncGenerator[Slot]:
        """Hold a slot until the block ends. Raises `Closed`."""
        slot = Slot(self, person)
        await self.take(person)
        try:
            yield slot
        finally:
            slot.leave()

    def close(self) -> None:
        """Give no further slot, and make all waiters raise `Closed`. Held slots stay held."""
        self._is_closed = True
        for waiting in self._waiting.values():
            for future in waiting:
                if not future.done():
                    future.set_exception(Closed())
        self._waiting.clear()

    async def take(self, person: str) -> None:
        """Wait for a slot for a person. Raises `Closed`."""
        if self._is_closed:
            raise Closed
        if self._free and self._held[person] < self._each:
            self._give(person)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(person, deque()).append(future)
        try:
            await future
        except asyncio.CancelledError:
            if not future.cancelled() and future.exception() is None:
                self.give_back(person)
            raise

    def give_back(self, person: str) -> None:
        """Release a person's slot and pass it to the next waiter."""
        self._free += 1
        self._held[person] -= 1
        if not self._held[person]:
            del self._held[person]
        self._pass_on()

    def _pass_on(self) -> None:
        while self._free and (person := self._next()) is not None:
            waiting = self._waiting[person]
            future = waiting.popleft()
            if not waiting:
                del self._waiting[person]
            if not future.done():
                self._give(person)
                future.set_result(None)

    def _next(self) -> str | None:
        """Return the waiting person with the fewest slots; of several, the one who has waited longest. None if nobody
        can take one."""
        able = [person for person in self._waiting if self._held[person] < self._each]
        return min(able, key=lambda person: self._held[person], default=None)

    def _give(self, person: str) -> None:
        self._free -= 1
        self._held[person] += 1


class Slot:
    """A slot that a person holds."""

    def __init__(self, slots: Slots | None = None, person: str = "") -> None:
        """Without `slots`, nothing is held; this is for work that runs alone."""
        self._slots = slots
        self._person = person
        self._is_held = slots is not None

    async def take(self) -> None:
        """Take the slot again after `leave`. Does nothing if it is held. Raises `Closed`."""
        if not self._is_held and self._slots is not None:
            await self._slots.take(self._person)
            self._is_held = True

    def leave(self) -> None:
        """Release the slot for others. Does nothing if it is not held."""
        if self._is_held and self._slots is not None:
            self._is_held = False
            self._slots.give_back(self._person)


def person_of(actor: Actor) -> str:
    """Return the key under which a person's slots are counted."""
    return f"{actor.platform}:{actor.id}"
