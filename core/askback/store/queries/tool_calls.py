"""Statements about the model's tool calls. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = [
    "add",
    "end",
    "find_first_of_ask",
    "list_all",
    "list_askers",
    "list_of_message",
    "start",
]

import json
from collections.abc import Sequence

from pydantic import JsonValue, TypeAdapter
from sqlalchemy import ColumnElement, Connection, and_, bindparam, insert, select, update

from askback.domain.turn import Blocks, Call
from askback.internal.clock import now
from askback.store.schema import asks, calls
from askback.store.statement import Statement
from askback.store.unreadable_rows import mark_unreadable

_BLOCKS = TypeAdapter(tuple[dict[str, JsonValue], ...])
_SUCCEEDED = and_(calls.c.result.is_not(None), calls.c.is_error.is_(False)).label("succeeded")

# Compiled once, since each turn of the model needs it.
_OF_MESSAGE = Statement(
    select(calls)
    .where(calls.c.conversation_id == bindparam("of"), calls.c.seq == bindparam("row"))
    .order_by(calls.c.position)
)


def add(connection: Connection, conversation_id: str, seq: int, position: int, call: Call) -> None:
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


def list_of_message(connection: Connection, conversation_id: str, seq: int) -> tuple[Call, ...]:
    """Return the tool calls of one assistant row, in the model's order."""
    with mark_unreadable(f"A call of the conversation {conversation_id}"):
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
            for row in _OF_MESSAGE.fetch_rows(connection, of=conversation_id, row=seq)
        )


def list_all(connection: Connection, conversation_id: str) -> tuple[tuple[int, str, str | None, bool], ...]:
    """Return the row, tool and ask of every call of a conversation, in the model's order, and True if it succeeded."""
    query = (
        select(calls.c.seq, calls.c.tool, calls.c.ask_id, _SUCCEEDED)
        .where(calls.c.conversation_id == conversation_id)
        .order_by(calls.c.seq, calls.c.position)
    )
    return tuple((row.seq, row.tool, row.ask_id, row.succeeded) for row in connection.execute(query))


def find_first_of_ask(connection: Connection, conversation_id: str, ask_id: str) -> tuple[int, str] | None:
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


def list_askers(connection: Connection, names: Sequence[str]) -> dict[str, str | None]:
    """Return those of these names that are ids of asks, each with the id of the call about which people were asked.

    None means an ask of a program. Later calls that the same ask allows to run do not count.
    """
    if not names:
        return {}
    of_ask = and_(calls.c.conversation_id == asks.c.conversation_id, calls.c.ask_id == asks.c.id)
    query = (
        select(asks.c.id, calls.c.tool_use_id)
        .select_from(asks.outerjoin(calls, of_ask))
        .where(asks.c.id.in_(names))
        .order_by(calls.c.seq, calls.c.position)
    )
    found: dict[str, str | None] = {}
    for row in connection.execute(query):
        found.setdefault(row.id, row.tool_use_id)
    return found


def start(connection: Connection, conversation_id: str, seq: int, tool_use_id: str, *, again: bool = False) -> bool:
    """Record that a call is about to run. Return False if it already has a result, for example after a stop, or if it
    was started before. `again` permits the latter.
    """
    which = _build_condition(conversation_id, seq, tool_use_id)
    if not again:
        which = (*which, calls.c.started_at.is_(None))
    begun = connection.execute(update(calls).where(*which).values(started_at=now()))
    return begun.rowcount == 1


def end(
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
        .where(*_build_condition(conversation_id, seq, tool_use_id))
        .values(result=result, is_error=is_error, blocks=_BLOCKS.dump_json(blocks).decode() if blocks else None)
    )
    return ended.rowcount == 1


def _build_condition(conversation_id: str, seq: int, tool_use_id: str) -> tuple[ColumnElement[bool], ...]:
    return (
        calls.c.conversation_id == conversation_id,
        calls.c.seq == seq,
        calls.c.tool_use_id == tool_use_id,
        calls.c.result.is_(None),
    )
