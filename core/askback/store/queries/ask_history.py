"""Reads open and settled questions, for the operator's lists and statistics."""

from __future__ import annotations

__all__ = ["iterate"]

from collections.abc import Iterator

from sqlalchemy import Connection, select

from askback.domain.ask import Ask
from askback.domain.ask_filter import AskFilter
from askback.internal.clock import to_micros
from askback.store.queries.asks import read_asks
from askback.store.queries.platform_claims import is_served
from askback.store.schema import asks
from askback.store.unreadable_rows import SkippedRows

ROWS = 500
"""Number of rows to hold in memory at a time."""


def iterate(connection: Connection, wanted: AskFilter, left: SkippedRows) -> Iterator[Ask]:
    """Yield the wanted questions, newest first. Add those that only a newer release can read to `left`.

    This reads each row of the time range, so it is for the operator's commands alone.
    """
    query = select(asks).order_by(asks.c.created_at.desc(), asks.c.id)
    if wanted.since is not None:
        query = query.where(asks.c.created_at >= to_micros(wanted.since))
    if wanted.platform is not None:
        query = query.where(is_served(asks.c.place_key, frozenset({wanted.platform})))
    if wanted.states:
        stored = {"answered" if state == "refused" else state for state in wanted.states}
        query = query.where(asks.c.status.in_(stored))
    rows = connection.execution_options(yield_per=ROWS).execute(query).mappings()
    return (ask for ask in read_asks(rows, left) if wanted.matches(ask))
