"""Writes to a database that another process may serve."""

from __future__ import annotations

__all__ = ["write"]

from collections.abc import Awaitable, Callable
from typing import TypeVar

from askback.runtime.wakeup import wake_worker
from askback.store.external_access import DatabaseLocation, open_for_writing
from askback.store.postgres.address import PostgresAddress
from askback.store.store import Store

T = TypeVar("T")


async def write(where: DatabaseLocation, work: Callable[[Store], Awaitable[T]], *, wakes: bool = True) -> T:
    """Run `work` on the store. If `wakes`, wake the worker of the process that serves the database, if there is one.

    On PostgreSQL, the commit itself wakes it. Raises `OperatorError`.
    """
    async with open_for_writing(where, signals=wakes) as database:
        done = await work(Store(database))
    if wakes and not isinstance(where, PostgresAddress):
        wake_worker(where)
    return done
