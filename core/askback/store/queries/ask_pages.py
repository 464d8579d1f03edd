"""Read the open questions of a caller page by page. Runs inside a caller's transaction."""

from __future__ import annotations

__all__ = ["read_page"]

from sqlalchemy import Connection, select, tuple_

from askback.domain.ask_page import AskPage, Cursor
from askback.store.queries.asks import read_asks
from askback.store.schema import asks
from askback.store.unreadable_rows import SkippedRows


def read_page(connection: Connection, beginning: str, after: Cursor | None, at_most: int) -> AskPage:
    """Return the first open asks whose key begins with a text, oldest first, or the first ones after a cursor.

    Those of a newer release are left out, but count as shown.
    """
    query = (
        select(asks.c.id, asks.c.key, asks.c.created_at)
        .where(asks.c.status == "open", asks.c.key.startswith(beginning, autoescape=True))
        .order_by(asks.c.created_at, asks.c.id)
    )
    if after is not None:
        query = query.where(tuple_(asks.c.created_at, asks.c.id) > tuple_(after.created_at, after.id))
    found = [row for row in connection.execute(query) if row.key.startswith(beginning)]
    shown = found[:at_most]
    rows = connection.execute(select(asks).where(asks.c.id.in_([row.id for row in shown]))).mappings()
    by_id = {ask.id: ask for ask in read_asks(rows, SkippedRows())}
    return AskPage(
        tuple(by_id[row.id] for row in shown if row.id in by_id),
        len(found) - len(shown),
        Cursor(shown[-1].created_at, shown[-1].id) if len(found) > len(shown) else None,
    )
