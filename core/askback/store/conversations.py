"""Statements about the agent's conversations. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = [
    "add_call", "add_message", "calls_of", "find", "forget", "get", "hear", "history", "last_assistant", "last_message",
    "runnable", "set_prose", "set_told", "start", "take_inbox", "told", "untaken", "want_turn", "wants_turn",
]  # fmt: skip

import json
import secrets

from pydantic import JsonValue, TypeAdapter
from sqlalchemy import Connection, RowMapping, func, insert, select, update

from askback.clock import now, to_micros
from askback.conversations import Blocks, Call, Conversation, Heard, Message
from askback.identity import Actor, MessageRef, Place
from askback.store.schema import calls, conversations, inbox, transcript

_REFS = TypeAdapter(tuple[MessageRef, ...])
_BLOCKS = TypeAdapter(tuple[dict[str, JsonValue], ...])


def find(connection: Connection, place: Place) -> Conversation | None:
    row = connection.execute(select(conversations).where(conversations.c.place_key == place.key)).mappings().first()
    return None if row is None else _conversation(row)


def get(connection: Connection, conversation_id: str) -> Conversation | None:
    row = connection.execute(select(conversations).where(conversations.c.id == conversation_id)).mappings().first()
    return None if row is None else _conversation(row)


def start(connection: Connection, place: Place, starter: Actor) -> Conversation:
    conversation = Conversation(id=secrets.token_urlsafe(16), place=place, starter=starter)
    connection.execute(
        insert(conversations).values(
            id=conversation.id,
            place_key=place.key,
            place=place.model_dump_json(),
            starter=starter.model_dump_json(),
            created_at=now(),
            updated_at=now(),
        )
    )
    return conversation


def hear(connection: Connection, conversation_id: str, heard: Heard) -> bool:
    """Keep what a person wrote. False if it was kept before."""
    seen = select(inbox.c.id).where(inbox.c.conversation_id == conversation_id, inbox.c.dedupe_key == heard.dedupe_key)
    if connection.execute(seen).first() is not None:
        return False
    connection.execute(
        insert(inbox).values(
            conversation_id=conversation_id,
            dedupe_key=heard.dedupe_key,
            author=heard.author.model_dump_json(),
            text=heard.text,
            received_at=to_micros(heard.at),
        )
    )
    return True


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


def take_inbox(connection: Connection, conversation_id: str, seq: int) -> tuple[tuple[Actor, str], ...]:
    """What people wrote since the last turn, as they wrote it; it now belongs to transcript row `seq`."""
    waiting = inbox.c.conversation_id == conversation_id, inbox.c.taken_seq.is_(None)
    query = select(inbox.c.author, inbox.c.text).where(*waiting).order_by(inbox.c.received_at, inbox.c.id)
    rows = connection.execute(query).all()
    connection.execute(update(inbox).where(*waiting).values(taken_seq=seq))
    return tuple((Actor.model_validate_json(author), text) for author, text in rows)


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
        )
        for row in connection.execute(query).mappings()
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


def _conversation(row: RowMapping) -> Conversation:
    return Conversation(
        id=row["id"],
        place=Place.model_validate_json(row["place"]),
        starter=Actor.model_validate_json(row["starter"]),
        prose=() if row["prose"] is None else _REFS.validate_json(row["prose"]),
    )


def _message(row: RowMapping) -> Message:
    content: Blocks = _BLOCKS.validate_json(row["content"])
    return Message(seq=row["seq"], role=row["role"], content=content, unfinished=row["unfinished"])
