"""The connections to the SQLite file, as the writer's threads have them."""

from __future__ import annotations

__all__ = ["Raw", "checkpoint", "engine_for", "mend", "raw_of", "roll_back"]

import contextlib
import sqlite3
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.pool import NullPool


class Raw(sqlite3.Connection):
    """A work shares its transaction with others, so it must not end it."""

    def commit(self) -> None:
        if self.in_transaction:
            raise RuntimeError("A work must not commit: it is committed for it, together with others.")

    def rollback(self) -> None:
        if self.in_transaction:
            raise RuntimeError("A work must not roll back: raise, and what it changed is undone.")


def engine_for(path: Path) -> Engine:
    # isolation_level=None: Python begins nothing by itself. SQLAlchemy believes to be in one endless
    # transaction, which costs nothing; ours are begun and ended beneath it.
    return create_engine(
        "sqlite+pysqlite://",
        creator=lambda: sqlite3.connect(path, isolation_level=None, factory=Raw, cached_statements=512),
        poolclass=NullPool,
        # An error of the database is told and logged: it must not quote what people wrote.
        hide_parameters=True,
    )


def raw_of(connection: Connection) -> Raw:
    raw = connection.connection.driver_connection
    assert isinstance(raw, Raw)
    return raw


def mend(connection: Connection) -> None:
    """Take back what a work that raised may have left in SQLAlchemy's own view of the transaction."""
    while nested := connection.get_nested_transaction():
        nested.rollback()
    if (root := connection.get_transaction()) and not root.is_active:
        # It called `commit` or `rollback`, which was refused.
        root.close()


def roll_back(raw: Raw) -> None:
    if raw.in_transaction:
        # If even this fails, the next BEGIN says so to whoever wants it.
        with contextlib.suppress(sqlite3.Error):
            raw.execute("ROLLBACK")


def checkpoint(raw: Raw) -> None:
    # Not worth waiting for: another process that still reads does it when it closes.
    raw.execute("PRAGMA busy_timeout = 100")
    with contextlib.suppress(sqlite3.Error):
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
