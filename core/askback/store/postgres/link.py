"""One connection to PostgreSQL, as a thread of the database has it: opened when needed, and anew when lost."""

from __future__ import annotations

__all__ = ["Link", "connect", "engine_for"]

import contextlib

import psycopg
from psycopg import sql
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.string import StrDumperUnknown
from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from askback.store.postgres.address import PostgresAddress

# What is not set in the URL. Times in seconds but for the last.
_DEFAULTS = {
    "application_name": "askback",
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
    "idle_in_transaction_session_timeout": "30s",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    # Whatever stands in a configuration file: an answer that was acknowledged is on the disk.
    "synchronous_commit": "on",
}


def conninfo(address: PostgresAddress) -> dict[str, str]:
    """What libpq is told. Whatever stands in the URL counts before our own."""
    told = {name: str(value) for name, value in conninfo_to_dict(address.url).items() if value is not None}
    return _DEFAULTS | told


class _WithoutNul(StrDumperUnknown):
    """PostgreSQL's texts cannot hold U+0000, but what people paste and tools print can: nothing else of it is lost."""

    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj.replace("\0", "\ufffd"))


def connect(address: PostgresAddress) -> psycopg.Connection:
    """A connection with the settings that every transaction of ours needs. Raises what the driver says."""
    told = conninfo(address)
    connection = psycopg.connect(**told)  # pyright: ignore[reportArgumentType] - any keyword of libpq
    connection.adapters.register_dumper(str, _WithoutNul)
    given = told.get("options", "")
    settings = {name: value for name, value in _SETTINGS.items() if name not in given}
    chosen = sql.SQL(", ").join(sql.SQL("set_config({}, {}, false)").format(*item) for item in settings.items())
    try:
        connection.execute(sql.SQL("SELECT {}").format(chosen))
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
