"""Check an SQLite database: its file, the process that holds it, and its commits."""

from __future__ import annotations

__all__ = ["check_space", "examine_database"]

import os
import shlex
import shutil
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from askback.errors import OperatorError
from askback.internal.clock import now
from askback.ports.findings import Finding, report_broken, report_error, report_good, report_warning
from askback.store.external_access import find_worker_pid, is_older, list_worker_platforms, open_file, read_version
from askback.store.migrate import NEWEST
from askback.store.sqlite.files import check_files

MEGABYTE = 1_000_000
SCARCE = 200 * MEGABYTE
GONE = 10 * MEGABYTE
LOOK_EVERY = 10_000
"""Number of SQLite steps between two checks whether the caller has stopped waiting."""
PROBLEMS = 3
ANOTHER = "Set ASKBACK_DATABASE_URL to another file on a local disk."


class _Stopped(Exception):
    """Raised when the caller no longer waits."""


def examine_database(path: Path, *, patience: float, stop: threading.Event) -> list[Finding]:
    """Check the file and its contents. Blocks until done or until `stop` is set, without delaying other writers.

    Make one small commit, in a separate row, and try it for `patience` seconds.
    """
    try:
        mode = check_files(path)
    except OperatorError as error:
        return list(report_error("file", error, ANOTHER))
    if mode is None:
        return [*_examine_missing(path), *_examine_lock(path)]
    found = [*_examine_mode(path), *_examine_lock(path), *_examine_space(path)]
    try:
        with _catch_sqlite_errors(path, found), open_file(path, patience=patience) as connection:
            version = read_version(connection)
            found.append(_examine_version(path, version))
            if version == NEWEST:
                found.append(_examine_commit(path, connection, patience))
            found.append(_examine_content(path, connection, stop))
    except _Stopped:
        pass  # no one reads the findings any more
    return found


def _examine_missing(path: Path) -> list[Finding]:
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        summary = f"The bot cannot create the database {path}: this user cannot write to {folder} ({error.strerror})."
        return [report_broken("file", summary, f"Make {folder} writable for this user, or set ASKBACK_DATABASE_URL.")]
    return [report_good("file", f"The database {path} does not exist yet; the first start creates it.")]


def _examine_mode(path: Path) -> list[Finding]:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        summary = f"Other users of this machine can read {path} (mode {mode:04o}), which holds conversations."
        return [report_warning("file", summary, f"Run: chmod 600 {shlex.quote(str(path))}")]
    if not os.access(path, os.W_OK):
        return [report_broken("file", f"This user cannot write to {path}.", f"Run: chmod 600 {shlex.quote(str(path))}")]
    return [report_good("file", f"Only its owner can read and write {path}.")]


def _examine_lock(path: Path) -> list[Finding]:
    try:
        worker = find_worker_pid(path)
    except OperatorError as error:
        return list(report_error("lock", error, "Find out who created that file. Remove it while no bot runs."))
    if worker is None:
        return [report_good("lock", "No bot is using the database now.")]
    which = f"process {worker}" if worker else "another process"
    served = list_worker_platforms(path)
    serving = f", for {' and '.join(sorted(served))}" if served else ""
    return [report_good("lock", f"The running bot holds it ({which}{serving}).")]


def _examine_space(path: Path) -> list[Finding]:
    return [check_space(shutil.disk_usage(path.parent).free, path.parent)]


def check_space(free: int, folder: Path) -> Finding:
    """Return the finding for this number of free bytes."""
    cure = f"Free space on the disk of {folder}."
    summary = f"The disk of the database has {free // MEGABYTE} MB free"
    if free < GONE:
        return report_broken("disk", f"{summary}: commits will soon fail.", cure)
    if free < SCARCE:
        return report_warning("disk", f"{summary}.", cure)
    return report_good("disk", f"{summary}.")


def _examine_version(path: Path, version: str | None) -> Finding:
    if version == NEWEST:
        return report_good("version", f"The schema is current (version {version}).")
    if version is None:
        if path.stat().st_size == 0:
            return report_good("version", "The database is empty; the first start creates its tables.")
        return report_broken("version", f"{path} is a database of another program.", ANOTHER)
    if is_older(version):
        cure = f"Back up {path} (askback backup FILE), and start the bot once: it upgrades the database."
        return report_warning("version", f"An older askback wrote it (schema version {version}).", cure)
    summary = f"A newer askback wrote it (schema version {version}); this one supports up to {NEWEST}."
    return report_broken("version", summary, "Install the newer askback again, or restore a backup of the database.")


def _examine_commit(path: Path, connection: Connection, patience: float) -> Finding:
    try:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        connection.exec_driver_sql("INSERT OR REPLACE INTO meta (name, value) VALUES ('examined_at', ?)", (str(now()),))
        connection.exec_driver_sql("COMMIT")
    except DBAPIError as error:
        if _get_error_code(error) == sqlite3.SQLITE_BUSY:
            summary = f"Another program has locked it for more than {patience:g} s: the bot rejects clicks meanwhile."
            return report_broken("commit", summary, f"Find and stop that program: fuser -v {shlex.quote(str(path))}")
        return report_broken("commit", f"A commit failed: {error.orig}.", _STEPS.get(_get_error_code(error), ANOTHER))
    return report_good("commit", "A test commit succeeded.")


def _examine_content(path: Path, connection: Connection, stop: threading.Event) -> Finding:
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    raw.set_progress_handler(lambda: int(stop.is_set()), LOOK_EVERY)
    try:
        problems = [str(row[0]) for row in connection.exec_driver_sql(f"PRAGMA quick_check({PROBLEMS})")]
    except DBAPIError as error:
        if stop.is_set():
            raise _Stopped from None
        problems = [str(error.orig)]
    finally:
        raw.set_progress_handler(None, 0)
    if problems == ["ok"]:
        return report_good("content", "The integrity check found no damage.")
    return report_broken("content", f"The database is damaged: {problems[0]}.", _restore(path))


def _restore(path: Path) -> str:
    name = shlex.quote(str(path))
    return f"Stop the bot and restore a backup, or recover what is readable: sqlite3 {name} .recover | sqlite3 saved.db"


@contextmanager
def _catch_sqlite_errors(path: Path, found: list[Finding]) -> Generator[None]:
    """Turn SQLite's errors about a file that cannot be opened or read into a finding."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        cause, code = (error.orig if isinstance(error, DBAPIError) else error), _get_error_code(error)
        if code == sqlite3.SQLITE_NOTADB:
            found.append(report_broken("content", f"{path} is not an SQLite database.", ANOTHER))
        elif code == sqlite3.SQLITE_CORRUPT:
            found.append(report_broken("content", f"The database is damaged: {cause}.", _restore(path)))
        else:
            found.append(report_broken("content", f"Could not read the database: {cause}.", _STEPS.get(code, ANOTHER)))


_STEPS = {
    sqlite3.SQLITE_CANTOPEN: "Make its directory readable and writable for this user.",
    sqlite3.SQLITE_FULL: "Free space on its disk.",
    sqlite3.SQLITE_IOERR: "Check its disk for errors.",
    sqlite3.SQLITE_READONLY: "Make the file and its directory writable for this user.",
    sqlite3.SQLITE_BUSY: "Use fuser -v to find the program that has locked it, and stop that program.",
}


def _get_error_code(error: BaseException) -> int:
    origin = error.orig if isinstance(error, DBAPIError) else error
    return getattr(origin, "sqlite_errorcode", 0) & 0xFF
