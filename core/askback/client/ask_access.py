"""Access to the asks of a session: through a bot of this process, or next to another process."""

from __future__ import annotations

__all__ = ["AskAccess", "OtherProcess", "OwnBot"]

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from askback.client.external_writes import write
from askback.domain.ask import Ask
from askback.domain.wait_report import WaitReport
from askback.manager import QuestionManager
from askback.settings.core import Settings
from askback.store.external_access import DatabaseLocation
from askback.store.queries import asks
from askback.store.snapshot_reader import SnapshotReader
from askback.store.store import Store

T = TypeVar("T")


class AskAccess(Protocol):
    """Access to the asks while the session serves them in one way."""

    async def submit(self, build: Callable[[], Ask]) -> Ask: ...

    async def get(self, ask_id: str) -> Ask | None: ...

    async def cancel(self, ask_id: str, reason: str | None) -> bool: ...

    async def record_waits(self, report: WaitReport) -> None: ...


class OwnBot:
    """The asks that a bot of this process serves."""

    def __init__(self, manager: QuestionManager, store: Store) -> None:
        self._manager = manager
        self._store = store

    async def submit(self, build: Callable[[], Ask]) -> Ask:
        return await self._manager.submit(build())

    async def get(self, ask_id: str) -> Ask | None:
        return await self._manager.get(ask_id)

    async def cancel(self, ask_id: str, reason: str | None) -> bool:
        return await self._manager.cancel(ask_id, reason=reason)

    async def record_waits(self, report: WaitReport) -> None:
        await self._store.record_waits(report)


class OtherProcess:
    """The asks that another process serves."""

    def __init__(self, settings: Settings, where: DatabaseLocation, reader: SnapshotReader) -> None:
        self._settings = settings
        self._where = where
        self._reader = reader

    async def submit(self, build: Callable[[], Ask]) -> Ask:
        return await self._write(lambda manager: manager.submit(build()))

    async def get(self, ask_id: str) -> Ask | None:
        return await self._reader.read(lambda connection: asks.get(connection, ask_id))

    async def cancel(self, ask_id: str, reason: str | None) -> bool:
        return await self._write(lambda manager: manager.cancel(ask_id, reason=reason))

    async def record_waits(self, report: WaitReport) -> None:
        # Only a card of an answer that was received late has to change at once.
        await write(self._where, lambda store: store.record_waits(report), wakes=bool(report.received))

    async def _write(self, work: Callable[[QuestionManager], Awaitable[T]]) -> T:
        return await write(self._where, lambda store: work(QuestionManager(store, self._settings.limits)))
