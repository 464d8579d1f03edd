"""Calls together with what people decided about them. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = ["calls_of", "is_approved"]

from sqlalchemy import Connection

from askback.asks import Ask
from askback.conversations import Call
from askback.store import asks, conversations
from askback.tools import approval


def calls_of(connection: Connection, conversation_id: str, seq: int) -> tuple[tuple[Call, Ask | None], ...]:
    """The tool calls of one assistant row, in the model's order, each with the ask that it waits for, or waited for."""
    found: list[tuple[Call, Ask | None]] = []
    for call in conversations.calls_of(connection, conversation_id, seq):
        ask = None if call.ask_id is None else asks.get(connection, call.ask_id)
        if ask is not None and ask.conversation_id == conversation_id and approval.granted(ask):
            found.append((call.evolve(approved=ask), ask))
        else:
            found.append((call, ask))
    return tuple(found)


def is_approved(connection: Connection, conversation_id: str, seq: int, call: Call) -> bool:
    """Whether people let run what is stored now: this tool with this input."""
    ask = call.approved
    if ask is None:
        return False
    own = conversations.first_of_ask(connection, conversation_id, ask.id) == (seq, call.tool_use_id)
    return approval.allows(ask, call.tool, call.input, own=own)
