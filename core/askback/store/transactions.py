"""The base class of the store's groups of transactions."""

from __future__ import annotations

__all__ = ["CLICK_SECONDS", "Listener", "Transactions"]

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from sqlalchemy import Connection

from askback.store.database import Database
from askback.store.errors import StoreError
from askback.store.queries.platform_claims import ServedPlatforms
from askback.store.transaction_events import AskChanged, CommitUncertain, Event, EventCollector
from askback.store.unreadable_rows import SkippedRows
from askback.translations.catalogue import get_language, use_language

T = TypeVar("T")

CLICK_SECONDS = 2.0
"""Seconds after which the person gets a notice that a click could not be committed. The platforms wait for 3 s."""

Listener = Callable[[Event], None]
"""Receives events of committed transactions, on the event loop. It must neither block nor raise."""


class Transactions:
    """Base class for groups of transactions. Each method is one complete transaction, and publishes its events after
    the commit. It returns neither connections nor rows.
    """

    def __init__(self, database: Database, served: ServedPlatforms = None, known: ServedPlatforms = None) -> None:
        """`served` are the platforms whose work this process takes, `known` all that exist. None means any platform."""
        self._database = database
        self._known = known
        self._served = served
        self._left = SkippedRows()
        self._listeners: list[Listener] = []

    @property
    def is_shared(self) -> bool:
        """True if other processes may do the same work at the same time."""
        return self._database.is_shared

    def subscribe(self, listener: Listener) -> None:
        """Register a listener for the events of every transaction of this store."""
        self._listeners.append(listener)

    async def _run(self, work: Callable[[Connection], T], *, within: float | None = None) -> T:
        """Run a transaction, and publish its events once it is committed. Raises the errors of `Database.run`.

        Listeners are called after the caller has continued, so that an ack does not wait for them. The work runs in a
        thread of the database, and speaks the language of the caller.
        """
        language = get_language()
        events: list[Event] = []

        def record_events(connection: Connection) -> T:
            with EventCollector() as found, use_language(language):
                result = work(connection)
            events[:] = found
            return result

        record_events.__qualname__ = work.__qualname__  # for tracebacks, and for tests that stop at a certain work
        try:
            result = await self._database.run(record_events, within=within)
        except StoreError as error:
            if error.in_doubt and events:
                ask_ids = tuple(event.ask_id for event in events if isinstance(event, AskChanged))
                self._publish_soon([CommitUncertain(ask_ids)])
            raise
        self._publish_soon(events)
        return result

    async def _run_click(self, work: Callable[[Connection], T]) -> T:
        """Run a transaction for whose commit a person waits. Raises `StoreBusy` after `CLICK_SECONDS`."""
        return await self._run(work, within=CLICK_SECONDS)

    def _publish_soon(self, events: Sequence[Event]) -> None:
        if events and self._listeners:
            asyncio.get_running_loop().call_soon(self._publish, tuple(events))

    def _publish(self, events: Sequence[Event]) -> None:
        for event in events:
            for listener in self._listeners:
                listener(event)
