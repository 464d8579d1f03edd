"""The clock that leases, due times and deadlines are compared with: the database's own, read inside the statement.

Processes on several machines share a PostgreSQL database, and their wall clocks differ. An SQLite file belongs to one
machine, whose clock is passed in as a parameter.
"""

from __future__ import annotations

__all__ = ["NOW", "given_now", "read_now"]

from typing import Any

from sqlalchemy import BigInteger, Connection, bindparam, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from askback.internal import clock


class _ServerTime(FunctionElement[int]):
    """The time of the store, in microseconds since the epoch."""

    type = BigInteger()
    inherit_cache = True


@compiles(_ServerTime)
def _given(element: _ServerTime, compiler: SQLCompiler, **more: Any) -> str:
    return compiler.process(element.clauses, **more)


@compiles(_ServerTime, "postgresql")
def _of_server(element: _ServerTime, compiler: SQLCompiler, **more: Any) -> str:
    # Stable within the statement, so that an index serves a comparison with it.
    given = compiler.process(element.clauses, **more)
    return f"coalesce(CAST({given} AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))"


NOW = _ServerTime(bindparam("now", type_=BigInteger()))
"""The store's time. A statement with it takes the parameter `now`: what `given_now` returns."""
_READ = select(NOW)


def given_now(connection: Connection) -> int | None:
    """Return what to pass as the parameter `now`. None: the database reads its own clock."""
    return None if connection.dialect.name == "postgresql" else clock.now()


def read_now(connection: Connection) -> int:
    """Return the store's time."""
    given = given_now(connection)
    return connection.execute(_READ, {"now": None}).scalar_one() if given is None else given
