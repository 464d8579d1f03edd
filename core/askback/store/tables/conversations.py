"""Statements about the agent's conversations. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = [
    "add_call",
    "add_message",
    "add_to_inbox",
    "close",
    "end_call",
    "find",
    "first_call_of_ask",
    "get",
    "get_notified_seq",
    "get_unreported_stop",
    "has_unread",
    "hide_messages",
    "history",
    "is_received",
    "last_assistant_seq",
    "last_message",
    "list_all_calls",
    "list_authors",
    "list_calls",
    "list_runnable",
    "list_stored_authors",
    "next_turn_at",
    "postpone_turn",
    "record_stop",
    "set_last_text",
    "set_notified_seq",
    "set_stream_messages",
    "set_trace",
    "set_wants_turn",
    "start",
    "start_call",
    "take_inbox",
    "wants_turn",
]  # fmt: skip

import json
import secrets
from datetime import datetime, timedelta

from pydantic import JsonValue, TypeAdapter
from sqlalchemy import ColumnElement, Connection, RowMapping, bindparam, func, insert, or_, select, update

from askback.domain.conversation import Blocks, Call, Conversation, InboxMessage, IncomingMessage, Message, StopRecord
from askback.domain.identity import Actor, MessageRef, Place, unique_accounts
from askback.domain.requesters import ReadMessage
from askback.internal.clock import from_micros, now, to_micros
from askback.store.database_clock import NOW, given_now
from askback.store.schema import calls, conversations, inbox, transcript
from askback.store.statement import Row, Statement
from askback.store.tables import edits
from askback.store.tables.platform_claims import ServedPlatforms, is_served
from askback.store.unreadable_rows import reading

_REFS = TypeAdapter(tuple[MessageRef, ...])
_OPERATOR = "operator"
_BLOCKS = TypeAdapter(tuple[dict[str, JsonValue], ...])
_PEOPLE = TypeAdapter(tuple[Actor, ...])

FARTHEST = timedelta(minutes=10)
"""Longest time for which a turn is put off."""

# Compiled once, since each turn of the model needs these. Each click that settles a question of the agent needs the
# second.
_GET = Statement(select(conversations).where(conversations.c.id == bindparam("of")))
_CHANGE = Statement(update(conversations).where(conversations.c.id == bindparam("of")))
_OF_THIS = transcript.c.conversation_id == bindparam("of")
_AT = Statement(select(transcript).where(_OF_THIS, transcript.c.seq == bindparam("at")))
_LAST = Statement(select(transcript).where(_OF_THIS).order_by(transcript.c.seq.desc()).limit(1))
_HISTORY = Statement(select(transcript).where(_OF_THIS, transcript.c.hidden.is_(False)).order_by(transcript.c.seq))
_ADD = Statement(insert(transcript))
_CALLS = Statement(
    select(calls)
    .where(calls.c.conversation_id == bindparam("of"), calls.c.seq == bindparam("row"))
    .order_by(calls.c.position)
)
_UNTAKEN = inbox.c.conversation_id == bindparam("of"), inbox.c.taken_seq.is_(None)
_HEARD = Statement(select(inbox).where(*_UNTAKEN).order_by(inbox.c.received_at, inbox.c.id))
_TAKE = Statement(update(inbox).where(*_UNTAKEN))
_IS_HEARD = Statement(select(inbox.c.id).where(*_UNTAKEN).limit(1))


def find(connection: Connection, place: Place) -> Conversation | None:
    row = connection.execute(select(conversations).where(conversations.c.place_key == place.key)).mappings().first()
    return None if row is None else _conversation(row)


def get(connection: Connection, conversation_id: str) -> Conversation | None:
    rows = _GET.rows(connection, of=conversation_id)
    return _conversation(rows[0]) if rows else None


def start(
    connection: Connection, place: Place, starter: Actor, *, midway: bool = False, trace: str | None = None
) -> Conversation:
    conversation = Conversation(id=secrets.token_urlsafe(16), place=place, starter=starter, midway=midway, trace=trace)
    connection.execute(
        insert(conversations).values(
            id=conversation.id,
            place_key=place.key,
            place=place.model_dump_json(),
            starter=starter.model_dump_json(),
            midway=midway,
            trace=trace,
            created_at=now(),
            updated_at=now(),
        )
    )
    return conversation


def close(connection: Connection, conversation: Conversation) -> None:
    """Close a conversation, so that another one can start in the same place.

    Its rows stay, so that people can look them up.
    """
    connection.execute(
        update(conversations)
        .where(conversations.c.id == conversation.id)
        .values(place_key=f"{conversation.place.key}#{conversation.id}", wants_turn=False, updated_at=now())
    )


def is_received(connection: Connection, place: Place, dedupe_key: str) -> bool:
    """Return True if a message was kept in this place, even in an earlier conversation."""
    query = (
        select(inbox.c.id)
        .join(conversations, conversations.c.id == inbox.c.conversation_id)
        .where(inbox.c.dedupe_key == dedupe_key, conversations.c.place == place.model_dump_json())
        .limit(1)
    )
    return connection.execute(query).first() is not None


def add_to_inbox(
    connection: Connection,
    conversation_id: str,
    heard: IncomingMessage,
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
            dedupe_key=heard.dedupe_key,
            author=heard.author.model_dump_json(),
            text=heard.text,
            received_at=to_micros(heard.at),
            taken_seq=-1 if taken else None,
            files=json.dumps(heard.files, ensure_ascii=False) if heard.files else None,
            ask_id=ask_id,
            edit_of=edit_of,
        )
    )
    (row,) = result.inserted_primary_key or (0,)
    return int(row)


def set_wants_turn(connection: Connection, conversation_id: str, wants: bool) -> None:
    _CHANGE.change(connection, of=conversation_id, wants_turn=wants, turn_after=None, updated_at=now())


def wants_turn(connection: Connection, conversation_id: str) -> bool:
    return any(row["wants_turn"] for row in _GET.rows(connection, of=conversation_id))


def list_runnable(connection: Connection, at: datetime, served: ServedPlatforms = None) -> tuple[str, ...]:
    """Return the ids of conversations on these platforms that have something to do, the longest waiting first."""
    after = conversations.c.turn_after
    # A turn that is put off for longer than the limit shows that the clock went back.
    untimely = after > to_micros(at + FARTHEST)
    query = (
        select(conversations.c.id)
        .where(conversations.c.wants_turn, or_(after.is_(None), after <= to_micros(at), untimely))
        .where(is_served(conversations.c.place_key, served))
        .order_by(conversations.c.updated_at)
    )
    return tuple(connection.execute(query).scalars())


def next_turn_at(connection: Connection, at: datetime, served: ServedPlatforms = None) -> datetime | None:
    """Return the earliest time after `at` for which a turn was put off. None if there is none."""
    after = conversations.c.turn_after
    served_here = is_served(conversations.c.place_key, served)
    query = select(func.min(after)).where(conversations.c.wants_turn, after > to_micros(at), served_here)
    nearest = connection.execute(query).scalar_one()
    return None if nearest is None else from_micros(nearest)


def postpone_turn(connection: Connection, conversation_id: str, pause: timedelta) -> None:
    """Keep a conversation's next turn from being tried again before the pause ends."""
    connection.execute(
        update(conversations)
        .where(conversations.c.id == conversation_id)
        .values(turn_after=NOW + pause // timedelta(microseconds=1)),
        {"now": given_now(connection)},
    )


def has_unread(connection: Connection, conversation_id: str) -> bool:
    """Return True if people wrote something that no turn has read."""
    return bool(_IS_HEARD.rows(connection, of=conversation_id))


def take_inbox(connection: Connection, conversation_id: str, seq: int) -> tuple[InboxMessage, ...]:
    """Return what people wrote since the last turn, unchanged, and assign it to transcript row `seq`."""
    rows = _HEARD.rows(connection, of=conversation_id)
    _TAKE.change(connection, of=conversation_id, taken_seq=seq)
    with reading(f"What people wrote in the conversation {conversation_id}"):
        return tuple(
            InboxMessage(
                key=row["dedupe_key"],
                author=Actor.model_validate_json(row["author"]),
                text=row["text"],
                files=() if row["files"] is None else tuple(json.loads(row["files"])),
                before=None if row["edit_of"] is None else edits.last_read_text(connection, row["edit_of"], seq),
            )
            for row in rows
        )


def list_stored_authors(connection: Connection, conversation_id: str) -> tuple[ReadMessage, ...]:
    """Return the authors of each message to the model, oldest first. Messages that the model no longer gets count too.

    Rows of earlier releases do not store them. For these, they are the authors of the messages that the row took up.
    """
    query = (
        select(transcript.c.seq, transcript.c.authors)
        .where(transcript.c.conversation_id == conversation_id, transcript.c.role == "user")
        .order_by(transcript.c.seq)
    )
    rows = connection.execute(query).all()
    taken = _taken(connection, conversation_id) if any(row.authors is None for row in rows) else {}
    return tuple(
        ReadMessage(
            seq=row.seq,
            authors=taken.get(row.seq, ()) if row.authors is None else _PEOPLE.validate_json(row.authors),
            complete=row.authors is not None,
        )
        for row in rows
    )


def list_authors(connection: Connection, conversation_id: str) -> tuple[Actor, ...]:
    """Return the authors of everything that the model has read in a conversation, each account once, bots included."""
    return unique_accounts(
        author for message in list_stored_authors(connection, conversation_id) for author in message.authors
    )


def _taken(connection: Connection, conversation_id: str) -> dict[int, tuple[Actor, ...]]:
    """Return the authors of people's messages, by the transcript row that took them up."""
    query = (
        select(inbox.c.taken_seq, inbox.c.author)
        .where(inbox.c.conversation_id == conversation_id, inbox.c.taken_seq >= 0)
        .order_by(inbox.c.id)
    )
    found: dict[int, tuple[Actor, ...]] = {}
    with reading(f"Who wrote in the conversation {conversation_id}"):
        for row in connection.execute(query):
            found[row.taken_seq] = (*found.get(row.taken_seq, ()), Actor.model_validate_json(row.author))
    return found


def last_message(connection: Connection, conversation_id: str) -> Message | None:
    rows = _LAST.rows(connection, of=conversation_id)
    return _message(rows[0]) if rows else None


def get_message(connection: Connection, conversation_id: str, seq: int) -> Message | None:
    """Return one message, by its position in the conversation."""
    rows = _AT.rows(connection, of=conversation_id, at=seq)
    return _message(rows[0]) if rows else None


def history(connection: Connection, conversation_id: str) -> tuple[Message, ...]:
    """Return the messages that are sent to the model, oldest first. Hidden ones are left out."""
    return tuple(_message(row) for row in _HISTORY.rows(connection, of=conversation_id))


def add_message(connection: Connection, conversation_id: str, message: Message) -> None:
    _ADD.change(
        connection,
        conversation_id=conversation_id,
        seq=message.seq,
        role=message.role,
        content=_BLOCKS.dump_json(message.content).decode(),
        unfinished=message.unfinished,
        authors=None if message.authors is None else _people(message.authors),
        created_at=now(),
    )


def _people(people: tuple[Actor, ...]) -> str:
    """Return people as JSON without their groups, which were true at one moment only."""
    return _PEOPLE.dump_json(tuple(person.evolve(groups=()) for person in people)).decode()


def hide_messages(connection: Connection, conversation_id: str, *, from_seq: int = 0) -> None:
    """Hide the transcript from row `from_seq` on, so that it is never sent to the model again.

    The rows stay, so that people can look them up.
    """
    connection.execute(
        update(transcript)
        .where(transcript.c.conversation_id == conversation_id, transcript.c.seq >= from_seq)
        .values(hidden=True)
    )


def add_call(connection: Connection, conversation_id: str, seq: int, position: int, call: Call) -> None:
    connection.execute(
        insert(calls).values(
            conversation_id=conversation_id,
            seq=seq,
            position=position,
            tool_use_id=call.tool_use_id,
            tool=call.tool,
            input=json.dumps(call.input, ensure_ascii=False),
            ask_id=call.ask_id,
            result=call.result,
            is_error=call.is_error,
        )
    )


def list_calls(connection: Connection, conversation_id: str, seq: int) -> tuple[Call, ...]:
    """Return the tool calls of one assistant row, in the model's order."""
    with reading(f"A call of the conversation {conversation_id}"):
        return tuple(
            Call(
                tool_use_id=row["tool_use_id"],
                tool=row["tool"],
                input=json.loads(row["input"]),
                ask_id=row["ask_id"],
                result=row["result"],
                is_error=row["is_error"],
                started=row["started_at"] is not None,
                blocks=() if row["blocks"] is None else _BLOCKS.validate_json(row["blocks"]),
            )
            for row in _CALLS.rows(connection, of=conversation_id, row=seq)
        )


def list_all_calls(connection: Connection, conversation_id: str) -> tuple[tuple[int, str, str | None], ...]:
    """Return the row, tool and ask of every call of a conversation, in the model's order."""
    query = (
        select(calls.c.seq, calls.c.tool, calls.c.ask_id)
        .where(calls.c.conversation_id == conversation_id)
        .order_by(calls.c.seq, calls.c.position)
    )
    return tuple((row.seq, row.tool, row.ask_id) for row in connection.execute(query))


def first_call_of_ask(connection: Connection, conversation_id: str, ask_id: str) -> tuple[int, str] | None:
    """Return the transcript row and the id of the call about which people were asked. None if it does not exist.

    Later calls that the same ask allows to run do not count.
    """
    query = (
        select(calls.c.seq, calls.c.tool_use_id)
        .where(calls.c.conversation_id == conversation_id, calls.c.ask_id == ask_id)
        .order_by(calls.c.seq, calls.c.position)
        .limit(1)
    )
    row = connection.execute(query).first()
    return None if row is None else (row.seq, row.tool_use_id)


def start_call(
    connection: Connection, conversation_id: str, seq: int, tool_use_id: str, *, again: bool = False
) -> bool:
    """Record that a call is about to run. Return False if it has a result, for example after a stop, or was started
    before.

    `again` allows a call that was started before.
    """
    which = _without_result(conversation_id, seq, tool_use_id)
    if not again:
        which = (*which, calls.c.started_at.is_(None))
    begun = connection.execute(update(calls).where(*which).values(started_at=now()))
    return begun.rowcount == 1


def end_call(
    connection: Connection,
    conversation_id: str,
    seq: int,
    tool_use_id: str,
    result: str,
    *,
    is_error: bool = True,
    blocks: Blocks = (),
) -> bool:
    """Store a call's result, or an error that says why it will never have one.

    Return False if it has a result already.
    """
    ended = connection.execute(
        update(calls)
        .where(*_without_result(conversation_id, seq, tool_use_id))
        .values(result=result, is_error=is_error, blocks=_BLOCKS.dump_json(blocks).decode() if blocks else None)
    )
    return ended.rowcount == 1


def _without_result(conversation_id: str, seq: int, tool_use_id: str) -> tuple[ColumnElement[bool], ...]:
    return (
        calls.c.conversation_id == conversation_id,
        calls.c.seq == seq,
        calls.c.tool_use_id == tool_use_id,
        calls.c.result.is_(None),
    )


def last_assistant_seq(connection: Connection, conversation_id: str) -> int | None:
    """Return the transcript row of the model's newest message. None if there is none."""
    query = select(func.max(transcript.c.seq)).where(
        transcript.c.conversation_id == conversation_id, transcript.c.role == "assistant"
    )
    return connection.execute(query).scalar_one()


def set_stream_messages(connection: Connection, conversation_id: str, messages: tuple[MessageRef, ...]) -> None:
    _CHANGE.change(connection, of=conversation_id, prose=_REFS.dump_json(messages).decode() if messages else None)


def get_last_text(connection: Connection, conversation_id: str) -> MessageRef | None:
    """Return the message with the newest text that the platform confirmed."""
    stored = connection.execute(
        select(conversations.c.last_text).where(conversations.c.id == conversation_id)
    ).scalar_one_or_none()
    return None if stored is None else MessageRef.model_validate_json(stored)


def set_last_text(connection: Connection, conversation_id: str, message: MessageRef) -> None:
    change = update(conversations).where(conversations.c.id == conversation_id)
    connection.execute(change.values(last_text=message.model_dump_json()))


def get_notified_seq(connection: Connection, conversation_id: str) -> int | None:
    """Return the transcript row of the calls for which people were last notified that the agent waits for them."""
    query = select(conversations.c.told_seq).where(conversations.c.id == conversation_id)
    return connection.execute(query).scalar_one()


def set_notified_seq(connection: Connection, conversation_id: str, seq: int) -> None:
    connection.execute(update(conversations).where(conversations.c.id == conversation_id).values(told_seq=seq))


def set_trace(connection: Connection, conversation_id: str, trace: str) -> None:
    """Set the trace to which the conversation belongs from now on."""
    connection.execute(update(conversations).where(conversations.c.id == conversation_id).values(trace=trace))


def record_stop(connection: Connection, conversation_id: str, by: Actor | None) -> None:
    """Record a stop, so that the commit of a turn that runs now is refused. `by` None means the operator."""
    connection.execute(
        update(conversations)
        .where(conversations.c.id == conversation_id)
        .values(
            stops=conversations.c.stops + 1,
            stopped_by=_OPERATOR if by is None else by.model_dump_json(),
            wants_turn=False,
            prose=None,
            updated_at=now(),
        )
    )


def get_unreported_stop(connection: Connection, conversation_id: str, *, clear: bool) -> StopRecord | None:
    """Return the stop that ended the last turn, if the model has not been notified of it yet.

    `clear` marks it as notified.
    """
    chosen = conversations.c.id == conversation_id
    found = connection.execute(select(conversations.c.stopped_by).where(chosen)).scalar_one_or_none()
    if found is None:
        return None
    if clear:
        connection.execute(update(conversations).where(chosen).values(stopped_by=None))
    return StopRecord(by=None if found == _OPERATOR else Actor.model_validate_json(found))


def _conversation(row: Row | RowMapping) -> Conversation:
    with reading(f"The conversation {row['id']}"):
        return Conversation(
            id=row["id"],
            place=Place.model_validate_json(row["place"]),
            starter=Actor.model_validate_json(row["starter"]),
            prose=() if row["prose"] is None else _REFS.validate_json(row["prose"]),
            stops=row["stops"],
            midway=row["midway"],
            trace=row["trace"],
        )


def _message(row: Row) -> Message:
    with reading(f"A message of the conversation {row['conversation_id']}"):
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
