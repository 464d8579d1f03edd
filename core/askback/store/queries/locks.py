"""Locks that serialize decisions about one place. Each function runs inside a caller's transaction, before it reads.

On SQLite, one thread writes, so transactions are serial. PostgreSQL runs them concurrently. A transaction whose writes
depend on its reads first takes the lock of its place, and holds it until the commit.

To avoid deadlocks, a transaction takes only one of these locks, with three exceptions. `lock_key` may come before it,
for the beginning and end of the only key and then for the key. `lock_usage` may come after it, and `lock_places` takes
several in a fixed order.
"""

from __future__ import annotations

__all__ = ["lock_ask", "lock_conversation", "lock_key", "lock_offer", "lock_place", "lock_places", "lock_usage"]

from collections.abc import Iterable

from sqlalchemy import ColumnElement, Connection, Text, bindparam, func, select

from askback.domain.identity import Place
from askback.store.schema import asks, conversations, offers
from askback.store.statement import Statement


def _build_lock(name: ColumnElement[str]) -> ColumnElement[str]:
    return func.pg_advisory_xact_lock(func.hashtextextended(name, 0), type_=Text())


def _build_place_lock(place_key: ColumnElement[str]) -> ColumnElement[str]:
    # The key of a closed conversation is the place's key with the conversation's id appended (`conversations.close`).
    return _build_lock(func.split_part(place_key, "#", 1))


# Compiled once, since each click needs one of these.
_LOCK = Statement(select(_build_lock(bindparam("name"))))
_LOCK_ASK = Statement(select(_build_place_lock(asks.c.place_key)).where(asks.c.id == bindparam("of")))
_LOCK_CONVERSATION = Statement(
    select(_build_place_lock(conversations.c.place_key)).where(conversations.c.id == bindparam("of"))
)
_LOCK_OFFER = Statement(
    select(_build_place_lock(conversations.c.place_key)).where(
        conversations.c.id == offers.c.conversation_id, offers.c.id == bindparam("of")
    )
)


def lock_place(connection: Connection, place: Place) -> None:
    """Keep other transactions from deciding anything in this place until this one ends."""
    if _is_shared(connection):
        _LOCK.change(connection, name=place.key)


def lock_key(connection: Connection, key: str) -> None:
    """Keep other transactions from asking under this key until this one ends. Taken before the lock of a place."""
    if _is_shared(connection):
        _LOCK.change(connection, name=f"key {key}")


def lock_ask(connection: Connection, ask_id: str) -> None:
    """Take the lock of the ask's place."""
    if _is_shared(connection):
        _LOCK_ASK.change(connection, of=ask_id)


def lock_conversation(connection: Connection, conversation_id: str) -> None:
    """Take the lock of the conversation's place."""
    if _is_shared(connection):
        _LOCK_CONVERSATION.change(connection, of=conversation_id)


def lock_offer(connection: Connection, offer_id: str) -> None:
    """Take the lock of the place of the conversation in which the offer was made."""
    if _is_shared(connection):
        _LOCK_OFFER.change(connection, of=offer_id)


def lock_places(connection: Connection, place_keys: Iterable[str]) -> None:
    """Take the locks of several places, in a fixed order."""
    if _is_shared(connection):
        for key in sorted({key.partition("#")[0] for key in place_keys}):
            _LOCK.change(connection, name=key)


def lock_usage(connection: Connection) -> None:
    """Block other transactions that reserve tokens until this one ends.

    Take this after the lock of a place.
    """
    if _is_shared(connection):
        _LOCK.change(connection, name="usage")


def _is_shared(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"
