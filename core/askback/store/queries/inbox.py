"""Queries on people's messages. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = [
    "add",
    "get_newest_author",
    "has_unread",
    "is_before_all",
    "is_received",
    "list_authors_by_seq",
    "take_unread",
]

import json
from datetime import datetime

from sqlalchemy import Connection, bindparam, insert, select, update

from askback.domain.identity import Actor, Place
from askback.domain.incoming_message import InboxMessage, IncomingMessage
from askback.internal.clock import to_micros
from askback.store.queries import edits, files
from askback.store.schema import conversations, inbox
from askback.store.statement import Row, Statement
from askback.store.unreadable_rows import mark_unreadable

# Compiled once, since each turn of the model needs these.
_UNTAKEN = inbox.c.conversation_id == bindparam("of"), inbox.c.taken_seq.is_(None)
_SELECT_UNTAKEN = Statement(select(inbox).where(*_UNTAKEN).order_by(inbox.c.received_at, inbox.c.id))
_TAKE = Statement(update(inbox).where(*_UNTAKEN))
_WRITTEN_BY = Statement(
    select(inbox.c.id)
    .where(inbox.c.conversation_id == bindparam("of"), inbox.c.received_at <= bindparam("at"))
    .limit(1)
)
_HAS_UNTAKEN = Statement(select(inbox.c.id).where(*_UNTAKEN).limit(1))


def is_received(connection: Connection, place: Place, dedupe_key: str) -> bool:
    """Return True if a message was kept in this place, even in an earlier conversation."""
    query = (
        select(inbox.c.id)
        .join(conversations, conversations.c.id == inbox.c.conversation_id)
        .where(inbox.c.dedupe_key == dedupe_key, conversations.c.place == place.model_dump_json())
        .limit(1)
    )
    return connection.execute(query).first() is not None


def add(
    connection: Connection,
    conversation_id: str,
    incoming: IncomingMessage,
    *,
    taken: bool = False,
    ask_id: str | None = None,
    edit_of: int | None = None,
) -> int:
    """Store a person's message and return the id of its row.

    `taken` means that it is stored only to recognize it again, and no turn reads it. `ask_id` is the question that it
    answered. `edit_of` is the row of the message of which this is a newer version.
    """
    result = connection.execute(
        insert(inbox).values(
            conversation_id=conversation_id,
            dedupe_key=incoming.dedupe_key,
            author=incoming.author.model_dump_json(),
            text=incoming.text,
            received_at=to_micros(incoming.at),
            taken_seq=-1 if taken else None,
            # A process of an earlier release reads these names.
            files=json.dumps([file.name for file in incoming.files], ensure_ascii=False) if incoming.files else None,
            ask_id=ask_id,
            edit_of=edit_of,
        )
    )
    (row,) = result.inserted_primary_key or (0,)
    return int(row)


def has_unread(connection: Connection, conversation_id: str) -> bool:
    """Return True if people wrote something that no turn has read."""
    return bool(_HAS_UNTAKEN.fetch_rows(connection, of=conversation_id))


def is_before_all(connection: Connection, conversation_id: str, at: datetime) -> bool:
    """Return True if everything that is stored of the conversation was written after that time."""
    return not _WRITTEN_BY.fetch_rows(connection, of=conversation_id, at=to_micros(at))


def take_unread(connection: Connection, conversation_id: str, seq: int) -> tuple[InboxMessage, ...]:
    """Return the unread messages of people, unchanged, and assign them to transcript row `seq`."""
    rows = _SELECT_UNTAKEN.fetch_rows(connection, of=conversation_id)
    _TAKE.change(connection, of=conversation_id, taken_seq=seq)
    with mark_unreadable(f"A message in the conversation {conversation_id}"):
        return tuple(_read_unread(connection, row, seq) for row in rows)


def _read_unread(connection: Connection, row: Row, seq: int) -> InboxMessage:
    names: list[str] = [] if row["files"] is None else json.loads(row["files"])
    attached = dict(files.list_of_message(connection, row["id"])) if names else {}
    return InboxMessage(
        key=row["dedupe_key"],
        author=Actor.model_validate_json(row["author"]),
        text=row["text"],
        files=tuple(name for position, name in enumerate(names) if position not in attached),
        attached=tuple(attached.values()),
        before=None if row["edit_of"] is None else edits.get_last_read_text(connection, row["edit_of"], seq),
    )


def get_newest_author(connection: Connection, conversation_id: str) -> Actor | None:
    """Return the author of the newest message of a person. None if nobody wrote."""
    query = (
        select(inbox.c.author).where(inbox.c.conversation_id == conversation_id).order_by(inbox.c.id.desc()).limit(1)
    )
    author = connection.execute(query).scalar_one_or_none()
    with mark_unreadable(f"An author in the conversation {conversation_id}"):
        return None if author is None else Actor.model_validate_json(author)


def list_authors_by_seq(connection: Connection, conversation_id: str) -> dict[int, tuple[Actor, ...]]:
    """Return the authors of people's messages, by the transcript row that took them up."""
    query = (
        select(inbox.c.taken_seq, inbox.c.author)
        .where(inbox.c.conversation_id == conversation_id, inbox.c.taken_seq >= 0)
        .order_by(inbox.c.id)
    )
    found: dict[int, tuple[Actor, ...]] = {}
    with mark_unreadable(f"An author in the conversation {conversation_id}"):
        for row in connection.execute(query):
            found[row.taken_seq] = (*found.get(row.taken_seq, ()), Actor.model_validate_json(row.author))
    return found
