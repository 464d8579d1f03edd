"""Find work that waits for a process of its platform. Runs inside a caller's transaction."""

from __future__ import annotations

__all__ = ["list_unserved_platforms"]

from datetime import timedelta

from sqlalchemy import Connection, Select, and_, select

from askback.internal.clock import MICROSECOND
from askback.store.database_clock import read_now
from askback.store.queries.platform_claims import is_served, list_served_platforms, parse_platform
from askback.store.schema import asks, conversations, outbox


def list_unserved_platforms(connection: Connection, for_long: timedelta, served: frozenset[str]) -> frozenset[str]:
    """Return the platforms that have had work due `for_long` and that neither this process nor another one serves.

    `served` are the platforms of this process.
    """
    taken = set(served)
    if connection.dialect.name == "postgresql":
        for other in list_served_platforms(connection):
            if other is None:
                return frozenset()
            taken |= other
    found: set[str] = set()
    # Find one platform at a time, since each may have many rows.
    while True:
        further: set[str] = set()
        for query in _select_overdue(read_now(connection) - for_long // MICROSECOND):
            others = ~is_served(query.selected_columns.place_key, frozenset(taken | found))
            further.update(map(parse_platform, connection.execute(query.where(others).limit(1)).scalars()))
        if not further:
            return frozenset(found)
        found |= further


def _select_overdue(since: int) -> tuple[Select[str], ...]:
    """Return a query for each kind of work, which finds the places where it has been due since that time."""
    leased, put_off = outbox.c.leased_until, conversations.c.turn_after
    to_show = and_(outbox.c.due_at < since, leased.is_(None) | (leased < since))
    wanted = and_(conversations.c.wants_turn, conversations.c.updated_at < since, put_off.is_(None) | (put_off < since))
    return (
        select(asks.c.place_key).join(outbox, outbox.c.ask_id == asks.c.id).where(to_show),
        select(conversations.c.place_key).join(outbox, outbox.c.conversation_id == conversations.c.id).where(to_show),
        select(conversations.c.place_key).where(wanted),
        select(asks.c.place_key).where(asks.c.status == "open", asks.c.attend_at < since),
    )
