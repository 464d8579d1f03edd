"""Statements about the messages to and from the model. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = [
    "add",
    "get",
    "get_last",
    "get_last_assistant_seq",
    "hide",
    "list_authors",
    "list_read_messages",
    "list_visible",
]

from pydantic import JsonValue, TypeAdapter
from sqlalchemy import Connection, bindparam, func, insert, select, update

from askback.domain.identity import Actor, deduplicate_accounts
from askback.domain.requesters import ReadMessage
from askback.domain.turn import Blocks, Message
from askback.internal.clock import now
from askback.store.queries import inbox
from askback.store.schema import transcript
from askback.store.statement import Row, Statement
from askback.store.unreadable_rows import mark_unreadable

_BLOCKS = TypeAdapter(tuple[dict[str, JsonValue], ...])
_PEOPLE = TypeAdapter(tuple[Actor, ...])

# Compiled once, since each turn of the model needs these.
_OF_THIS = transcript.c.conversation_id == bindparam("of")
_AT = Statement(select(transcript).where(_OF_THIS, transcript.c.seq == bindparam("at")))
_LAST = Statement(select(transcript).where(_OF_THIS).order_by(transcript.c.seq.desc()).limit(1))
_VISIBLE = Statement(select(transcript).where(_OF_THIS, transcript.c.hidden.is_(False)).order_by(transcript.c.seq))
_AUTHORS = Statement(
    select(transcript.c.seq, transcript.c.authors)
    .where(_OF_THIS, transcript.c.role == "user")
    .order_by(transcript.c.seq)
)
_ADD = Statement(insert(transcript))


def list_read_messages(connection: Connection, conversation_id: str) -> tuple[ReadMessage, ...]:
    """Return the authors of each message to the model, oldest first. Messages that the model no longer gets count too.

    Rows of earlier releases do not store them. For these, they are the authors of the messages that the row took up.
    """
    rows = _AUTHORS.fetch_rows(connection, of=conversation_id)
    is_complete = all(row["authors"] is not None for row in rows)
    taken = {} if is_complete else inbox.list_authors_by_seq(connection, conversation_id)
    return tuple(
        ReadMessage(
            seq=row["seq"],
            authors=taken.get(row["seq"], ()) if row["authors"] is None else _PEOPLE.validate_json(row["authors"]),
            complete=row["authors"] is not None,
        )
        for row in rows
    )


def list_authors(connection: Connection, conversation_id: str) -> tuple[Actor, ...]:
    """Return the authors of everything that the model has read in a conversation, each account once, bots included."""
    return deduplicate_accounts(
        author for message in list_read_messages(connection, conversation_id) for author in message.authors
    )


def get_last(connection: Connection, conversation_id: str) -> Message | None:
    rows = _LAST.fetch_rows(connection, of=conversation_id)
    return _to_message(rows[0]) if rows else None


def get(connection: Connection, conversation_id: str, seq: int) -> Message | None:
    """Return one message, by its position in the conversation."""
    rows = _AT.fetch_rows(connection, of=conversation_id, at=seq)
    return _to_message(rows[0]) if rows else None


def list_visible(connection: Connection, conversation_id: str) -> tuple[Message, ...]:
    """Return the messages that are sent to the model, oldest first. Hidden ones are left out."""
    return tuple(_to_message(row) for row in _VISIBLE.fetch_rows(connection, of=conversation_id))


def add(connection: Connection, conversation_id: str, message: Message) -> None:
    _ADD.change(
        connection,
        conversation_id=conversation_id,
        seq=message.seq,
        role=message.role,
        content=_BLOCKS.dump_json(message.content).decode(),
        unfinished=message.unfinished,
        authors=None if message.authors is None else _dump_people(message.authors),
        created_at=now(),
    )


def _dump_people(people: tuple[Actor, ...]) -> str:
    """Return people as JSON without their groups, which were true at one moment only."""
    return _PEOPLE.dump_json(tuple(person.evolve(groups=()) for person in people)).decode()


def hide(connection: Connection, conversation_id: str, *, from_seq: int = 0) -> None:
    """Hide the transcript from row `from_seq` on, so that it is never sent to the model again.

    The rows stay, so that people can look them up.
    """
    connection.execute(
        update(transcript)
        .where(transcript.c.conversation_id == conversation_id, transcript.c.seq >= from_seq)
        .values(hidden=True)
    )


def get_last_assistant_seq(connection: Connection, conversation_id: str) -> int | None:
    """Return the transcript row of the model's newest message. None if there is none."""
    query = select(func.max(transcript.c.seq)).where(
        transcript.c.conversation_id == conversation_id, transcript.c.role == "assistant"
    )
    return connection.execute(query).scalar_one()


def _to_message(row: Row) -> Message:
    with mark_unreadable(f"A message of the conversation {row['conversation_id']}"):
        content: Blocks = _BLOCKS.validate_json(row["content"])
        authors = row["authors"]
        return Message(
            seq=row["seq"],
            role=row["role"],
            content=content,
            unfinished=row["unfinished"],
            forgotten=row["hidden"],
            authors=None if authors is None else _PEOPLE.validate_json(authors),
        )
