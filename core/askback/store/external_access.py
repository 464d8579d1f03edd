"""Access to the database from outside its worker process. It creates, upgrades and locks nothing."""

from __future__ import annotations

__all__ = [
    "ELSEWHERE",
    "DatabaseLocation",
    "DatabaseNotFound",
    "DatabaseNotReady",
    "OutdatedDatabase",
    "check_version",
    "find_worker_pid",
    "is_older",
    "list_away_platforms",
    "list_worker_platforms",
    "open_file",
    "open_for_writing",
    "read_snapshot",
    "read_version",
]  # fmt: skip

import asyncio
import fcntl
import json
import os
import sqlite3
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TypeVar, cast

from sqlalchemy import Connection, Engine, create_engine, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from askback.errors import OperatorError
from askback.internal.extras import import_extra
from askback.store.database import ENGINES, Database
from askback.store.migrate import NEWEST, VERSION_TABLE
from askback.store.postgres.address import PostgresAddress
from askback.store.queries.platform_claims import ServedPlatforms, decode_platforms
from askback.store.sqlite.database import SqliteDatabase
from askback.store.sqlite.files import check_files, open_beside
from askback.store.sqlite.lockfile import lock_path, read_lock

T = TypeVar("T")

DatabaseLocation = Path | PostgresAddress
"""An SQLite file, or a database on a PostgreSQL server."""
PATIENCE = 5.0
"""Seconds to wait for a process that has locked the database exclusively."""


class DatabaseNotFound(OperatorError):
    """Raised if the database file does not exist."""


class DatabaseNotReady(OperatorError):
    """Raised if the database is empty, belongs to another program, or must be upgraded first."""


class OutdatedDatabase(DatabaseNotReady):
    """Raised if an older askback wrote the database, which must be upgraded before it can be read."""


@contextmanager
def open_file(path: Path, *, patience: float = PATIENCE) -> Generator[Connection]:
    """Connect to a file that must exist. The caller begins and ends its transactions.

    Raises `DatabaseNotFound`. Errors of SQLite are raised unchanged.
    """
    _check_exists(path)
    with _create_engine(path.absolute(), patience).connect() as connection:
        yield connection


def _check_exists(path: Path) -> None:
    if check_files(path) is None:
        raise DatabaseNotFound(f"There is no database {path}, since no bot has started on it yet. {ELSEWHERE}")


@lru_cache(ENGINES)
def _create_engine(path: Path, patience: float) -> Engine:
    """Return the engine of a file, which caches compiled SQL. Each connection opens the file again."""
    address = f"{path.as_uri()}?mode=rw"  # never "create"
    return create_engine(
        "sqlite+pysqlite://",
        creator=lambda: sqlite3.connect(address, uri=True, isolation_level=None, timeout=patience),
        poolclass=NullPool,
    )


ELSEWHERE = "If you mean another one, set ASKBACK_DATABASE_URL."


def read_snapshot(where: DatabaseLocation, work: Callable[[Connection], T]) -> T:
    """Run `work` on one read-only snapshot of the database. Raises `OperatorError`."""
    if isinstance(where, PostgresAddress):
        with import_extra("postgres", "PostgreSQL"):
            from askback.store.postgres.external_access import run_read_only as look_there
        return look_there(where, work)
    try:
        with open_file(where) as connection:
            connection.exec_driver_sql("PRAGMA query_only = ON")
            connection.exec_driver_sql("BEGIN")
            check_version(connection)
            return work(connection)
    except (sqlite3.Error, DBAPIError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        raise OperatorError(f"Could not read the database {where}: {cause}. Run `askback doctor` for more.") from error


@asynccontextmanager
async def open_for_writing(where: DatabaseLocation, *, signals: bool = True) -> AsyncGenerator[Database]:
    """Open the database for a few commits. Raises `OperatorError`, `DatabaseNotFound` among them.

    An SQLite file gets its own writer next to the running one, and SQLite lets one of them write at a time. On
    PostgreSQL, each commit signals the worker processes, unless `signals` is False.
    """
    database: Database
    if isinstance(where, PostgresAddress):
        with import_extra("postgres", "PostgreSQL"):
            from askback.store.postgres.database import PostgresDatabase
            from askback.store.postgres.external_access import SignallingDatabase
        database = (
            SignallingDatabase(where, prepare=check_version)
            if signals
            else PostgresDatabase(where, connections=1, prepare=check_version)
        )
    else:
        await asyncio.to_thread(_check_exists, where)  # or else SQLite creates an empty file
        # The last connection to a file writes the WAL back in any case. Otherwise, it is the other process's work.
        database = SqliteDatabase(where, prepare=check_version, writes_back=False)
    try:
        yield database
    finally:
        await database.close()


def check_version(connection: Connection, *, exists: bool = False) -> None:
    """Raise `OperatorError` unless the database has this askback's version. Changes nothing.

    `exists` is True if the connection has read the version before, so that it need not look for the table.
    """
    stored = read_version(connection, exists=exists)
    if stored == NEWEST:
        return
    if stored is None:
        raise DatabaseNotReady(f"This database is empty or belongs to another program. {ELSEWHERE}")
    if is_older(stored):
        raise OutdatedDatabase(
            f"An older askback wrote this database (version {stored}). Start the bot with this askback once: it "
            "upgrades the database."
        )
    raise OperatorError(
        f"A newer askback wrote this database (version {stored}), and this one supports up to {NEWEST}. "
        "Use the newer askback."
    )


def read_version(connection: Connection, *, exists: bool = False) -> str | None:
    """Return the version that is stored in the database, or None if there is none. `exists`: its table was there."""
    if not exists and not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608


def is_older(version: str) -> bool:
    """Return True if this askback can upgrade a database of that version."""
    versions = files("askback.store") / "migrations" / "versions"
    return version != NEWEST and any(script.name == f"{version}.py" for script in versions.iterdir())


def find_worker_pid(path: Path) -> int | None:
    """Return the id of the process that works on a database. 0 if the id is unknown, None if no process does."""
    found = read_lock(path)
    if found is None:
        return None
    content, status = found
    first_line = content.partition("\n")[0].strip()
    written = int(first_line) if first_line.isascii() and first_line.isdigit() else 0
    try:
        held = Path("/proc/locks").read_text(encoding="ascii", errors="replace")
    except OSError:
        return written if _is_locked(path) else None
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    for line in held.splitlines():
        # A line looks like "1: FLOCK ADVISORY WRITE 4242 fd:01:131 0 EOF". A waiting process has "->" after the colon.
        kind, *rest = line.partition(":")[2].split()
        if kind != "FLOCK" or len(rest) < 4:
            continue
        on, _, inode = rest[3].rpartition(":")
        holder = int(rest[2]) if rest[2].isdigit() else 0
        # Some file systems report another device name here. Then the process id must equal the one in the lock file.
        if inode == str(status.st_ino) and (on == device or holder == written):
            return holder or written
    return None


def list_worker_platforms(path: Path) -> ServedPlatforms:
    """Return the platforms of the process that works on a database, or last did. None if it did not state them."""
    found = read_lock(path)
    lines = [] if found is None else found[0].split("\n")
    return decode_platforms(lines[2]) if len(lines) > 2 else None


def list_away_platforms(path: Path) -> dict[str, str]:
    """Return the platforms that the process on a database would serve and cannot now, each with the reason.

    The reason is empty for one to which it is still connecting.
    """
    found = read_lock(path)
    lines = [] if found is None else found[0].split("\n")
    try:
        away = cast("object", json.loads(lines[3]))
    except (IndexError, ValueError):
        return {}
    return (
        {str(name): str(reason) for name, reason in cast("dict[object, object]", away).items()}
        if isinstance(away, dict)
        else {}
    )


def _is_locked(database: Path) -> bool:
    """Test the lock by taking it shared for an instant, on a system that does not list its locks."""
    descriptor = open_beside(lock_path(database), os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
