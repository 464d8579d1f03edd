"""Tool calls and people's decisions about them. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = [
    "is_approved",
    "list_answer_authors",
    "list_calls_with_asks",
    "list_message_authors",
    "list_past_calls",
    "list_standing",
]

from collections.abc import Iterable, Iterator

from pydantic import JsonValue
from sqlalchemy import Connection

from askback.domain import approval
from askback.domain.ask import Ask
from askback.domain.identity import Actor
from askback.domain.requesters import PastCall, ReadMessage, find_authors
from askback.domain.turn import Call
from askback.store.queries import asks, conversations, inbox, tool_calls, transcript


def list_calls_with_asks(connection: Connection, conversation_id: str, seq: int) -> tuple[tuple[Call, Ask | None], ...]:
    """Return the tool calls of one assistant row, in the model's order, each with the ask about it (None if none)."""
    found: list[tuple[Call, Ask | None]] = []
    for call in tool_calls.list_of_message(connection, conversation_id, seq):
        ask = None if call.ask_id is None else asks.get(connection, call.ask_id)
        if ask is not None and ask.conversation_id == conversation_id and approval.is_approved(ask):
            changed = _get_changed(connection, conversation_id, seq, call, ask)
            found.append((call.evolve(approved=ask, changed=changed), ask))
        else:
            found.append((call, ask))
    return tuple(found)


def list_answer_authors(connection: Connection, calls: Iterable[tuple[Call, Ask | None]]) -> Iterator[Actor]:
    """Yield the people whose words are part of the outcomes of these calls' asks."""
    for _, ask in calls:
        if ask is not None:
            yield from find_authors(ask, asks.list_text_authors(connection, ask.id))


def list_message_authors(connection: Connection, conversation_id: str) -> tuple[ReadMessage, ...]:
    """Return the authors of each message to the model, oldest first."""
    wrote = inbox.list_authors_by_seq(connection, conversation_id)
    return tuple(
        message.evolve(
            authors=message.authors
            if message.complete
            # The results in a message answer the calls of the message before.
            else (
                *message.authors,
                *list_answer_authors(connection, list_calls_with_asks(connection, conversation_id, message.seq - 1)),
            ),
            asks=any(not author.is_program for author in wrote.get(message.seq, ())),
        )
        for message in transcript.list_read_messages(connection, conversation_id)
    )


def list_past_calls(connection: Connection, conversation_id: str, answered: Iterable[Ask]) -> tuple[PastCall, ...]:
    """Return the calls that the model made so far. `answered` holds the answered asks of the conversation."""
    granted = {ask.id for ask in answered if approval.is_approved(ask)}
    found: list[PastCall] = []
    for seq, tool, ask_id, succeeded in tool_calls.list_all(connection, conversation_id):
        found.append(PastCall(seq=seq, tool=tool, approved=ask_id in granted, succeeded=succeeded))
        granted.discard(ask_id or "")  # people did not review the later calls that the same ask allows
    return tuple(found)


def is_approved(connection: Connection, conversation_id: str, seq: int, call: Call) -> bool:
    """Return True if people approved the call as it is stored now: this tool with this input, and their changes."""
    ask = call.approved
    if ask is None:
        return False
    return approval.is_allowed(ask, call.tool, call.arguments, own=_is_own(connection, conversation_id, seq, call, ask))


def list_standing(connection: Connection) -> tuple[Ask, ...]:
    """Return the asks that let a tool run without a card for the rest of a conversation which goes on, oldest first."""
    return tuple(
        ask
        for ask in asks.list_voted_in_conversations(connection, approval.ALWAYS)
        if approval.is_standing(ask) and _is_going_on(connection, ask)
    )


def _is_going_on(connection: Connection, ask: Ask) -> bool:
    conversation = conversations.find(connection, ask.place)
    return conversation is not None and conversation.id == ask.conversation_id


def _is_own(connection: Connection, conversation_id: str, seq: int, call: Call, ask: Ask) -> bool:
    """Return True if people were asked about this very call, and not about an earlier one."""
    return tool_calls.find_first_of_ask(connection, conversation_id, ask.id) == (seq, call.tool_use_id)


def _get_changed(
    connection: Connection, conversation_id: str, seq: int, call: Call, ask: Ask
) -> dict[str, JsonValue] | None:
    """Return the arguments with the changes of people. None if they changed nothing about this call."""
    if not (ask.interview.changes and isinstance(call.input, dict)):
        return None
    if not _is_own(connection, conversation_id, seq, call, ask):
        return None
    return approval.get_approved_arguments(ask, call.tool, call.input)
