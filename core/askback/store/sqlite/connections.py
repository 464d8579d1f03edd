"""The database threads' connections to the SQLite file."""

from __future__ import annotations

__all__ = [
    "GuardedConnection",
    "checkpoint",
    "create_file_engine",
    "get_raw",
    "prepare_writer",
    "reset_transaction",
    "roll_back",
]

import contextlib
import sqlite3
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.pool import NullPool

from askback.errors import OperatorError
from askback.store.database import ENGINES

WAL_PAGES = 4000
"""Pages in the write-ahead log, of 4 KB each, after which SQLite writes them back into the database file."""


class GuardedConnection(sqlite3.Connection):
    """A connection that rejects `commit` and `rollback`, because a work shares its transaction with others."""

    def commit(self) -> None:
        if self.in_transaction:
            raise RuntimeError("A work must not commit: the database commits it together with others.")

    def rollback(self) -> None:
        if self.in_transaction:
            raise RuntimeError("A work must not roll back: raise an exception to undo its changes.")


@lru_cache(ENGINES)
def create_file_engine(path: Path) -> Engine:
    """Return the engine of a file, which all threads share. It keeps compiled SQL, and no connection."""
    # With isolation_level=None, Python never begins a transaction automatically. SQLAlchemy believes that it is in one
    # endless transaction, which costs nothing. The real transactions begin and end without its knowledge.
    return create_engine(
        "sqlite+pysqlite://",
        creator=lambda: sqlite3.connect(path, isolation_level=None, factory=GuardedConnection, cached_statements=512),
        poolclass=NullPool,
        # Database errors are shown and logged, so they must not quote what people wrote.
        hide_parameters=True,
    )


def get_raw(connection: Connection) -> GuardedConnection:
    raw = connection.connection.driver_connection
    assert isinstance(raw, GuardedConnection)
    return raw


def prepare_writer(
    raw: GuardedConnection,
    connection: Connection,
    prepare: Callable[[Connection], None],
    *,
    path: Path,
    lock_seconds: float,
) -> None:
    """Set up the connection that writes, and run `prepare` in a transaction.

    Raises `OperatorError` if the file system does not support SQLite's write-ahead log.
    """
    raw.execute(f"PRAGMA busy_timeout = {round(lock_seconds * 1000)}")
    mode = raw.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise OperatorError(
            f"The database {path} does not support SQLite's write-ahead log (it stays in mode {mode}): "
            "set ASKBACK_DATABASE_URL to a file on a local disk."
        )
    raw.execute("PRAGMA synchronous = FULL")
    raw.execute("PRAGMA temp_store = MEMORY")
    # A checkpoint holds up the commit that begins it. Four times the default length makes one in four.
    raw.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
    raw.execute("BEGIN IMMEDIATE")
    try:
        prepare(connection)
        raw.execute("COMMIT")
    except BaseException:
        roll_back(raw)
        raise
    # Set this only after `prepare`, because migrations copy tables. Inside a transaction, it has no effect.
    raw.execute("PRAGMA foreign_keys = ON")


def reset_transaction(connection: Connection) -> None:
    """Reset SQLAlchemy's own view of the transaction after a work raised."""
    while nested := connection.get_nested_transaction():
        nested.rollback()
    if (root := connection.get_transaction()) and not root.is_active:
        # The work called `commit` or `rollback`, which was rejected.
        root.close()


def roll_back(raw: GuardedConnection) -> None:
    if raw.in_transaction:
        # If this fails too, the next BEGIN raises the error to its caller.
        with contextlib.suppress(sqlite3.Error):
            raw.execute("ROLLBACK")


def checkpoint(raw: GuardedConnection) -> None:
    # Do not wait long. Another process that still reads writes the WAL back when it closes.
    raw.execute("PRAGMA busy_timeout = 100")
    with contextlib.suppress(sqlite3.Error):
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
