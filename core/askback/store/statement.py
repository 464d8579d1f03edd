"""Statements that each click and each turn of the model need.

What they say is in SQLAlchemy's words, once for both databases. In SQLite they then go past it: its way there and back
takes several times what SQLite itself does.
"""

from __future__ import annotations

__all__ = ["Row", "Statement"]

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import Boolean, Connection, Delete, Insert, Integer, Select, Text, Update
from sqlalchemy.exc import DBAPIError

Row: TypeAlias = Mapping[str, Any]
"""A row as it was found, by the names of its columns."""


class Statement:
    """One statement, compiled once for the names of its parameters. Its columns are texts, whole numbers and flags."""

    def __init__(self, made: Select[Any] | Insert | Update | Delete) -> None:
        columns = list(made.selected_columns) if isinstance(made, Select) else []
        strange = [column.name for column in columns if not isinstance(column.type, Integer | Text | Boolean)]
        if strange:
            raise TypeError(f"Only SQLAlchemy makes of a row what {', '.join(strange)} stands for.")
        self._flags = [column.name for column in columns if isinstance(column.type, Boolean)]
        self._made = made
        self._compiled: dict[tuple[str, ...], tuple[str, tuple[str, ...], dict[str, Any]]] = {}

    def rows(self, connection: Connection, **parameters: object) -> Sequence[Row]:
        """What it finds."""
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
        """How many rows it changed."""
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
            # As SQLAlchemy raises it.
            raise DBAPIError.instance(text, None, error, sqlite3.Error, hide_parameters=True) from error
