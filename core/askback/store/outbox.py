"""Statements about what is still to be shown to people. Each function runs inside a caller's transaction.

One row a target: a card that changes five times before it is drawn is drawn once. A row is leased
before anything is sent, so that a crash leaves a trace (`attempts`), and deleted when the platform
confirmed it.
"""

from __future__ import annotations

__all__ = [
    "FARTHEST", "OutboxItem", "delete", "free", "hold", "lease", "next_due", "put_card", "put_say", "release",
    "retry", "set_right", "take_back",
]  # fmt: skip

from datetime import datetime, timedelta
from functools import cache
from typing import Any, Literal

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    bindparam,
    case,
    func,
    insert,
    or_,
    select,
    true,
    update,
)
from sqlalchemy import delete as delete_from
from sqlalchemy.orm import aliased

from askback.asks import Ask
from askback.clock import from_micros, to_micros
from askback.conversations import Say
from askback.store.schema import asks, conversations, outbox
from askback.store.served import Served, is_served
from askback.store.statement import Statement
from askback.values import Value

FARTHEST = timedelta(minutes=10)
"""Nothing is leased for longer than that, nor put off, nor a turn, but for the pace at which cards are posted."""


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


def _is_served(served: Served) -> ColumnElement[bool]:
    """Whether a row is to be shown on one of these platforms. One whose place is gone is anybody's, to be deleted."""
    if served is None:
        return true()
    of_ask = select(is_served(asks.c.place_key, served)).where(asks.c.id == outbox.c.ask_id)
    of_conversation = select(is_served(conversations.c.place_key, served)).where(
        conversations.c.id == outbox.c.conversation_id
    )
    return func.coalesce(of_ask.scalar_subquery(), of_conversation.scalar_subquery(), true())


# Built once: each click, each text and each look at the outbox needs these.
_NEWER: BindParameter[int] = bindparam("newer")
_REDRAW = Statement(
    update(outbox)
    .where(outbox.c.target == bindparam("of"))
    .values(
        revision=case((outbox.c.revision < _NEWER, _NEWER), else_=outbox.c.revision),
        leased_until=bindparam("until"),
        due_at=bindparam("due"),
    )
)
_QUEUED = Statement(select(outbox.c.id).where(outbox.c.target == bindparam("of")))
_QUEUE = Statement(insert(outbox))
_FREE_AT = func.coalesce(outbox.c.leased_until, 0)


@cache
def _due(served: Served) -> Select[*tuple[Any, ...]]:
    return (
        select(outbox)
        .where(
            outbox.c.due_at <= bindparam("moment"),
            or_(outbox.c.leased_until.is_(None), outbox.c.leased_until <= bindparam("moment")),
        )
        .where(~_overtakes(), _is_served(served))
        .order_by(outbox.c.due_at, outbox.c.id)
        .limit(bindparam("at_most"))
        # What another process is taking at this moment is not waited for.
        .with_for_update(of=outbox, skip_locked=True)
    )


@cache
def _next_due(served: Served) -> Select[int | None]:
    free_at = case((outbox.c.due_at < _FREE_AT, _FREE_AT), else_=outbox.c.due_at)
    return select(func.min(free_at)).where(~_overtakes(), _is_served(served))


def put_card(connection: Connection, ask: Ask, due: datetime, leased_until: datetime | None) -> None:
    """The card of an ask has to be drawn. `leased_until`: whoever calls draws it until then."""
    leased = None if leased_until is None else to_micros(leased_until)
    target, revision = f"ask:{ask.id}", ask.interview.revision
    if _REDRAW.change(connection, of=target, newer=revision, until=leased, due=to_micros(due)) == 0:
        _QUEUE.change(
            connection,
            target=target,
            kind="card",
            conversation_id=ask.conversation_id,
            ask_id=ask.id,
            revision=revision,
            due_at=to_micros(due),
            leased_until=leased,
        )


def put_say(
    connection: Connection,
    say: Say,
    conversation_id: str | None,
    due: datetime,
    leased_until: datetime | None,
    *,
    kind: Literal["say", "removal"] = "say",
    ask_id: str | None = None,
) -> None:
    """A text has to be said, or taken away; `ask_id`: only while that ask is open.

    One that is queued under the same name already is left as it is.
    """
    if not _QUEUED.rows(connection, of=say.target):
        _QUEUE.change(
            connection,
            target=say.target,
            kind=kind,
            conversation_id=conversation_id,
            ask_id=ask_id,
            payload=say.model_dump_json(),
            due_at=to_micros(due),
            leased_until=None if leased_until is None else to_micros(leased_until),
            # Whoever queues it leased is about to say it: that is a try, too.
            attempts=0 if leased_until is None else 1,
        )


def free(connection: Connection, now: datetime) -> None:
    """End every lease: whoever held one is gone. What failed before it went is tried as if for the first time."""
    connection.execute(
        update(outbox).where(outbox.c.leased_until.is_not(None)).values(leased_until=None, due_at=to_micros(now))
    )
    connection.execute(update(outbox).where(outbox.c.first_failed_at.is_not(None)).values(first_failed_at=None))


def set_right(connection: Connection, now: datetime) -> int:
    """Whatever waits for a moment that it never was put off to is due: the clock went back. Returns how many did."""
    moment, far = to_micros(now), to_micros(now + FARTHEST)
    paced = (
        select(asks.c.id)
        .where(asks.c.id == outbox.c.ask_id, asks.c.post_after == outbox.c.due_at, asks.c.created_at <= moment)
        .exists()
    )
    untimely = or_(outbox.c.leased_until > far, and_(outbox.c.due_at > far, ~paced))
    return connection.execute(update(outbox).where(untimely).values(leased_until=None, due_at=moment)).rowcount


def lease(
    connection: Connection, now: datetime, until: datetime, at_most: int, served: Served = None
) -> tuple[OutboxItem, ...]:
    """Take rows of these platforms that are due.

    Within a conversation, nothing overtakes a text that was queued before it.
    """
    moment = to_micros(now)
    rows = connection.execute(_due(served), {"moment": moment, "at_most": at_most}).mappings().all()
    if rows:
        connection.execute(
            update(outbox)
            .where(outbox.c.id.in_([row["id"] for row in rows]))
            .values(leased_until=to_micros(until), attempts=outbox.c.attempts + 1)
        )
    return tuple(_item(row) for row in rows)


def hold(connection: Connection, targets: tuple[str, ...], until: datetime) -> None:
    """Keep what was leased. What was given back meanwhile, or is leased for longer, stays as it is."""
    leased = outbox.c.leased_until
    moment = to_micros(until)
    connection.execute(update(outbox).where(outbox.c.target.in_(targets), leased < moment).values(leased_until=moment))


def next_due(connection: Connection, served: Served = None) -> datetime | None:
    """When the next row of these platforms has to be looked at."""
    nearest = connection.execute(_next_due(served)).scalar_one()
    return None if nearest is None else from_micros(nearest)


def delete(connection: Connection, target: str, *, revision: int | None = None) -> None:
    """It is done; for a card, unless it has to be drawn in a newer revision by now."""
    statement = delete_from(outbox).where(outbox.c.target == target)
    if revision is not None:
        statement = statement.where(outbox.c.revision <= revision)
    connection.execute(statement)


def take_back(connection: Connection, target: str) -> None:
    """It is not to be said any more. Somebody may be saying it, or have said it and died before that was noted: then
    it stays, to be looked for and taken away."""
    chosen = outbox.c.target == target
    connection.execute(delete_from(outbox).where(chosen, outbox.c.attempts == 0))
    payload = connection.execute(select(outbox.c.payload).where(chosen)).scalar_one_or_none()
    if payload is not None:
        say = Say.model_validate_json(payload).evolve(gone=True, offer=None)
        connection.execute(update(outbox).where(chosen).values(kind="removal", payload=say.model_dump_json()))


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
            due_at=to_micros(now + min(after, FARTHEST)),
            last_error=error[:1000],
            first_failed_at=func.coalesce(outbox.c.first_failed_at, to_micros(now)),
        )
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
