"""Records which outcomes the clients of a server have received, so that no answer is lost with it.

Each call has a hand-over, and those of equal calls are of one run. A question is acknowledged once its response was
written, so a server that is killed before that gives the answer again. An approval is claimed before, so it does not.
"""

from __future__ import annotations

__all__ = ["ReceiptRecords"]

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from functools import partial
from typing import Final

from cachetools import FIFOCache
from sqlalchemy import Connection

from askback.client.external_writes import write
from askback.domain.ask import Ask
from askback.domain.ask_page import AskPage
from askback.domain.hand_over import CALLERS, HandOver, name_caller_call
from askback.domain.identity import Place
from askback.doors.hand_over import HandOvers
from askback.errors import AskbackError
from askback.runtime.shutdown import end_tasks
from askback.store.external_access import DatabaseLocation, read_snapshot
from askback.store.queries import asks, hand_overs
from askback.store.queries.hand_overs import CLAIM_SECONDS
from askback.store.store import Store

log = logging.getLogger("askback.door")

KEPT_FOR: Final = timedelta(days=1)
"""The time after an outcome during which a call that is the same receives it, if no call has."""
LISTED_FOR: Final = timedelta(days=7)
"""The time after an outcome during which a list has it, if no call has received it."""
MAX_KNOWN: Final = 1000
"""Maximum number of receipts that this process remembers."""
SHUTDOWN_SECONDS: Final = 5.0
"""Seconds that the last records may take when this process ends."""


class ReceiptRecords:
    """The receipts of one server's clients."""

    def __init__(self, where: DatabaseLocation) -> None:
        self._where = where
        self._hand_overs = HandOvers(where)
        self._received: FIFOCache[str, None] = FIFOCache(MAX_KNOWN)
        """The ids of asks whose outcome a client of this process has received."""
        self._recording: set[asyncio.Task[None]] = set()
        self._claimed = asyncio.Event()
        self._telling: asyncio.Task[None] | None = None

    def start(self, deliver: Callable[[str], Awaitable[None]]) -> None:
        """Begin to tell people of approvals that were lost on their way. `deliver` posts what waits on a platform."""
        self._claimed.set()  # an earlier process may have ended just now
        self._telling = asyncio.create_task(self._tell_people(deliver), name="askback lost approvals")

    def find_unreceived(self, connection: Connection, run: str) -> str | None:
        """Return the id of the newest ask of equal calls that is open, or whose outcome no client has received."""
        found = hand_overs.find_unreceived(connection, CALLERS, run, KEPT_FOR)
        return None if found in self._received else found

    def list_unreceived(self, connection: Connection, beginning: str, at_most: int) -> AskPage:
        """Return the newest settled asks whose outcome no client has received, oldest first, by the beginning of keys.

        Approvals are left out, since each is for the call that asked for it.
        """
        ids = hand_overs.list_unreceived(connection, CALLERS, beginning, f"{beginning}permit:", LISTED_FOR)
        left = [one for one in ids if one not in self._received]
        found = (asks.get(connection, one) for one in reversed(left[:at_most]))
        return AskPage(tuple(ask for ask in found if ask is not None), max(len(left) - at_most, 0))

    async def track(self, *found: Ask) -> None:
        """Record that the outcomes of asks wait for their receipts, if an earlier release has asked them."""

        async def record(store: Store) -> None:
            for ask in found:
                call = name_caller_call(ask)
                await store.record_hand_over(call, ask.id, call.run)

        await write(self._where, record, wakes=False)

    async def claim(self, ask: Ask, call: str | None) -> bool:
        """Record that only this call may act on an outcome. Return False if another one may."""
        holder = f"{ask.id}:{secrets.token_hex(16) if call is None else call}"
        named = name_caller_call(ask)
        result = await self._hand_overs.claim_once(named, named.run, holder)
        if result == "missing":
            await self.track(ask)
            result = await self._hand_overs.claim_once(named, named.run, holder)
        self._claimed.set()
        if result == "claimed":
            return True
        known = await self._hand_overs.list_of_run(named.framework, named.run)
        return any(one.id == named and one.holder == holder for one in known)

    def note_received(self, ask: Ask) -> None:
        """Record that a client has received an outcome."""
        if ask.id in self._received:
            return
        self._received[ask.id] = None
        task = asyncio.create_task(self._record(ask), name="askback receipt")
        self._recording.add(task)
        task.add_done_callback(self._recording.discard)

    async def _record(self, ask: Ask) -> None:
        try:
            await self._hand_overs.receive(name_caller_call(ask))
        except AskbackError as error:
            log.warning(
                "Could not record that an answer was received, so the same call gets it again after a restart: %s",
                error,
                extra={"action": "receipt_not_recorded", "ask_id": ask.id},
            )

    async def _tell_people(self, deliver: Callable[[str], Awaitable[None]]) -> None:
        pause = 0.0
        while True:
            await asyncio.sleep(pause)
            try:
                lost = await self._hand_overs.expire(CALLERS)
                if lost:
                    places = await asyncio.to_thread(read_snapshot, self._where, partial(_list_places, lost))
                    for platform in {place.platform for place in places}:
                        await deliver(platform)
            except AskbackError as error:
                log.warning("Could not look for lost approvals: %s", error, extra={"action": "lost_claims_not_read"})
            # Whatever is claimed from now on is received by then, or lost.
            await self._claimed.wait()
            self._claimed.clear()
            pause = CLAIM_SECONDS + 1.0

    async def close(self) -> None:
        """Let the last records end."""
        if self._telling is not None:
            await end_tasks([self._telling])
        if self._recording:
            await asyncio.wait(self._recording, timeout=SHUTDOWN_SECONDS)
            await end_tasks(self._recording)


def _list_places(lost: Iterable[HandOver], connection: Connection) -> list[Place]:
    found = [asks.get(connection, one.ask_id) for one in lost]
    return [ask.place for ask in found if ask is not None]
