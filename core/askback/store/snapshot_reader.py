"""Snapshots of a database for a process that reads often from outside the worker process."""

from __future__ import annotations

__all__ = ["SnapshotReader"]

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Connection

from askback.internal.extras import import_extra
from askback.store.external_access import DatabaseLocation, read_snapshot
from askback.store.postgres.address import PostgresAddress

if TYPE_CHECKING:
    from askback.store.postgres.kept_connections import KeptConnections

T = TypeVar("T")


class SnapshotReader:
    """Reads snapshots. On PostgreSQL, its connections stay open; an SQLite file is opened for each read."""

    def __init__(self, where: DatabaseLocation) -> None:
        self._where = where
        self._kept: KeptConnections | None = None
        if isinstance(where, PostgresAddress):
            with import_extra("postgres", "PostgreSQL"):
                from askback.store.postgres.kept_connections import KeptConnections
            self._kept = KeptConnections(where)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a thread, on one read-only snapshot of the database. Raises `OperatorError`."""
        if self._kept is not None:
            return await asyncio.to_thread(self._kept.run_read_only, work)
        return await asyncio.to_thread(read_snapshot, self._where, work)

    async def close(self) -> None:
        """Close what stayed open."""
        if self._kept is not None:
            await asyncio.to_thread(self._kept.close)
