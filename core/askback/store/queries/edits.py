"""Statements about edits and deletions of people's messages. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = [
    "StoredMessage",
    "find",
    "find_conversations",
    "get_last_read_text",
    "get_newest_version",
    "is_stored",
    "mark_skipped",
    "replace_text",
    "set_edited_at",
    "withdraw_unread",
]

from datetime import datetime

from sqlalchemy import Connection, RowMapping, or_, select, update

from askback.domain.identity import Actor
from askback.internal.clock import to_micros
from askback.internal.values import Value
from askback.store.queries import history
from askback.store.schema import inbox

_NOT_TOLD = -1
"""Value of `taken_seq` for a message that no turn reads. Its row stays so that the message is recognized again."""


class StoredMessage(Value):
    """A person's message, or a version of one, as stored."""

    id: int
    key: str
    author: Actor
    text: str
    taken_seq: int | None
    edited_at: int | None
    ask_id: str | None

    @property
    def is_unread(self) -> bool:
        """True if no turn of the agent has taken it up."""
        return self.taken_seq is None

    @property
    def is_pending(self) -> bool:
        """True if an edit came in before the message itself was read as history."""
        return self.taken_seq == _NOT_TOLD and history.is_key(self.key)

    @property
    def is_read(self) -> bool:
        """True if the model has read it."""
        return self.taken_seq is not None and self.taken_seq != _NOT_TOLD


def is_stored(connection: Connection, key: str) -> bool:
    """Return True if a message was kept in any conversation."""
    query = select(inbox.c.id).where(inbox.c.dedupe_key.in_(history.list_keys((key,)))).limit(1)
    return connection.execute(query).first() is not None


def find(connection: Connection, conversation_id: str, key: str) -> StoredMessage | None:
    """Return the first version of the message with that key."""
    keys = history.list_keys((key,))
    query = select(inbox).where(inbox.c.conversation_id == conversation_id, inbox.c.dedupe_key.in_(keys))
    # If the message also arrived as an event, the model read that last.
    rows = sorted(connection.execute(query).mappings(), key=lambda row: keys.index(row["dedupe_key"]))
    return _to_stored_message(rows[0]) if rows else None


def get_newest_version(connection: Connection, conversation_id: str, kept: StoredMessage) -> StoredMessage:
    """Return the newest version of a message, ignoring dropped ones. Without edits, it is the message itself."""
    query = (
        select(inbox)
        .where(inbox.c.conversation_id == conversation_id, inbox.c.edit_of == kept.id)
        .where(or_(inbox.c.taken_seq.is_(None), inbox.c.taken_seq != _NOT_TOLD))
        .order_by(inbox.c.id.desc())
        .limit(1)
    )
    row = connection.execute(query).mappings().first()
    return kept if row is None else _to_stored_message(row)


def get_last_read_text(connection: Connection, inbox_id: int, seq: int | None = None) -> str:
    """Return the text of the version that the model read last, or an empty string.

    With `seq`, only versions before that row.
    """
    query = (
        select(inbox.c.text)
        .where(or_(inbox.c.id == inbox_id, inbox.c.edit_of == inbox_id))
        .where(inbox.c.taken_seq != _NOT_TOLD)
        .order_by(inbox.c.id.desc())
        .limit(1)
    )
    if seq is not None:
        query = query.where(inbox.c.taken_seq < seq)
    return connection.execute(query).scalar_one_or_none() or ""


def set_edited_at(connection: Connection, kept: StoredMessage, at: datetime) -> None:
    """Store the time of a message's newest edit."""
    connection.execute(update(inbox).where(inbox.c.id == kept.id).values(edited_at=to_micros(at)))


def replace_text(connection: Connection, kept: StoredMessage, text: str) -> None:
    """Replace the text of a version that the agent has not read."""
    connection.execute(update(inbox).where(inbox.c.id == kept.id, inbox.c.taken_seq.is_(None)).values(text=text))


def mark_skipped(connection: Connection, kept: StoredMessage) -> None:
    """Mark an unread version so that no turn ever reads it."""
    connection.execute(
        update(inbox).where(inbox.c.id == kept.id, inbox.c.taken_seq.is_(None)).values(taken_seq=_NOT_TOLD)
    )


def withdraw_unread(connection: Connection, conversation_id: str, keys: tuple[str, ...]) -> tuple[int, ...]:
    """Mark the unread versions of these messages, edits included, so that no turn reads them. Return their row ids."""
    named = select(inbox.c.id).where(
        inbox.c.conversation_id == conversation_id, inbox.c.dedupe_key.in_(history.list_keys(keys))
    )
    ids = tuple(connection.execute(named).scalars())
    unread = (
        select(inbox.c.id)
        .where(inbox.c.conversation_id == conversation_id, inbox.c.taken_seq.is_(None))
        .where(or_(inbox.c.id.in_(ids), inbox.c.edit_of.in_(ids)))
    )
    rows = tuple(connection.execute(unread).scalars()) if ids else ()
    if rows:
        connection.execute(update(inbox).where(inbox.c.id.in_(rows)).values(taken_seq=_NOT_TOLD))
    return rows


def find_conversations(connection: Connection, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ids of the conversations in which messages with these keys were kept."""
    query = select(inbox.c.conversation_id).where(inbox.c.dedupe_key.in_(history.list_keys(keys))).distinct()
    return tuple(connection.execute(query).scalars())


def _to_stored_message(row: RowMapping) -> StoredMessage:
    return StoredMessage(
        id=row["id"],
        key=row["dedupe_key"],
        author=Actor.model_validate_json(row["author"]),
        text=row["text"],
        taken_seq=row["taken_seq"],
        edited_at=row["edited_at"],
        ask_id=row["ask_id"],
    )
