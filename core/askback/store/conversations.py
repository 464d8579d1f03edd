"""Statements about the agent's conversations. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = [
    "add_call", "add_message", "calls_of", "close", "end_call", "find", "forget", "get", "hear", "history",
    "last_assistant", "last_message", "runnable", "set_prose", "set_stopped", "set_told", "set_trace", "spend", "spent",
    "start", "start_call", "stopped_by", "take_inbox", "told", "untaken", "want_turn", "wants_turn", "was_heard",
]  # fmt: skip

import json
import secrets

from pydantic import JsonValue, TypeAdapter
from sqlalchemy import ColumnElement, Connection, RowMapping, func, insert, select, update

from askback.clock import now, to_micros
from askback.conversations import Blocks, Call, Conversation, Heard, Message, Written
from askback.identity import Actor, MessageRef, Place
from askback.store.schema import calls, conversations, inbox, transcript, usage

_REFS = TypeAdapter(tuple[MessageRef, ...])
_OPERATOR = "operator"
_BLOCKS = TypeAdapter(tuple[dict[str, JsonValue], ...])


def find(connection: Connection, place: Place) -> Conversation | None:
    row = connection.execute(select(conversations).where(conversations.c.place_key == place.key)).mappings().first()
    return None if row is None else _conversation(row)


def get(connection: Connection, conversation_id: str) -> Conversation | None:
    row = connection.execute(select(conversations).where(conversations.c.id == conversation_id)).mappings().first()
    return None if row is None else _conversation(row)


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
    """Make room for another one in the same place. Its rows stay, for people who look things up."""
    connection.execute(
        update(conversations)
        .where(conversations.c.id == conversation.id)
        .values(place_key=f"{conversation.place.key}#{conversation.id}", wants_turn=False, updated_at=now())
    )


def was_heard(connection: Connection, place: Place, dedupe_key: str) -> bool:
    """Whether a message was kept in this place, be it in a conversation before the present one."""
    query = (
        select(inbox.c.id)
        .join(conversations, conversations.c.id == inbox.c.conversation_id)
        .where(inbox.c.dedupe_key == dedupe_key, conversations.c.place == place.model_dump_json())
        .limit(1)
    )
    return connection.execute(query).first() is not None


def hear(connection: Connection, conversation_id: str, heard: Heard, *, taken: bool = False) -> int:
    """Keep what a person wrote; `taken`: only to know it again. Returns its row."""
    result = connection.execute(
        insert(inbox).values(
            conversation_id=conversation_id,
            dedupe_key=heard.dedupe_key,
            author=heard.author.model_dump_json(),
            text=heard.text,
            received_at=to_micros(heard.at),
            taken_seq=-1 if taken else None,
            files=json.dumps(heard.files, ensure_ascii=False) if heard.files else None,
        )
    )
    (row,) = result.inserted_primary_key or (0,)
    return int(row)


def want_turn(connection: Connection, conversation_id: str, wants: bool) -> None:
    connection.execute(
        update(conversations).where(conversations.c.id == conversation_id).values(wants_turn=wants, updated_at=now())
    )


def wants_turn(connection: Connection, conversation_id: str) -> bool:
    query = select(conversations.c.wants_turn).where(conversations.c.id == conversation_id)
    return bool(connection.execute(query).scalar_one_or_none())


def runnable(connection: Connection) -> tuple[str, ...]:
    """Conversations that have something to do, the longest waiting first."""
    query = select(conversations.c.id).where(conversations.c.wants_turn).order_by(conversations.c.updated_at)
    return tuple(connection.execute(query).scalars())


def untaken(connection: Connection, conversation_id: str) -> bool:
    """Whether people wrote something that no turn has taken up."""
    query = select(inbox.c.id).where(inbox.c.conversation_id == conversation_id, inbox.c.taken_seq.is_(None)).limit(1)
    return connection.execute(query).first() is not None


def take_inbox(connection: Connection, conversation_id: str, seq: int) -> tuple[Written, ...]:
    """What people wrote since the last turn, as they wrote it; it now belongs to transcript row `seq`."""
    waiting = inbox.c.conversation_id == conversation_id, inbox.c.taken_seq.is_(None)
    query = select(inbox).where(*waiting).order_by(inbox.c.received_at, inbox.c.id)
    rows = connection.execute(query).mappings().all()
    connection.execute(update(inbox).where(*waiting).values(taken_seq=seq))
    return tuple(
        Written(
            key=row["dedupe_key"],
            author=Actor.model_validate_json(row["author"]),
            text=row["text"],
            files=() if row["files"] is None else tuple(json.loads(row["files"])),
        )
        for row in rows
    )


def last_message(connection: Connection, conversation_id: str) -> Message | None:
    query = (
        select(transcript)
        .where(transcript.c.conversation_id == conversation_id)
        .order_by(transcript.c.seq.desc())
        .limit(1)
    )
    row = connection.execute(query).mappings().first()
    return None if row is None else _message(row)


def history(connection: Connection, conversation_id: str) -> tuple[Message, ...]:
    """What is sent to the model: everything that is not hidden, oldest first."""
    query = (
        select(transcript)
        .where(transcript.c.conversation_id == conversation_id, transcript.c.hidden.is_(False))
        .order_by(transcript.c.seq)
    )
    return tuple(_message(row) for row in connection.execute(query).mappings())


def add_message(connection: Connection, conversation_id: str, message: Message) -> None:
    connection.execute(
        insert(transcript).values(
            conversation_id=conversation_id,
            seq=message.seq,
            role=message.role,
            content=_BLOCKS.dump_json(message.content).decode(),
            unfinished=message.unfinished,
            created_at=now(),
        )
    )


def forget(connection: Connection, conversation_id: str, *, from_seq: int = 0) -> None:
    """Send nothing from that row on to the model again. The rows stay, for people who look things up."""
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


def calls_of(connection: Connection, conversation_id: str, seq: int) -> tuple[Call, ...]:
    """The tool calls of one assistant row, in the model's order."""
    query = (
        select(calls).where(calls.c.conversation_id == conversation_id, calls.c.seq == seq).order_by(calls.c.position)
    )
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
        for row in connection.execute(query).mappings()
    )


def start_call(connection: Connection, conversation_id: str, seq: int, tool_use_id: str) -> bool:
    """Note that a call is about to run. False: it has a result, such as that somebody stopped it."""
    begun = connection.execute(
        update(calls).where(*_without_result(conversation_id, seq, tool_use_id)).values(started_at=now())
    )
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
    """Give a call its result, or one that says why it will never have its own. The first one stays: False then."""
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
        calls.c.ask_id.is_(None),
        calls.c.result.is_(None),
    )


def last_assistant(connection: Connection, conversation_id: str) -> int | None:
    """The transcript row of the model's newest message."""
    query = select(func.max(transcript.c.seq)).where(
        transcript.c.conversation_id == conversation_id, transcript.c.role == "assistant"
    )
    return connection.execute(query).scalar_one()


def set_prose(connection: Connection, conversation_id: str, messages: tuple[MessageRef, ...]) -> None:
    connection.execute(
        update(conversations)
        .where(conversations.c.id == conversation_id)
        .values(prose=_REFS.dump_json(messages).decode() if messages else None)
    )


def told(connection: Connection, conversation_id: str) -> int | None:
    """The transcript row of the calls about which people were told that the agent waits for them."""
    query = select(conversations.c.told_seq).where(conversations.c.id == conversation_id)
    return connection.execute(query).scalar_one()


def set_told(connection: Connection, conversation_id: str, seq: int) -> None:
    connection.execute(update(conversations).where(conversations.c.id == conversation_id).values(told_seq=seq))


def set_trace(connection: Connection, conversation_id: str, trace: str) -> None:
    """What goes on from now on belongs to another trace."""
    connection.execute(update(conversations).where(conversations.c.id == conversation_id).values(trace=trace))


def set_stopped(connection: Connection, conversation_id: str, by: Actor | None) -> None:
    """Somebody ended what was going on: what a turn that runs now wants to commit is refused."""
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


def stopped_by(connection: Connection, conversation_id: str, *, clear: bool) -> str | None:
    """Who ended the turn before, in words, where the model was not told of that yet."""
    chosen = conversations.c.id == conversation_id
    found = connection.execute(select(conversations.c.stopped_by).where(chosen)).scalar_one_or_none()
    if found is None:
        return None
    if clear:
        connection.execute(update(conversations).where(chosen).values(stopped_by=None))
    if found == _OPERATOR:
        return "Whoever runs you"
    by = Actor.model_validate_json(found)
    return by.name or by.id


def spend(connection: Connection, conversation_id: str, day: int, tokens: int) -> None:
    """Count what the model used up."""
    row = usage.c.conversation_id == conversation_id, usage.c.day == day
    counted = connection.execute(update(usage).where(*row).values(tokens=usage.c.tokens + tokens))
    if counted.rowcount == 0:
        connection.execute(insert(usage).values(conversation_id=conversation_id, day=day, tokens=tokens))


def spent(connection: Connection, conversation_id: str | None, day: int | None) -> int:
    """What was used up, in one conversation or in all, on one day or on all."""
    query = select(func.coalesce(func.sum(usage.c.tokens), 0))
    if conversation_id is not None:
        query = query.where(usage.c.conversation_id == conversation_id)
    if day is not None:
        query = query.where(usage.c.day == day)
    return int(connection.execute(query).scalar_one())


def _conversation(row: RowMapping) -> Conversation:
    return Conversation(
        id=row["id"],
        place=Place.model_validate_json(row["place"]),
        starter=Actor.model_validate_json(row["starter"]),
        prose=() if row["prose"] is None else _REFS.validate_json(row["prose"]),
        stops=row["stops"],
        midway=row["midway"],
        trace=row["trace"],
    )


def _message(row: RowMapping) -> Message:
    content: Blocks = _BLOCKS.validate_json(row["content"])
    return Message(seq=row["seq"], role=row["role"], content=content, unfinished=row["unfinished"])
