"""What the store runs its transactions on."""

from __future__ import annotations

__all__ = ["Database"]

from collections.abc import Callable
from typing import Protocol, TypeVar

from sqlalchemy import Connection

T = TypeVar("T")


class Database(Protocol):
    """Runs *works*, functions of a `Connection`, each as a transaction of its own.

    A work changes nothing but the database, since it may be run again before it is committed. It is
    short, and returns values: nothing that belongs to its connection.
    """

    async def run(self, work: Callable[[Connection], T], *, within: float | None = None) -> T:
        """Run a work as a transaction, and return what it returned once that is committed.

        What it raises is raised here, and it changed nothing. Raises `StoreError` where the database does not
        commit, `within` so many seconds where that is given; its `in_doubt` says whether it may still do so.
        """
        ...

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run a work that only reads, on one snapshot. Raises `StoreError`."""
        ...

    def defect(self) -> str | None:
        """Return what a restart of this process alone cures, in a few words. None: nothing is wrong, or it may cure
        itself, such as a server that is away."""
        ...

    async def close(self) -> None:
        """Refuse new works, finish those that are there, let go of everything."""
        ...
