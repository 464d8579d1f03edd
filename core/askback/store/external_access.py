"""The database, seen from a process beside the one that works on it: nothing is created, upgraded or locked."""

from __future__ import annotations

__all__ = [
    "ELSEWHERE", "NoDatabase", "NotReady", "Older", "Where", "check_version", "is_older", "look", "opened",
    "served_beside", "version_of", "worker_of", "writing",
]  # fmt: skip

import fcntl
import os
import sqlite3
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, create_engine, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from askback.errors import OperatorError
from askback.store.database import Database
from askback.store.migrate import NEWEST, VERSION_TABLE
from askback.store.platform_claims import Served, read_served
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.extra import extra
from askback.store.sqlite.database import SqliteDatabase
from askback.store.sqlite.files import check_files, open_beside
from askback.store.sqlite.lockfile import lock_path, read_lock

T = TypeVar("T")

Where = Path | PostgresAddress
"""An SQLite file, or a database of a PostgreSQL server."""
PATIENCE = 5.0
"""Seconds to wait for whoever has the database to themselves for a moment."""


class NoDatabase(OperatorError):
    """There is no such file."""


class NotReady(OperatorError):
    """Nothing was begun in the database by this askback or a newer one."""


class Older(NotReady):
    """An older askback wrote it: what is in it cannot be read before it is brought up to date."""


@contextmanager
def opened(path: Path, *, patience: float = PATIENCE) -> Generator[Connection]:
    """A connection to a file that must exist. Whoever uses it begins and ends its transactions.

    Raises `NoDatabase`; whatever SQLite says comes out as it is.
    """
    if check_files(path) is None:
        raise NoDatabase(f"There is no database {path}: nothing was asked there yet. {ELSEWHERE}")
    address = f"{path.absolute().as_uri()}?mode=rw"  # never "create"
    engine = create_engine(
        "sqlite+pysqlite://",
        creator=lambda: sqlite3.connect(address, uri=True, isolation_level=None, timeout=patience),
        poolclass=NullPool,
    )
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


ELSEWHERE = "If another one is meant, set ASKBACK_DATABASE_URL."


def look(where: Where, work: Callable[[Connection], T]) -> T:
    """Run `work` on one snapshot of the database, which it cannot change. Raises `OperatorError`."""
    if isinstance(where, PostgresAddress):
        with extra():
            from askback.store.postgres.external_access import look as look_there
        return look_there(where, work)
    try:
        with opened(where) as connection:
            connection.exec_driver_sql("PRAGMA query_only = ON")
            connection.exec_driver_sql("BEGIN")
            check_version(connection)
            return work(connection)
    except (sqlite3.Error, DBAPIError) as error:
        said = error.orig if isinstance(error, DBAPIError) else error
        raise OperatorError(f"The database {where} cannot be read: {said}. Ask `askback doctor` for more.") from error


@asynccontextmanager
async def writing(where: Where) -> AsyncGenerator[Database]:
    """The database for a commit or two. Raises `OperatorError`.

    An SQLite file gets a writer of its own beside the running one: it lets one of them at a time. On PostgreSQL,
    the processes at work are told in each commit.
    """
    database: Database
    if isinstance(where, PostgresAddress):
        with extra():
            from askback.store.postgres.external_access import Telling
        database = Telling(where, prepare=check_version)
    else:
        database = SqliteDatabase(where, prepare=check_version)
    try:
        yield database
    finally:
        await database.close()


def check_version(connection: Connection) -> None:
    """Raises `OperatorError` unless this askback and the database go together. Changes nothing."""
    stored = version_of(connection)
    if stored == NEWEST:
        return
    if stored is None:
        raise NotReady(f"This database is not one of askback's, or was never begun. {ELSEWHERE}")
    if is_older(stored):
        raise Older(
            f"This database was written by an older askback (version {stored}). Start the bot with this askback: "
            "that brings the database up to date."
        )
    raise OperatorError(
        f"This database was written by a newer askback (version {stored}), and this one knows up to {NEWEST}. "
        "Use the newer one."
    )


def version_of(connection: Connection) -> str | None:
    """The version that the database says it has; None where it says none."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608


def is_older(version: str) -> bool:
    """Whether this askback knows how to bring such a database up to date."""
    versions = files("askback.store") / "migrations" / "versions"
    return version != NEWEST and any(script.name == f"{version}.py" for script in versions.iterdir())


def worker_of(path: Path) -> int | None:
    """The number of the process that works on a database; 0 where it cannot be told, None where there is none."""
    found = read_lock(path)
    if found is None:
        return None
    said, status = found
    told = said.partition("\n")[0].strip()
    written = int(told) if told.isascii() and told.isdigit() else 0
    try:
        held = Path("/proc/locks").read_text(encoding="ascii", errors="replace")
    except OSError:
        return written if _is_locked(path) else None
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    for line in held.splitlines():
        # 1: FLOCK  ADVISORY  WRITE 4242 fd:01:131 0 EOF; with "->" whoever waits for it.
        kind, *rest = line.partition(":")[2].split()
        if kind != "FLOCK" or len(rest) < 4:
            continue
        on, _, inode = rest[3].rpartition(":")
        holder = int(rest[2]) if rest[2].isdigit() else 0
        # Some file systems give the device another name here; then the number in the file has to fit.
        if inode == str(status.st_ino) and (on == device or holder == written):
            return holder or written
    return None


def served_beside(path: Path) -> Served:
    """Of which platforms whoever works on a database, or did so last, takes work; None where it did not say."""
    found = read_lock(path)
    told = [] if found is None else found[0].split("\n")
    return read_served(told[2]) if len(told) > 2 else None


def _is_locked(database: Path) -> bool:
    """Where the system does not list its locks: by taking it for an instant, shared."""
    descriptor = open_beside(lock_path(database), os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
