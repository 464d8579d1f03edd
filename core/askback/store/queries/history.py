"""Statements about messages that the model reads as a thread's history, so that their edits and deletions count.

Their rows are in the inbox under separate keys, because the same message may also arrive as an event, for example if
it mentions the bot. Each function runs inside a caller's transaction.
"""

from __future__ import annotations

__all__ = ["add_read", "expect_edit", "is_due", "is_key", "list_keys", "merge_edits"]

from collections.abc import Collection, Iterable
from datetime import datetime

from sqlalchemy import Connection, func, insert, select, update

from askback.domain.identity import Actor
from askback.domain.incoming_message import EditedMessage, HistoryMessage
from askback.internal.clock import from_micros, now, to_micros
from askback.store.schema import conversations, inbox, transcript

_PREFIX = "history:"
_PENDING = -1
"""Value of `taken_seq` for an edit that arrived before the message itself was read."""


def list_keys(keys: Iterable[str]) -> tuple[str, ...]:
    """Return the keys under which messages may be stored: their own, and those that they have as history."""
    return tuple(stored for key in keys for stored in (key, f"{_PREFIX}{key}"))


def is_key(stored: str) -> bool:
    """Return True if a message with that key is stored as history."""
    return stored.startswith(_PREFIX)


def is_due(connection: Connection) -> bool:
    """Return True if an agent is about to read the history of some thread."""
    read = select(transcript.c.seq).where(transcript.c.conversation_id == conversations.c.id).exists()
    query = select(conversations.c.id).where(conversations.c.wants_turn, conversations.c.midway, ~read).limit(1)
    return connection.execute(query).first() is not None


def expect_edit(connection: Connection, conversation_id: str, edited: EditedMessage) -> None:
    """Keep an edit of a message that the conversation may be about to read as history."""
    key, at = f"{_PREFIX}{edited.message.dedupe_key}", to_micros(edited.at)
    of_key = inbox.c.conversation_id == conversation_id, inbox.c.dedupe_key == key
    known = connection.execute(select(inbox.c.edited_at).where(*of_key)).first()
    if known is None:
        author, text = edited.message.author, edited.message.text
        connection.execute(insert(inbox).values(_build_row(connection, conversation_id, key, author, text, edited.at)))
    elif known.edited_at is None or known.edited_at < at:
        connection.execute(update(inbox).where(*of_key).values(text=edited.message.text, edited_at=at))


def merge_edits(
    connection: Connection, conversation_id: str, messages: Collection[HistoryMessage]
) -> tuple[HistoryMessage, ...]:
    """Return a history with the edits that arrived after it was read from the platform."""
    if not messages:
        return ()
    query = select(inbox.c.dedupe_key, inbox.c.author, inbox.c.text, inbox.c.edited_at).where(
        inbox.c.conversation_id == conversation_id, inbox.c.dedupe_key.in_([f"{_PREFIX}{one.key}" for one in messages])
    )
    known = {row.dedupe_key: row for row in connection.execute(query)}
    merged: list[HistoryMessage] = []
    for one in messages:
        row = known.get(f"{_PREFIX}{one.key}")
        if row is not None and Actor.model_validate_json(row.author).is_same_person(one.author):
            at = from_micros(row.edited_at)
            if one.edited_at is None or one.edited_at < at:
                one = one.evolve(text=row.text, edited_at=at)
        merged.append(one)
    return tuple(merged)


def add_read(connection: Connection, conversation_id: str, messages: Iterable[HistoryMessage], seq: int) -> None:
    """Store the messages that transcript row `seq` took up as history, except those of programs and of the agent.

    These rows notify nobody about edits. Of a message that shares others, only the person's own words are stored.
    """
    for one in messages:
        if one.ours or one.author.is_program:
            continue
        key = f"{_PREFIX}{one.key}"
        row = _build_row(connection, conversation_id, key, one.author, one.text, one.edited_at) | {"taken_seq": seq}
        of_key = inbox.c.conversation_id == conversation_id, inbox.c.dedupe_key == key
        if not connection.execute(update(inbox).where(*of_key).values(row)).rowcount:
            connection.execute(insert(inbox).values(row))


def _build_row(
    connection: Connection, conversation_id: str, key: str, author: Actor, text: str, edited_at: datetime | None
) -> dict[str, object]:
    # Before all messages to the bot: a bot that was away continues with the newest of those, and recognizes by the
    # oldest what the history contains.
    earliest = select(func.min(inbox.c.received_at)).where(inbox.c.conversation_id == conversation_id)
    before = connection.execute(earliest).scalar_one()
    return {
        "conversation_id": conversation_id,
        "dedupe_key": key,
        "author": author.evolve(groups=()).model_dump_json(),
        "text": text,
        "received_at": (now() if before is None else before) - 1,
        "taken_seq": _PENDING,
        "edited_at": None if edited_at is None else to_micros(edited_at),
    }
