"""One thread's connection to PostgreSQL, opened when needed and reopened after it was lost."""

from __future__ import annotations

__all__ = ["ReconnectingConnection", "build_settings", "connect", "create_shared_engine"]

import contextlib
from collections.abc import Mapping
from functools import lru_cache
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
from askback.store.database import ENGINES
from askback.store.postgres.address import UNREADABLE, PostgresAddress
from askback.store.postgres.dead_connections import MonitoredConnection
from askback.store.postgres.options import check_options

# Defaults for options that the URL does not set. Times are in seconds, except the last one in milliseconds.
_DEFAULTS = {
    "application_name": "askback",
    # A standby accepts no commits. With several hosts, libpq chooses the primary. A proxy that leads to a standby is
    # tried again until it leads to the primary.
    "target_session_attrs": "read-write",
    "connect_timeout": "3",
    # The client and the server both notice within about 10 s if the other machine disappears silently.
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "8000",
}
# Set after the connection is established, because poolers reject startup parameters that they do not know.
_SETTINGS = {
    "statement_timeout": "10s",
    "lock_timeout": "2s",
    # A client that goes silent in a transaction holds its locks for this long. askback idles only for milliseconds.
    "idle_in_transaction_session_timeout": "3s",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    # This overrides the server's configuration, so that an acknowledged answer is on the disk.
    "synchronous_commit": "on",
}


def build_conninfo(address: PostgresAddress) -> dict[str, str]:
    """Return the options for libpq. Options of the URL override the defaults. Raises `OperatorError`."""
    try:
        read = conninfo_to_dict(address.url)
    except (psycopg.Error, UnicodeError):
        # The driver's error quotes the text that it could not parse, which may be part of the password.
        raise OperatorError(UNREADABLE) from None
    given = {name: str(value) for name, value in read.items() if value is not None}
    check_options(given)
    return _DEFAULTS | given


def build_settings(parameters: Mapping[str, Any]) -> sql.Composed:
    """Return the statement that a new connection with these options for libpq begins with.

    Without these settings, a server keeps the locks of a client that disappeared for as long as its system does not
    notice, which may take hours.
    """
    given = parameters.get("options", "")
    settings = {name: value for name, value in _SETTINGS.items() if name not in given}
    chosen = sql.SQL(", ").join(sql.SQL("set_config({}, {}, false)").format(*item) for item in settings.items())
    return sql.SQL("SELECT {}").format(chosen)


class _WithoutNul(StrDumperUnknown):
    """Replaces U+0000, which PostgreSQL cannot store in a text, but which pasted text and tool output may contain."""

    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj.replace("\0", "\ufffd"))


def connect(address: PostgresAddress, **more: str) -> psycopg.Connection:
    """Return a connection with the settings that every transaction needs. Raises the driver's errors.

    `more` holds further options for libpq, which override the URL's.
    """
    parameters: dict[str, Any] = build_conninfo(address) | more
    connection = MonitoredConnection.connect(**parameters)
    connection.adapters.register_dumper(str, _WithoutNul)
    try:
        connection.execute(build_settings(parameters))
        connection.start_monitoring(parameters)
        connection.commit()
    except BaseException:
        connection.close()
        raise
    return connection


@lru_cache(ENGINES)
def create_shared_engine(address: PostgresAddress) -> Engine:
    """Return the engine that all threads share. It keeps compiled SQL, since compiling takes longer than running."""
    return create_engine(
        "postgresql+psycopg://",
        creator=lambda: connect(address),
        poolclass=NullPool,
        # Database errors are shown and logged, so they must not quote what people wrote.
        hide_parameters=True,
    )


class ReconnectingConnection:
    """A connection that is opened again after it was lost. Only one thread may use it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None

    def begin(self, *, read_only: bool = False) -> Connection:
        """Return a connection whose next statement begins a transaction. Raises the driver's errors."""
        if self._connection is None:
            self._connection = self._engine.connect()
        raw = self._connection.connection.driver_connection
        assert isinstance(raw, psycopg.Connection)
        raw.read_only = read_only
        # A work that writes takes its locks first, and must see everything that was committed before it had them. A
        # work that only reads sees one snapshot throughout.
        raw.isolation_level = (
            psycopg.IsolationLevel.REPEATABLE_READ if read_only else psycopg.IsolationLevel.READ_COMMITTED
        )
        self._connection.begin()
        return self._connection

    def roll_back(self) -> None:
        """Roll back, so that the next transaction can begin. A connection that cannot roll back is closed."""
        if self._connection is None:
            return
        transaction = self._connection.get_transaction()
        if transaction is None:
            return
        try:
            transaction.rollback()
        except (SQLAlchemyError, psycopg.Error):
            self.drop()

    def end_reading(self) -> None:
        """End a transaction that only read. A rollback would make the driver forget its prepared statements."""
        try:
            self.commit()
        except (SQLAlchemyError, psycopg.Error):
            self.drop()

    def commit(self) -> None:
        assert self._connection is not None
        transaction = self._connection.get_transaction()
        assert transaction is not None
        transaction.commit()

    def can_commit(self) -> bool:
        """Ask the server if it accepts commits. Return False also if it does not answer.

        Call `drop` afterwards, since the connection no longer has the settings of a transaction.
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
        """Close the connection. The next transaction opens another one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(SQLAlchemyError, psycopg.Error):
                connection.invalidate()
            with contextlib.suppress(SQLAlchemyError, psycopg.Error):
                connection.close()

    def close(self) -> None:
        self.drop()
