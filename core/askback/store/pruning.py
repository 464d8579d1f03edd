"""What is deleted when it was kept long enough. Runs inside a caller's transaction, a few rows at a time."""

from __future__ import annotations

__all__ = ["Pruned", "prune"]

from datetime import datetime

from sqlalchemy import Connection, Table, delete, select

from askback.clock import to_micros
from askback.store.schema import actions, asks, calls, conversations, inbox, offers, outbox, transcript, usage
from askback.values import Value


class Pruned(Value):
    """How much was deleted."""

    conversations: int = 0
    asks: int = 0


def prune(connection: Connection, before: datetime, at_most: int) -> Pruned:
    """Delete conversations that rested since then, and settled asks of nobody's conversation.

    What waits for people, has something to do, or has something to show stays, however old it is.
    """
    moment = to_micros(before)
    open_ask = select(asks.c.id).where(asks.c.conversation_id == conversations.c.id, asks.c.status == "open")
    to_show = select(outbox.c.id).where(outbox.c.conversation_id == conversations.c.id)
    resting = (
        select(conversations.c.id)
        .where(conversations.c.updated_at < moment, conversations.c.wants_turn.is_(False))
        .where(~open_ask.exists(), ~to_show.exists())
        .order_by(conversations.c.updated_at)
        .limit(at_most)
    )
    ids = tuple(connection.execute(resting).scalars())
    owned = tuple(connection.execute(select(asks.c.id).where(asks.c.conversation_id.in_(ids))).scalars())
    showing = select(outbox.c.id).where(outbox.c.target == "ask:" + asks.c.id)
    settled = (
        select(asks.c.id)
        .where(asks.c.conversation_id.is_(None), asks.c.settled_at < moment, ~showing.exists())
        .order_by(asks.c.settled_at)
        .limit(at_most)
    )
    alone = tuple(connection.execute(settled).scalars())
    _delete_asks(connection, (*owned, *alone))
    tables: tuple[Table, ...] = (offers, calls, transcript, inbox, usage)
    for table in tables:
        connection.execute(delete(table).where(table.c.conversation_id.in_(ids)))
    connection.execute(delete(conversations).where(conversations.c.id.in_(ids)))
    return Pruned(conversations=len(ids), asks=len(owned) + len(alone))


def _delete_asks(connection: Connection, ids: tuple[str, ...]) -> None:
    connection.execute(delete(actions).where(actions.c.ask_id.in_(ids)))
    connection.execute(delete(asks).where(asks.c.id.in_(ids)))
