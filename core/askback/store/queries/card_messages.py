"""Statements about the messages of cards, and their deletion. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = [
    "PAUSES",
    "add",
    "add_deleted",
    "compute_repost_delay",
    "confirm",
    "delete",
    "find_asks_by_messages",
    "get_newest_deletion",
    "list_deleted",
    "mark_deleted",
]

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, and_, bindparam, false, func, insert, or_, select, update
from sqlalchemy import delete as delete_from

from askback.domain.identity import MessageRef
from askback.internal.clock import from_micros, to_micros
from askback.store.schema import card_messages
from askback.store.statement import Statement

PAUSES: Final = (0.0, 10.0, 60.0, 300.0, 600.0)
"""Seconds until a deleted card is posted again, by the number of earlier times within `COUNTED`.

The last value repeats.
"""
COUNTED: Final = timedelta(hours=1)

_OF_ASK = card_messages.c.ask_id == bindparam("of")
_KNOWN = Statement(select(card_messages).where(_OF_ASK))
_GONE = Statement(select(card_messages).where(_OF_ASK, card_messages.c.gone_at.is_not(None)))
_NOTE = Statement(insert(card_messages))


def add(connection: Connection, ask_id: str, messages: Iterable[MessageRef]) -> None:
    """Record that the card of an ask uses these messages."""
    known = {(row["channel"], row["message"]) for row in _KNOWN.fetch_rows(connection, of=ask_id)}
    for message in messages:
        if (message.channel, message.id) not in known:
            _NOTE.change(connection, ask_id=ask_id, channel=message.channel, message=message.id)


def add_deleted(connection: Connection, ask_id: str, messages: Iterable[MessageRef], now: datetime) -> None:
    """Record the deletion of messages that may belong to a card that is being posted.

    They do not count as deletions of the card until `confirm` says so.
    """
    known = {(row["channel"], row["message"]) for row in _KNOWN.fetch_rows(connection, of=ask_id)}
    for message in messages:
        if (message.channel, message.id) not in known:
            values = {"ask_id": ask_id, "channel": message.channel, "message": message.id, "gone_at": to_micros(now)}
            connection.execute(insert(card_messages).values(**values, confirmed=False))


def confirm(connection: Connection, ask_id: str, messages: Iterable[MessageRef]) -> None:
    """Record that these deleted messages were indeed the card's."""
    for message in messages:
        chosen = (
            card_messages.c.ask_id == ask_id,
            card_messages.c.channel == message.channel,
            card_messages.c.message == message.id,
        )
        connection.execute(update(card_messages).where(*chosen).values(confirmed=True))


def find_asks_by_messages(connection: Connection, messages: Iterable[MessageRef]) -> tuple[str, ...]:
    """Return the ids of the asks whose cards use, or used, these messages. Deleted messages do not count."""
    chosen = [
        and_(card_messages.c.channel == message.channel, card_messages.c.message == message.id) for message in messages
    ]
    query = select(card_messages.c.ask_id).where(or_(false(), *chosen), card_messages.c.gone_at.is_(None)).distinct()
    return tuple(connection.execute(query).scalars()) if chosen else ()


def mark_deleted(connection: Connection, ask_id: str, messages: Iterable[MessageRef], now: datetime) -> bool:
    """Record that these messages of an ask were deleted. Return False if all of that was known."""
    count = 0
    for message in messages:
        chosen = (
            card_messages.c.ask_id == ask_id,
            card_messages.c.channel == message.channel,
            card_messages.c.message == message.id,
            card_messages.c.gone_at.is_(None),
        )
        count += connection.execute(update(card_messages).where(*chosen).values(gone_at=to_micros(now))).rowcount
    return count > 0


def list_deleted(connection: Connection, ask_id: str) -> frozenset[MessageRef]:
    """Return the deleted messages of an ask."""
    return frozenset(
        MessageRef(channel=row["channel"], id=row["message"]) for row in _GONE.fetch_rows(connection, of=ask_id)
    )


def get_newest_deletion(connection: Connection, ask_id: str) -> datetime | None:
    """Return the time at which a message of an ask was deleted last. None means never."""
    query = select(func.max(card_messages.c.gone_at)).where(card_messages.c.ask_id == ask_id, card_messages.c.confirmed)
    at = connection.execute(query).scalar_one()
    return None if at is None else from_micros(at)


def compute_repost_delay(connection: Connection, ask_id: str, now: datetime) -> timedelta:
    """Return the pause before a card is posted again after a deletion at the time `now`.

    It grows, so that the bot does not fight a person who keeps deleting it.
    """
    since = to_micros(now - COUNTED)
    # Messages that were deleted together count once.
    query = select(func.count(card_messages.c.gone_at.distinct())).where(
        card_messages.c.ask_id == ask_id,
        card_messages.c.confirmed,
        card_messages.c.gone_at > since,
        card_messages.c.gone_at < to_micros(now),
    )
    before = connection.execute(query).scalar_one()
    return timedelta(seconds=PAUSES[min(before, len(PAUSES) - 1)])


def delete(connection: Connection, ask_ids: Iterable[str]) -> None:
    """Delete the records of these asks' messages."""
    connection.execute(delete_from(card_messages).where(card_messages.c.ask_id.in_(tuple(ask_ids))))
