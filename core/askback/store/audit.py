"""The history of one ask, for the operator. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = ["Done", "Waiting", "done_to", "ids_beginning", "waiting_for"]

from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import Connection, func, select

from askback.domain.actions import Deed
from askback.domain.identity import Actor
from askback.internal.clock import from_micros
from askback.internal.values import Value
from askback.store.schema import actions, asks, outbox

_DEED: TypeAdapter[Deed] = TypeAdapter(Deed)
ENOUGH = 20


class Done(Value):
    """One action of a person, and its effect."""

    at: datetime
    by: Actor
    deed: Deed
    verdict: str
    """`settled`, `changed` or `unchanged`."""
    revision: int


class Waiting(Value):
    """An update of an ask's card that has not been shown yet."""

    since: datetime | None
    """Time of the first failed try."""
    attempts: int
    error: str | None


def ids_beginning(connection: Connection, prefix: str) -> tuple[str, ...]:
    """Return at most `ENOUGH` ids of asks with this prefix. If an id equals the prefix, return that one alone."""
    query = select(asks.c.id).where(func.substr(asks.c.id, 1, len(prefix)) == prefix).order_by(asks.c.created_at)
    found = tuple(connection.execute(query.limit(ENOUGH)).scalars())
    exact = connection.execute(select(asks.c.id).where(asks.c.id == prefix)).scalar()
    return found if exact is None else (exact,)


def done_to(connection: Connection, ask_id: str) -> tuple[Done, ...]:
    """Return every action on an ask, oldest first."""
    rows = connection.execute(select(actions).where(actions.c.ask_id == ask_id).order_by(actions.c.id)).mappings()
    return tuple(
        Done(
            at=from_micros(row["at"]),
            by=Actor.model_validate_json(row["actor"]),
            deed=_DEED.validate_json(row["action"]),
            verdict=row["verdict"],
            revision=row["revision"],
        )
        for row in rows
    )


def waiting_for(connection: Connection, ask_id: str) -> Waiting | None:
    """Return what the outbox holds for an ask's card. None if people see its newest state."""
    query = select(outbox.c.first_failed_at, outbox.c.attempts, outbox.c.last_error)
    row = connection.execute(query.where(outbox.c.target == f"ask:{ask_id}")).mappings().first()
    if row is None:
        return None
    failed = row["first_failed_at"]
    return Waiting(
        since=None if failed is None else from_micros(failed), attempts=row["attempts"], error=row["last_error"]
    )
