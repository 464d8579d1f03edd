"""Locks that serialise what concerns one place. Each function runs inside a caller's transaction, before it reads.

In SQLite one thread writes, so that everything is serial. PostgreSQL runs transactions side by side: those that
decide by what they read take the lock of their place first, and hold it until they are committed. A transaction
takes one of these locks, so that none waits for another in a circle; `lock_key` alone may come before it,
`lock_usage` alone after it, and `lock_places` takes several of them in one order.
"""

from __future__ import annotations

__all__ = ["lock_ask", "lock_conversation", "lock_key", "lock_offer", "lock_place", "lock_places", "lock_usage"]

from collections.abc import Iterable

from sqlalchemy import ColumnElement, Connection, bindparam, func, select

from askback.domain.identity import Place
from askback.store.schema import asks, conversations, offers


def _lock_of(place_key: ColumnElement[str]) -> ColumnElement[None]:
    # A conversation that was set aside has its own id behind the place's key (`conversations.close`).
    return func.pg_advisory_xact_lock(func.hashtextextended(func.split_part(place_key, "#", 1), 0))


# Built once: each click needs one of these.
_LOCK = select(func.pg_advisory_xact_lock(func.hashtextextended(bindparam("name"), 0)))
_LOCK_ASK = select(_lock_of(asks.c.place_key)).where(asks.c.id == bindparam("of"))
_LOCK_CONVERSATION = select(_lock_of(conversations.c.place_key)).where(conversations.c.id == bindparam("of"))
_LOCK_OFFER = select(_lock_of(conversations.c.place_key)).where(
    conversations.c.id == offers.c.conversation_id, offers.c.id == bindparam("of")
)


def lock_place(connection: Connection, place: Place) -> None:
    """Nobody else decides anything in this place until the end of the transaction."""
    if _is_shared(connection):
        connection.execute(_LOCK, {"name": place.key})


def lock_key(connection: Connection, key: str) -> None:
    """Nobody else asks under this key. Taken before the lock of a place."""
    if _is_shared(connection):
        connection.execute(_LOCK, {"name": f"key {key}"})


def lock_ask(connection: Connection, ask_id: str) -> None:
    """The lock of the ask's place."""
    if _is_shared(connection):
        connection.execute(_LOCK_ASK, {"of": ask_id})


def lock_conversation(connection: Connection, conversation_id: str) -> None:
    """The lock of the conversation's place."""
    if _is_shared(connection):
        connection.execute(_LOCK_CONVERSATION, {"of": conversation_id})


def lock_offer(connection: Connection, offer_id: str) -> None:
    """The lock of the place of the conversation in which the offer was made."""
    if _is_shared(connection):
        connection.execute(_LOCK_OFFER, {"of": offer_id})


def lock_places(connection: Connection, place_keys: Iterable[str]) -> None:
    """The locks of several places at once."""
    if _is_shared(connection):
        for key in sorted({key.partition("#")[0] for key in place_keys}):
            connection.execute(_LOCK, {"name": key})


def lock_usage(connection: Connection) -> None:
    """Nobody else counts a call of the model in advance. Taken after the lock of a place."""
    if _is_shared(connection):
        connection.execute(_LOCK, {"name": "usage"})


def _is_shared(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"
