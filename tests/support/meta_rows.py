"""Rows of the table `meta`, which tests of the stores write."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, insert

from askback.store.schema import meta


def add(name: str, value: str = "") -> Callable[[Connection], str]:
    """Return a work that adds a row and returns its name."""

    def work(connection: Connection) -> str:
        connection.execute(insert(meta), {"name": name, "value": value})
        return name

    return work
