"""Delete rows whose retention time has passed. Runs inside a caller's transaction, a few rows at a time."""

from __future__ import annotations

__all__ = ["PruneCounts", "prune"]

from datetime import datetime

from sqlalchemy import Connection, Select, Table, delete, select

from askback.internal.clock import to_micros
from askback.internal.values import Value
from askback.store.queries import card_messages, files, hand_overs, locks, waits, webhooks
from askback.store.queries.usage import get_day
from askback.store.schema import actions, asks, calls, conversations, inbox, offers, outbox, transcript, usage


class PruneCounts(Value):
    """Numbers of deleted conversations and asks."""

    conversations: int = 0
    asks: int = 0


def prune(connection: Connection, before: datetime, at_most: int) -> PruneCounts:
    """Delete conversations without activity since `before`, and programs' asks that were settled before then.

    Delete at most `at_most` of each. Keep anything with open questions, pending work or pending deliveries, regardless
    of its age.
    """
    moment = to_micros(before)
    resting, settled = _select_resting(moment).limit(at_most), _select_settled(moment).limit(at_most)
    found, found_alone = connection.execute(resting).all(), connection.execute(settled).all()
    locks.lock_places(connection, [row.place_key for row in (*found, *found_alone)])
    # Read again, since somebody may have continued there before this transaction had the locks.
    still = conversations.c.id.in_([row.id for row in found])
    ids = tuple(connection.execute(_select_resting(moment).where(still)).scalars())
    owned = tuple(connection.execute(select(asks.c.id).where(asks.c.conversation_id.in_(ids))).scalars())
    still = asks.c.id.in_([row.id for row in found_alone])
    alone = tuple(connection.execute(_select_settled(moment).where(still)).scalars())
    _delete_asks(connection, (*owned, *alone))
    tables: tuple[Table, ...] = (offers, calls, transcript, inbox)
    for table in tables:
        connection.execute(delete(table).where(table.c.conversation_id.in_(ids)))
    connection.execute(delete(conversations).where(conversations.c.id.in_(ids)))
    files.delete_of_conversations(connection, ids)
    if not ids:
        # Do this only in the last round: usage counts for its whole day, even after its conversation was deleted.
        connection.execute(
            delete(usage).where(usage.c.day < get_day(before), ~select(conversations.c.id).where(_is_of_usage).exists())
        )
    return PruneCounts(conversations=len(ids), asks=len(owned) + len(alone))


_is_of_usage = conversations.c.id == usage.c.conversation_id


def _select_resting(moment: int) -> Select[str, str]:
    open_ask = select(asks.c.id).where(asks.c.conversation_id == conversations.c.id, asks.c.status == "open")
    to_show = select(outbox.c.id).where(outbox.c.conversation_id == conversations.c.id)
    return (
        select(conversations.c.id, conversations.c.place_key)
        .where(conversations.c.updated_at < moment, conversations.c.wants_turn.is_(False))
        .where(~open_ask.exists(), ~to_show.exists())
        .order_by(conversations.c.updated_at)
    )


def _select_settled(moment: int) -> Select[str, str]:
    """Select settled asks that belong to no conversation."""
    showing = select(outbox.c.id).where(outbox.c.target == "ask:" + asks.c.id)
    return (
        select(asks.c.id, asks.c.place_key)
        .where(asks.c.conversation_id.is_(None), asks.c.settled_at < moment, ~showing.exists())
        .order_by(asks.c.settled_at)
    )


def _delete_asks(connection: Connection, ids: tuple[str, ...]) -> None:
    connection.execute(delete(actions).where(actions.c.ask_id.in_(ids)))
    card_messages.delete(connection, ids)
    hand_overs.delete(connection, ids)
    waits.delete(connection, ids)
    webhooks.delete(connection, ids)
    connection.execute(delete(asks).where(asks.c.id.in_(ids)))
    files.delete_of_asks(connection, ids)
