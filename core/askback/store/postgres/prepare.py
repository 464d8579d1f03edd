"""Bring a PostgreSQL database to this askback's schema, including the tables of the job queue procrastinate."""

from __future__ import annotations

__all__ = ["prepare"]

import logging
from pathlib import Path

import psycopg
from procrastinate.schema import SchemaManager
from sqlalchemy import Connection, delete, func, insert, inspect, select

from askback.store import migrate
from askback.store.schema import meta

log = logging.getLogger("askback.store")

_NAME = "procrastinate"
_LOCK = 0x61736B6261636B  # the letters "askback"; processes that start together wait for each other here

IDLE_SECONDS = 60
"""Seconds after which the server ends the transaction of a process that has gone silent during it."""


def prepare(connection: Connection) -> None:
    """Upgrade the schema in the caller's transaction. Raises `OperatorError`."""
    connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
    connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
    # A migration computes between its statements, which takes seconds on a busy machine.
    connection.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'")
    connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
    migrate.prepare(connection)
    _prepare_jobs(connection)


def _prepare_jobs(connection: Connection) -> None:
    scripts = sorted(path for path in Path(SchemaManager.get_migrations_path()).glob("*.sql"))
    newest = scripts[-1].name
    stored = connection.execute(select(meta.c.value).where(meta.c.name == _NAME)).scalar_one_or_none()
    if stored == newest:
        return
    if stored is None and "procrastinate_jobs" in inspect(connection).get_table_names():
        # Another program created the tables in the same schema, and upgrades them.
        log.info("Using procrastinate's tables of another program.", extra={"action": "jobs_shared"})
        return
    raw = connection.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    if stored is None:
        raw.execute(SchemaManager.get_schema())
    elif stored < newest:
        for script in scripts:
            if script.name > stored:
                raw.execute(script.read_bytes())
    connection.execute(delete(meta).where(meta.c.name == _NAME))
    connection.execute(insert(meta).values(name=_NAME, value=max(stored or newest, newest)))
