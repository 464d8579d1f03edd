"""Statements about what is still to be shown to people. Each function runs inside a caller's transaction.

One row a target: a card that changes five times before it is drawn is drawn once. A row is leased
before anything is sent, so that a crash leaves a trace (`attempts`), and deleted when the platform
confirmed it.
"""

from __future__ import annotations

__all__ = ["OutboxItem", "delete", "free", "lease", "next_due", "put_card", "put_say", "release", "retry"]

from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import ColumnElement, Connection, RowMapping, case, func, insert, or_, select, update
from sqlalchemy import delete as delete_from
from sqlalchemy.orm import aliased

from askback.asks import Ask
from askback.clock import from_micros, to_micros
from askback.conversations import Say
from askback.store.schema import outbox
from askback.values import Value


class OutboxItem(Value):
    """One row, leased to whoever holds it."""

    id: int
    target: str
    kind: Literal["card", "say", "removal"]
    ask_id: str | None
    conversation_id: str | None
    revision: int
    say: Say | None
    attempts: int
    """How often it was leased, this time included: above 1 an earlier try may have got through."""
    first_failed_at: datetime | None
    due_at: datetime


def put_card(connection: Connection, ask: Ask, due: datetime, leased_until: datetime | None) -> None:
    """The card of an ask has to be drawn. `leased_until`: whoever calls draws it until then."""
    leased = None if leased_until is None else to_micros(leased_until)
    target, revision = f"ask:{ask.id}", ask.interview.revision
    merged = connection.execute(
        update(outbox)
        .where(outbox.c.target == target)
        .values(
            revision=case((outbox.c.revision < revision, revision), else_=outbox.c.revision),
            leased_until=leased,
            due_at=to_micros(due),
        )
    )
    if merged.rowcount == 0:
        connection.execute(
            insert(outbox).values(
                target=target,
                kind="card",
                conversation_id=ask.conversation_id,
                ask_id=ask.id,
                revision=revision,
                due_at=to_micros(due),
                leased_until=leased,
            )
        )


def put_say(
    connection: Connection,
    say: Say,
    conversation_id: str | None,
    due: datetime,
    leased_until: datetime | None,
    *,
    kind: Literal["say", "removal"] = "say",
) -> None:
    """A text has to be said, or taken away. One that is queued under the same name already is left as it is."""
    if connection.execute(select(outbox.c.id).where(outbox.c.target == say.target)).first() is None:
        connection.execute(
            insert(outbox).values(
                target=say.target,
                kind=kind,
                conversation_id=conversation_id,
                payload=say.model_dump_json(),
                due_at=to_micros(due),
                leased_until=None if leased_until is None else to_micros(leased_until),
                # Whoever queues it leased is about to say it: that is a try, too.
                attempts=0 if leased_until is None else 1,
            )
        )


def free(connection: Connection, now: datetime) -> None:
    """End every lease: whoever held one is gone. What failed before it went is tried as if for the first time."""
    connection.execute(
        update(outbox).where(outbox.c.leased_until.is_not(None)).values(leased_until=None, due_at=to_micros(now))
    )
    connection.execute(update(outbox).where(outbox.c.first_failed_at.is_not(None)).values(first_failed_at=None))


def lease(connection: Connection, now: datetime, until: datetime, at_most: int) -> tuple[OutboxItem, ...]:
    """Take rows that are due. Within a conversation, nothing overtakes a text that was queued before it."""
    moment = to_micros(now)
    query = (
        select(outbox)
        .where(outbox.c.due_at <= moment, or_(outbox.c.leased_until.is_(None), outbox.c.leased_until <= moment))
        .where(~_overtakes())
        .order_by(outbox.c.due_at, outbox.c.id)
        .limit(at_most)
    )
    rows = connection.execute(query).mappings().all()
    if rows:
        connection.execute(
            update(outbox)
            .where(outbox.c.id.in_([row["id"] for row in rows]))
            .values(leased_until=to_micros(until), attempts=outbox.c.attempts + 1)
        )
    return tuple(_item(row) for row in rows)


def next_due(connection: Connection) -> datetime | None:
    """When the next row has to be looked at."""
    free = func.coalesce(outbox.c.leased_until, 0)
    moment = case((free > outbox.c.due_at, free), else_=outbox.c.due_at)
    nearest = connection.execute(select(func.min(moment)).where(~_overtakes())).scalar_one()
    return None if nearest is None else from_micros(nearest)


def delete(connection: Connection, target: str, *, revision: int | None = None) -> None:
    """It is done; for a card, unless it has to be drawn in a newer revision by now."""
    statement = delete_from(outbox).where(outbox.c.target == target)
    if revision is not None:
        statement = statement.where(outbox.c.revision <= revision)
    connection.execute(statement)


def release(connection: Connection, target: str, now: datetime) -> None:
    """Whoever held it could not do it: anybody may, at once."""
    connection.execute(update(outbox).where(outbox.c.target == target).values(leased_until=None, due_at=to_micros(now)))


def retry(connection: Connection, item: OutboxItem, now: datetime, after: timedelta, error: str) -> None:
    """It could not be done for now."""
    connection.execute(
        update(outbox)
        .where(outbox.c.id == item.id)
        .values(
            leased_until=None,
            due_at=to_micros(now + after),
            last_error=error[:1000],
            first_failed_at=func.coalesce(outbox.c.first_failed_at, to_micros(now)),
        )
    )


def _overtakes() -> ColumnElement[bool]:
    """Whether a text of the same conversation waits in front of a row."""
    earlier = aliased(outbox)
    return (
        select(earlier.c.id)
        .where(
            earlier.c.conversation_id == outbox.c.conversation_id, earlier.c.id < outbox.c.id, earlier.c.kind == "say"
        )
        .exists()
    )


def _item(row: RowMapping) -> OutboxItem:
    return OutboxItem(
        id=row["id"],
        target=row["target"],
        kind=row["kind"],
        ask_id=row["ask_id"],
        conversation_id=row["conversation_id"],
        revision=row["revision"],
        say=None if row["payload"] is None else Say.model_validate_json(row["payload"]),
        attempts=row["attempts"] + 1,
        first_failed_at=None if row["first_failed_at"] is None else from_micros(row["first_failed_at"]),
        due_at=from_micros(row["due_at"]),
    )
