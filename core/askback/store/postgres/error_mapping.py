"""Map errors of PostgreSQL to the errors that callers of the store get."""

from __future__ import annotations

__all__ = [
    "NotPrimary",
    "ServerSilent",
    "find_remedy",
    "format_message",
    "format_reason",
    "get_sqlstate",
    "is_conflict",
    "is_lost",
    "is_of_the_database",
    "is_silent",
    "is_unread",
    "may_be_standby",
    "to_store_error",
]  # fmt: skip

import re

import psycopg
from sqlalchemy.exc import DBAPIError

from askback.store.error_mapping import build_not_committed_error
from askback.store.errors import StoreBusy, StoreError, StoreUnavailable

# Remedies by SQLSTATE or its class: https://www.postgresql.org/docs/current/errcodes-appendix.html
_UNAVAILABLE = {
    "08": "check that the server runs and is reachable",
    "25006": "check that it is the primary, and is not set to read-only",
    "0A000": "connect to PostgreSQL itself, not through PgBouncer or another pooler",
    "28000": "allow this machine in the server's pg_hba.conf",
    "28": "check the user and the password in ASKBACK_DATABASE_URL",
    "3D000": "create the database, or set ASKBACK_DATABASE_URL to an existing one",
    "42501": "grant the user the missing privileges",
    "42703": "replace this process if a newer askback has upgraded the tables",
    "42P01": "replace this process if a newer askback has upgraded the tables",
    "53100": "free space on its disk",
    "53200": "give the server more memory",
    "53300": "allow more connections (max_connections)",
    "57P": "check that the server runs",
    "58": "check the server's disk and log",
    "XX": "see the server's log",
}
_BUSY = {"55P03": "another session has locked it", "57014": "the statement took too long"}

# Before a session exists, the driver passes on the server's message without its code.
_WITHOUT_CODE = (
    ("password authentication failed|no password supplied|role .* does not exist|not permitted to log in", "28"),
    ("no pg_hba.conf entry", "28000"),
    ("database .* does not exist", "3D000"),
    ("permission denied for database", "42501"),
    ("too many clients|too many connections|connection slots are reserved", "53300"),
    ("read-only|standby mode|hot standby", "25006"),
    ("unsupported startup parameter", "0A000"),
)
_MARK = re.compile(r"^connection (?:failed|is bad): ")
_MORE = re.compile(r"\s*(?:Is the server running .*|Multiple connection attempts failed.*)", re.DOTALL)

# A retry reads a newer snapshot, which includes what other transactions committed meanwhile.
_AGAIN = frozenset({"40001", "40P01", "23505", "23503"})
# The connection is lost, or about to be.
_LOST = ("08", "57P01", "57P02", "57P03", "57P05", "25P03", "25006")
# A standby's answers to a statement that writes, and to the BEGIN of a transaction that may write. Other errors share
# the second code.
_BY_STANDBY = frozenset({"25006", "0A000"})


class NotPrimary(psycopg.OperationalError):
    """Raised if the connection leads to a standby or a read-only server. A new connection may lead to the primary."""

    sqlstate = "25006"

    def __init__(self) -> None:
        super().__init__("the server does not accept commits")


def _get_origin(error: BaseException) -> BaseException:
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


def get_sqlstate(error: BaseException) -> str:
    """Return the SQLSTATE, or an empty string if there is none, for example if the server could not be reached."""
    origin = _get_origin(error)
    return (origin.sqlstate or "") if isinstance(origin, psycopg.Error) else ""


def is_lost(error: BaseException) -> bool:
    """Return True if the connection is lost. Then nothing was committed, unless the COMMIT had been sent."""
    if state := get_sqlstate(error):
        # The class does not tell: the driver counts the end of an idle transaction among the internal errors.
        return state.startswith(_LOST)
    return isinstance(_get_origin(error), psycopg.OperationalError | psycopg.InterfaceError)


class ServerSilent(psycopg.OperationalError):
    """Raised if a connection is still open, but the other end does not answer."""

    def __init__(self) -> None:
        super().__init__("the connection is silent")


def is_silent(error: BaseException) -> bool:
    """Return True if the server stopped answering without an error. That affects more than one connection."""
    return isinstance(_get_origin(error), ServerSilent)


def is_unread(error: BaseException) -> bool:
    """Return True if the server ended the session because it was idle in a transaction.

    Then the server has not read the last statement, and has committed nothing.
    """
    return get_sqlstate(error) == "25P03"


def may_be_standby(error: BaseException) -> bool:
    """Return True if a standby may have answered this to a transaction that writes.

    Only the server can tell for certain.
    """
    return get_sqlstate(error) in _BY_STANDBY


def is_conflict(error: BaseException) -> bool:
    """Return True if a retry may succeed at once, because the transaction only conflicted with another one."""
    return get_sqlstate(error) in _AGAIN


def is_of_the_database(error: BaseException) -> bool:
    """Return True if the database is at fault, and not the statement."""
    return is_lost(error) or _suggest_step(get_sqlstate(error)) is not None


def _suggest_step(state: str) -> str | None:
    known = _UNAVAILABLE | _BUSY
    return next((known[state[:length]] for length in (5, 3, 2) if state[:length] in known), None)


def format_reason(error: BaseException) -> str:
    """Return the error as one line, with its remedy if that is known."""
    to_do = find_remedy(error)
    return f"{format_message(error)} ({to_do})" if to_do else format_message(error)


def format_message(error: BaseException) -> str:
    """Return the error's message as one line."""
    origin = _get_origin(error)
    return " ".join(_MORE.sub("", _MARK.sub("", str(origin))).split()).rstrip(".") or type(origin).__name__


def find_remedy(error: BaseException) -> str | None:
    """Return the remedy, or None if it is not known."""
    return _suggest_step(get_sqlstate(error) or _parse_state(format_message(error)))


def _parse_state(words: str) -> str:
    return next((state for known, state in _WITHOUT_CODE if re.search(known, words)), "08")


def to_store_error(error: BaseException, *, in_doubt: bool = False) -> StoreError:
    error_type = StoreBusy if get_sqlstate(error) in _BUSY else StoreUnavailable
    return build_not_committed_error(error_type, f": {format_reason(error)}", error, in_doubt=in_doubt)
