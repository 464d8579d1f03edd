"""Compiled statements for the queries of each click and each turn.

They are written with SQLAlchemy, once for both databases. At run time they go straight to the driver, because
SQLAlchemy's overhead is several times the work of the database itself.
"""

from __future__ import annotations

__all__ = ["Row", "Statement"]

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Protocol, TypeAlias

from sqlalchemy import (
    Boolean,
    CompoundSelect,
    Connection,
    Delete,
    Dialect,
    Insert,
    Integer,
    Select,
    SelectBase,
    Text,
    Update,
)
from sqlalchemy.exc import DBAPIError

AnyStatement: TypeAlias = Select[*tuple[Any, ...]] | CompoundSelect[*tuple[Any, ...]] | Insert | Update | Delete
Row: TypeAlias = Mapping[str, Any]
"""A row as a mapping of column names to values."""


class _Cursor(Protocol):
    """The part of a driver's cursor that is the same in sqlite3 and psycopg."""

    @property
    def description(self) -> Sequence[Sequence[Any]] | None: ...
    @property
    def rowcount(self) -> int: ...
    def fetchall(self) -> list[Any]: ...


class _Driver(Protocol):
    """The part of a driver's connection that is the same in sqlite3 and psycopg."""

    def execute(self, query: str, params: Any, /) -> _Cursor: ...


class Statement:
    """A statement that is compiled once per database and set of parameter names.

    Its columns are texts, integers and booleans.
    """

    def __init__(self, made: AnyStatement) -> None:
        columns = list(made.selected_columns) if isinstance(made, SelectBase) else []
        strange = [column.name for column in columns if not isinstance(column.type, Integer | Text | Boolean)]
        if strange:
            raise TypeError(f"A Statement cannot convert the columns {', '.join(strange)}: run it through SQLAlchemy.")
        self._flags = [column.name for column in columns if isinstance(column.type, Boolean)]
        self._made = made
        self._compiled: dict[tuple[str, ...], _Compiled] = {}

    def fetch_rows(self, connection: Connection, **parameters: object) -> Sequence[Row]:
        """Run the statement and return the rows that it selects."""
        compiled = self._compile(connection, parameters)
        cursor = compiled.execute(connection, parameters)
        found = cursor.fetchall()
        if not found:
            return []
        if compiled.names is None:
            compiled.names = [column[0] for column in cursor.description or ()]
        names = compiled.names
        rows = [dict(zip(names, row, strict=True)) for row in found]
        for row in rows:
            for name in self._flags:
                row[name] = None if row[name] is None else bool(row[name])
        return rows

    def change(self, connection: Connection, **parameters: object) -> int:
        """Run the statement and return the number of rows that it changed."""
        return self._compile(connection, parameters).execute(connection, parameters).rowcount

    def _compile(self, connection: Connection, parameters: dict[str, object]) -> _Compiled:
        keys = (connection.dialect.name, *parameters)
        compiled = self._compiled.get(keys)
        if compiled is None:
            compiled = self._compiled[keys] = _Compiled(self._made, connection.dialect, tuple(parameters))
        return compiled


class _Compiled:
    """A statement as SQL of one database, with the values that are part of it."""

    def __init__(self, made: AnyStatement, dialect: Dialect, keys: tuple[str, ...]) -> None:
        compiled = made.compile(dialect=dialect, column_keys=keys)
        self.text = str(compiled)
        self.error: type[Exception] = dialect.loaded_dbapi.Error
        """The base class of the driver's errors."""
        self.names: list[str] | None = None
        """The names of the columns. None until rows were read."""
        self._constants = {name: value for name, value in compiled.params.items() if name not in keys}
        order = compiled.positiontup
        self._pick = None if order is None else _pick_in_order(order)
        """Returns the values of the parameters in their order. None if the driver takes them by name."""

    def execute(self, connection: Connection, parameters: dict[str, object]) -> _Cursor:
        try:
            return _get_driver(connection).execute(self.text, self._bind(parameters))
        except self.error as error:
            raise self._to_sqlalchemy(error) from error

    def _bind(self, parameters: dict[str, object]) -> Sequence[object] | dict[str, object]:
        """Return the parameters as the driver takes them."""
        given = self._constants | parameters if self._constants else parameters
        return given if self._pick is None else self._pick(given)

    def _to_sqlalchemy(self, error: Exception) -> BaseException:
        """Return the error that SQLAlchemy would raise."""
        return DBAPIError.instance(self.text, None, error, self.error, hide_parameters=True)


def _pick_in_order(names: Sequence[str]) -> Callable[[Mapping[str, object]], Sequence[object]]:
    """Return a function that picks the values of these names, as quickly as Python can."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda given: [given[name] for name in names]


def _get_driver(connection: Connection) -> _Driver:
    driver: Any = connection.connection.dbapi_connection
    return driver
