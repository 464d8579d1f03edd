"""The history of one ask, for the operator. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = [
    "ActionRecord",
    "PendingUpdate",
    "ToolCallRecord",
    "find_ids_by_prefix",
    "get_pending_update",
    "get_tool_call",
    "list_actions",
]

from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import Connection, func, select

from askback.domain.actions import Operation
from askback.domain.ask import Ask
from askback.domain.identity import Actor
from askback.internal.clock import from_micros
from askback.internal.values import Value
from askback.store.schema import actions, asks, calls, outbox

_OPERATION: TypeAdapter[Operation] = TypeAdapter(Operation)
ENOUGH = 20


class ActionRecord(Value):
    """One action of a person, and its effect."""

    at: datetime
    by: Actor
    operation: Operation
    verdict: str
    """`settled`, `changed` or `unchanged`."""
    revision: int


class PendingUpdate(Value):
    """An update of an ask's card that has not been shown yet."""

    since: datetime | None
    """Time of the first failed try."""
    attempts: int
    error: str | None


class ToolCallRecord(Value):
    """The model's tool call that an ask belongs to."""

    tool: str
    input: str
    """JSON."""
    result: str | None
    """The text that a tool of the operator returned. The result of a question is its outcome."""


def find_ids_by_prefix(connection: Connection, prefix: str) -> tuple[str, ...]:
    """Return at most `ENOUGH` ids of asks with this prefix. If an id equals the prefix, return that one alone."""
    query = select(asks.c.id).where(func.substr(asks.c.id, 1, len(prefix)) == prefix).order_by(asks.c.created_at)
    found = tuple(connection.execute(query.limit(ENOUGH)).scalars())
    exact = connection.execute(select(asks.c.id).where(asks.c.id == prefix)).scalar()
    return found if exact is None else (exact,)


def list_actions(connection: Connection, ask_id: str) -> tuple[ActionRecord, ...]:
    """Return every action on an ask, oldest first."""
    rows = connection.execute(select(actions).where(actions.c.ask_id == ask_id).order_by(actions.c.id)).mappings()
    return tuple(
        ActionRecord(
            at=from_micros(row["at"]),
            by=Actor.model_validate_json(row["actor"]),
            operation=_OPERATION.validate_json(row["action"]),
            verdict=row["verdict"],
            revision=row["revision"],
        )
        for row in rows
    )


def get_pending_update(connection: Connection, ask_id: str) -> PendingUpdate | None:
    """Return the pending update of an ask's card from the outbox. None if people see its newest state."""
    query = select(outbox.c.first_failed_at, outbox.c.attempts, outbox.c.last_error)
    row = connection.execute(query.where(outbox.c.target == f"ask:{ask_id}")).mappings().first()
    if row is None:
        return None
    failed = row["first_failed_at"]
    return PendingUpdate(
        since=None if failed is None else from_micros(failed), attempts=row["attempts"], error=row["last_error"]
    )


def get_tool_call(connection: Connection, ask: Ask) -> ToolCallRecord | None:
    """Return the tool call that asked this, or that it approves. None if no model asked."""
    if ask.conversation_id is None:
        return None
    query = select(calls.c.tool, calls.c.input, calls.c.result).where(
        calls.c.conversation_id == ask.conversation_id, calls.c.ask_id == ask.id
    )
    row = connection.execute(query).mappings().first()
    return None if row is None else ToolCallRecord(**row)
