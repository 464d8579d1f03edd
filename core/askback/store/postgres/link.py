"""One connection to PostgreSQL, as a thread of the database has it: opened when needed, and anew when lost."""

from __future__ import annotations

__all__ = ["Link", "connect", "engine_for"]

import contextlib
from typing import Any

import psycopg
from psycopg import sql
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.string import StrDumperUnknown
from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from askback.errors import OperatorError
from askback.store.postgres.address import UNREADABLE, PostgresAddress
from askback.store.postgres.options import check_options
from askback.store.postgres.silence import AttendedConnection

# What is not set in the URL. Times in seconds but for the last.
_DEFAULTS = {
    "application_name": "askback",
    # A standby takes no commit: of several hosts the primary is chosen, and a proxy that leads to a standby is tried
    # again until it leads to the primary.
    "target_session_attrs": "read-write",
    "connect_timeout": "3",
    # A machine that is gone without a word is noticed within some 10 s, by us and by the server.
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "8000",
}
# Set once a connection is there, not while it begins: poolers refuse to pass on what they do not know.
_SETTINGS = {
    "statement_timeout": "10s",
    "lock_timeout": "2s",
    # A client that went silent in a transaction holds its locks until then; ours idle for milliseconds.
    "idle_in_transaction_session_timeout": "3s",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    # Whatever stands in a configuration file: an answer that was acknowledged is on the disk.
    "synchronous_commit": "on",
}


def conninfo(address: PostgresAddress) -> dict[str, str]:
    """What libpq is told. Whatever stands in the URL counts before our own. Raises `OperatorError`."""
    try:
        read = conninfo_to_dict(address.url)
    except (psycopg.Error, UnicodeError):
        # Its words quote what it stumbled over, which may be a part of the password.
        raise OperatorError(UNREADABLE) from None
    given = {name: str(value) for name, value in read.items() if value is not None}
    check_options(given)
    return _DEFAULTS | given


class _WithoutNul(StrDumperUnknown):
    """PostgreSQL's texts cannot hold U+0000, but what people paste and tools print can: nothing else of it is lost."""

    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj.replace("\0", "\ufffd"))


def connect(address: PostgresAddress, **more: str) -> psycopg.Connection:
    """A connection with the settings that every transaction of ours needs. Raises what the driver says.

    `more`: what libpq is told beside the URL, and before it.
    """
    told: dict[str, Any] = conninfo(address) | more
    connection = AttendedConnection.connect(**told)
    connection.adapters.register_dumper(str, _WithoutNul)
    given = told.get("options", "")
    settings = {name: value for name, value in _SETTINGS.items() if name not in given}
    chosen = sql.SQL(", ").join(sql.SQL("set_config({}, {}, false)").format(*item) for item in settings.items())
    try:
        connection.execute(sql.SQL("SELECT {}").format(chosen))
        connection.attend(told)
        connection.commit()
    except BaseException:
        connection.close()
        raise
    return connection


def engine_for(address: PostgresAddress) -> Engine:
    """One for all threads: it remembers what each statement is in SQL, which takes longer than to run it."""
    return create_engine(
        "postgresql+psycopg://",
        creator=lambda: connect(address),
        poolclass=NullPool,
        # An error of the database is told and logged: it must not quote what people wrote.
        hide_parameters=True,
    )


class Link:
    """A connection that is opened anew after it was lost. For one thread alone."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None

    def begin(self, *, read_only: bool = False) -> Connection:
        """A connection whose next statement begins a transaction. Raises what the driver says."""
        if self._connection is None:
            self._connection = self._engine.connect()
        raw = self._connection.connection.driver_connection
        assert isinstance(raw, psycopg.Connection)
        raw.read_only = read_only
        # A work that writes takes its locks first, and sees what was committed before it had them. One that reads
        # sees one moment throughout.
        raw.isolation_level = (
            psycopg.IsolationLevel.REPEATABLE_READ if read_only else psycopg.IsolationLevel.READ_COMMITTED
        )
        self._connection.begin()
        return self._connection

    def roll_back(self) -> None:
        """Undo, and be ready for the next. A connection that cannot do so is closed."""
        if self._connection is None:
            return
        transaction = self._connection.get_transaction()
        if transaction is None:
            return
        try:
            transaction.rollback()
        except (SQLAlchemyError, psycopg.Error):
            self.drop()

    def commit(self) -> None:
        assert self._connection is not None
        transaction = self._connection.get_transaction()
        assert transaction is not None
        transaction.commit()

    def takes_commits(self) -> bool:
        """Ask the server whether it is one that takes commits. False, too, where it does not answer.

        To be followed by `drop`: the connection's settings are not those of a transaction any more.
        """
        self.roll_back()
        if self._connection is None:
            return False
        raw: Any = self._connection.connection.driver_connection
        try:
            raw.autocommit, raw.read_only, raw.isolation_level = True, None, None
            found = raw.execute("SELECT pg_is_in_recovery(), current_setting('transaction_read_only')::bool").fetchone()
        except psycopg.Error:
            return False
        return tuple(found or ()) == (False, False)

    def drop(self) -> None:
        """Close it: the next transaction opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(SQLAlchemyError, psycopg.Error):
                connection.invalidate()
            with contextlib.suppress(SQLAlchemyError, psycopg.Error):
                connection.close()

    def close(self) -> None:
        self.drop()
