"""Compiled statements for the queries of each click and each turn.

They are written with SQLAlchemy, once for both databases. On SQLite, they bypass SQLAlchemy at run time, because its
overhead is several times the work of SQLite itself.
"""

from __future__ import annotations

__all__ = ["Row", "Statement"]

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import Boolean, Connection, Delete, Insert, Integer, Select, Text, Update
from sqlalchemy.exc import DBAPIError

Row: TypeAlias = Mapping[str, Any]
"""A row as a mapping of column names to values."""


class Statement:
    """A statement that is compiled once per set of parameter names. Its columns are texts, integers and booleans."""

    def __init__(self, made: Select[Any] | Insert | Update | Delete) -> None:
        columns = list(made.selected_columns) if isinstance(made, Select) else []
        strange = [column.name for column in columns if not isinstance(column.type, Integer | Text | Boolean)]
        if strange:
            raise TypeError(f"A Statement cannot convert the columns {', '.join(strange)}: run it through SQLAlchemy.")
        self._flags = [column.name for column in columns if isinstance(column.type, Boolean)]
        self._made = made
        self._compiled: dict[tuple[str, ...], tuple[str, tuple[str, ...], dict[str, Any]]] = {}

    def fetch_rows(self, connection: Connection, **parameters: object) -> Sequence[Row]:
        """Run the statement and return the rows that it selects."""
        raw = connection.connection.driver_connection
        if not isinstance(raw, sqlite3.Connection):
            found = connection.execute(self._made, parameters).mappings()
            return [{str(name): value for name, value in row.items()} for row in found]
        cursor = self._run(connection, raw, parameters)
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        for row in rows:
            for name in self._flags:
                row[name] = None if row[name] is None else bool(row[name])
        return rows

    def change(self, connection: Connection, **parameters: object) -> int:
        """Run the statement and return the number of rows that it changed."""
        raw = connection.connection.driver_connection
        if not isinstance(raw, sqlite3.Connection):
            return connection.execute(self._made, parameters).rowcount
        return self._run(connection, raw, parameters).rowcount

    def _run(self, connection: Connection, raw: sqlite3.Connection, parameters: dict[str, object]) -> sqlite3.Cursor:
        keys = tuple(parameters)
        if keys not in self._compiled:
            made = self._made.compile(dialect=connection.dialect, column_keys=keys)
            self._compiled[keys] = str(made), tuple(made.positiontup or ()), dict(made.params)
        text, order, constants = self._compiled[keys]
        given = constants | parameters
        try:
            return raw.execute(text, [given[name] for name in order])
        except sqlite3.Error as error:
            # Raise what SQLAlchemy would raise.
            raise DBAPIError.instance(text, None, error, sqlite3.Error, hide_parameters=True) from error
