"""The interface of the databases that run the store's transactions."""

from __future__ import annotations

__all__ = ["ENGINES", "Database"]

from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from sqlalchemy import Connection

T = TypeVar("T")

ENGINES: Final = 16
"""Databases whose compiled SQL a process keeps. Compiling takes longer than running."""


class Database(Protocol):
    """Runs *works*, which are functions of a `Connection`, each as its own transaction.

    A work changes nothing but the database, since it may run again before it is committed. It is short, and returns
    plain values that do not belong to its connection.
    """

    @property
    def is_shared(self) -> bool:
        """True if other processes may run the same work on this database at the same time."""
        ...

    async def run(self, work: Callable[[Connection], T], *, within: float | None = None) -> T:
        """Run a work as a transaction, and return its result once that is committed.

        Errors of the work are raised here, and it changed nothing then. Raises `StoreError` if the database does not
        commit, or not `within` that many seconds. If its `in_doubt` is True, the commit may have happened or may still
        happen.
        """
        ...

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run a work that only reads, on one snapshot. Raises `StoreError`."""
        ...

    def find_defect(self) -> str | None:
        """Return a short description of a defect that only a restart of this process fixes.

        None if it has no defect, or if the problem may resolve itself, such as an unreachable server.
        """
        ...

    async def close(self) -> None:
        """Reject new works, finish the queued ones and release all resources."""
        ...
