"""The clock for leases, due times and deadlines. On PostgreSQL, it is the server's, read inside the statement, since
several machines share the database and their clocks differ. An SQLite file belongs to one machine, so its clock is
passed as a parameter.
"""

from __future__ import annotations

__all__ = ["NOW", "get_now_parameter", "read_now"]

from typing import Any

from sqlalchemy import BigInteger, Connection, bindparam, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from askback.internal import clock


class _ServerTime(FunctionElement[int]):
    """The store's time, in microseconds since the epoch."""

    type = BigInteger()
    inherit_cache = True


@compiles(_ServerTime)
def _compile_parameter(element: _ServerTime, compiler: SQLCompiler, **more: Any) -> str:
    return compiler.process(element.clauses, **more)


@compiles(_ServerTime, "postgresql")
def _compile_server_time(element: _ServerTime, compiler: SQLCompiler, **more: Any) -> str:
    # The value is stable within the statement, so that an index can serve a comparison with it.
    given = compiler.process(element.clauses, **more)
    return f"coalesce(CAST({given} AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))"


NOW = _ServerTime(bindparam("now", type_=BigInteger()))
"""The store's time as an SQL expression. A statement that uses it takes the parameter `now`, which `get_now_parameter`
returns."""
_READ = select(NOW)


def get_now_parameter(connection: Connection) -> int | None:
    """Return the value of the parameter `now`. None means that the database reads its own clock."""
    return None if connection.dialect.name == "postgresql" else clock.now()


def read_now(connection: Connection) -> int:
    """Return the store's time, in microseconds since the epoch."""
    given = get_now_parameter(connection)
    return connection.execute(_READ, {"now": None}).scalar_one() if given is None else given
