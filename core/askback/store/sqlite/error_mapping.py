"""Map errors of SQLite to the errors that callers of the store get."""

from __future__ import annotations

__all__ = ["build_swallowed_commit_error", "format_reason", "get_code", "is_of_the_database", "to_store_error"]

import sqlite3

from sqlalchemy.exc import DBAPIError

from askback.store.error_mapping import build_not_committed_error
from askback.store.errors import StoreBusy, StoreError, StoreUnavailable

# Result codes for which the database is at fault and not the statement, each with a remedy.
_UNAVAILABLE = {
    sqlite3.SQLITE_CANTOPEN: "check that its directory exists and is writable",
    sqlite3.SQLITE_CORRUPT: "restore a backup",
    sqlite3.SQLITE_FULL: "free space on its disk",
    sqlite3.SQLITE_IOERR: "check its disk for errors",
    sqlite3.SQLITE_NOMEM: "give the process more memory",
    sqlite3.SQLITE_NOTADB: "set ASKBACK_DATABASE_URL to an SQLite database",
    sqlite3.SQLITE_READONLY: "make the file and its directory writable",
}
_BUSY = {
    sqlite3.SQLITE_BUSY: "another process has locked it",
    sqlite3.SQLITE_LOCKED: "another process has locked it",
}


def is_of_the_database(error: DBAPIError) -> bool:
    """Return True if the database is at fault, and not the statement."""
    return get_code(error) in _UNAVAILABLE or get_code(error) in _BUSY


def get_code(error: BaseException) -> int:
    """Return SQLite's primary result code, or 0 if the error is not SQLite's."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    # The attribute is missing if the Python module itself raised the error.
    return getattr(origin, "sqlite_errorcode", 0) & 0xFF


def format_reason(error: BaseException) -> str:
    reason = str(error.orig if isinstance(error, DBAPIError) else error)
    step = (_UNAVAILABLE | _BUSY).get(get_code(error))
    return f"{reason} ({step})" if step else reason


def to_store_error(error: BaseException, *, in_doubt: bool = False) -> StoreError:
    error_type = StoreBusy if get_code(error) in _BUSY else StoreUnavailable
    return build_not_committed_error(error_type, f": {format_reason(error)}", error, in_doubt=in_doubt)


def build_swallowed_commit_error() -> StoreUnavailable:
    return StoreUnavailable(
        "A work caught an error with which SQLite had ended its transaction. Its later changes may or may not be "
        "saved.",
        in_doubt=True,
    )
