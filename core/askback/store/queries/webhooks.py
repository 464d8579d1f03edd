"""Statements about the addresses that get outcomes. Each function runs inside a caller's transaction.

A server leases a row before it sends the outcome, so that one process at a time does that. A row is due once its ask is
settled, whichever process settled it.
"""

from __future__ import annotations

__all__ = [
    "LEASE",
    "WebhookCounts",
    "add",
    "count",
    "delete",
    "end",
    "get_times_until_due",
    "has_webhook",
    "lease",
    "list_of_ask",
    "put_off",
    "retry",
]

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Final, Literal

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, case, func, or_, select, update
from sqlalchemy import delete as delete_from
from sqlalchemy.dialects.postgresql import insert

from askback.domain.webhook import MAX_PAUSE, MOST, Webhook, WebhookDelivery, create_webhook_id
from askback.errors import CallerError
from askback.internal.clock import MICROSECOND, from_micros, now
from askback.internal.values import Value
from askback.store.database_clock import NOW, get_now_parameter, read_now
from askback.store.schema import asks, webhooks

LEASE: Final = timedelta(seconds=30)
"""Time for which no other process sends a leased outcome. One attempt takes less."""

_FAR = NOW + MAX_PAUSE // MICROSECOND
"""A time further ahead was written before the clock went back."""
_IS_SETTLED = select(asks.c.id).where(asks.c.id == webhooks.c.ask_id, asks.c.status != "open").exists()


class WebhookCounts(Value):
    """Outcomes that did not arrive."""

    late: int
    """Number of those that have been waiting for more than an hour."""
    failed: int
    """Number of those that failed in the last week."""
    failed_ask: str | None
    """The ask of the newest that failed."""


def add(connection: Connection, ask_id: str, webhook: Webhook) -> None:
    """Store an address for the outcome of an ask. One that failed gets new attempts, any other stays as it is.

    Raises `CallerError` if the ask has too many addresses.
    """
    due = read_now(connection)
    values = {"state": "pending", "due_at": due, "attempts": 0, "tried_at": None, "ended_at": None, "error": None}
    added = insert(webhooks).values(
        id=create_webhook_id(),
        ask_id=ask_id,
        caller=webhook.caller,
        url=webhook.url,
        created_at=now(),
        **values,
    )
    again = added.on_conflict_do_update(
        index_elements=[webhooks.c.ask_id, webhooks.c.url], set_=values, where=webhooks.c.state == "failed"
    )
    connection.execute(again)
    found = select(func.count()).select_from(webhooks).where(webhooks.c.ask_id == ask_id)
    if connection.execute(found).scalar_one() > MOST:
        raise CallerError(f"This question has {MOST} webhooks already, which is the most: use one of them.")


def list_of_ask(connection: Connection, ask_id: str) -> tuple[WebhookDelivery, ...]:
    """Return the addresses for the outcome of an ask, oldest first."""
    query = select(webhooks).where(webhooks.c.ask_id == ask_id).order_by(webhooks.c.created_at, webhooks.c.id)
    return tuple(map(_read, connection.execute(query).mappings()))


def has_webhook(ask_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Return the SQL condition that an outcome is sent to an address."""
    return select(webhooks.c.id).where(webhooks.c.ask_id == ask_id).exists()


def get_times_until_due(connection: Connection, callers: Collection[str]) -> dict[str, timedelta]:
    """Return the time until the next attempt for each of these callers. One without a settled ask is missing."""
    free = case((webhooks.c.leased_until > webhooks.c.due_at, webhooks.c.leased_until), else_=webhooks.c.due_at)
    left = func.min(case((free > _FAR, 0), else_=free - NOW))
    query = (
        select(webhooks.c.caller, left.label("left"))
        .where(webhooks.c.state == "pending", webhooks.c.caller.in_(callers), _IS_SETTLED)
        .group_by(webhooks.c.caller)
    )
    rows = connection.execute(query, {"now": get_now_parameter(connection)})
    return {row.caller: max(row.left * MICROSECOND, timedelta(0)) for row in rows}


def lease(connection: Connection, caller: str, at_most: int) -> tuple[WebhookDelivery, ...]:
    """Lease at most `at_most` outcomes that are due for a caller, the oldest first."""
    given = {"now": get_now_parameter(connection)}
    query = (
        select(webhooks)
        .where(webhooks.c.state == "pending", webhooks.c.caller == caller, _IS_SETTLED, _is_due())
        .order_by(webhooks.c.due_at, webhooks.c.id)
        .limit(at_most)
        .with_for_update(of=webhooks, skip_locked=True)
    )
    found = tuple(map(_read, connection.execute(query, given).mappings().all()))
    if found:
        connection.execute(
            update(webhooks)
            .where(webhooks.c.id.in_([one.id for one in found]))
            .values(
                leased_until=NOW + LEASE // MICROSECOND,
                attempts=webhooks.c.attempts + 1,
                tried_at=func.coalesce(webhooks.c.tried_at, NOW),
            ),
            given,
        )
    tried = from_micros(read_now(connection))
    return tuple(one.evolve(attempts=one.attempts + 1, tried_at=one.tried_at or tried) for one in found)


def _is_due() -> ColumnElement[bool]:
    return and_(
        or_(webhooks.c.due_at <= NOW, webhooks.c.due_at > _FAR),
        or_(webhooks.c.leased_until.is_(None), webhooks.c.leased_until <= NOW, webhooks.c.leased_until > _FAR),
    )


def end(
    connection: Connection, item: WebhookDelivery, state: Literal["delivered", "failed"], error: str | None
) -> None:
    """Record that nothing more is sent. A delivery counts even if another process tries meanwhile."""
    is_open = webhooks.c.state == "pending" if state == "delivered" else _is_attempt(item)
    connection.execute(
        update(webhooks)
        .where(webhooks.c.id == item.id, is_open)
        .values(state=state, error=error, ended_at=NOW, leased_until=None),
        {"now": get_now_parameter(connection)},
    )


def retry(connection: Connection, item: WebhookDelivery, after: timedelta, error: str) -> None:
    """Schedule another attempt, unless another process has begun one."""
    connection.execute(
        update(webhooks)
        .where(webhooks.c.id == item.id, _is_attempt(item))
        .values(due_at=NOW + after // MICROSECOND, leased_until=None, error=error),
        {"now": get_now_parameter(connection)},
    )


def put_off(connection: Connection, item: WebhookDelivery, after: timedelta) -> None:
    """Take back a lease for which nothing was sent."""
    first = None if item.attempts == 1 else webhooks.c.tried_at
    connection.execute(
        update(webhooks)
        .where(webhooks.c.id == item.id, _is_attempt(item))
        .values(due_at=NOW + after // MICROSECOND, leased_until=None, attempts=item.attempts - 1, tried_at=first),
        {"now": get_now_parameter(connection)},
    )


def count(connection: Connection) -> WebhookCounts:
    """Return the outcomes that did not arrive, for the operator."""
    given = {"now": get_now_parameter(connection)}
    hour, week = (NOW - timedelta(hours=hours) // MICROSECOND for hours in (1, 7 * 24))
    settled = select(asks.c.id).where(asks.c.id == webhooks.c.ask_id, asks.c.settled_at < hour).exists()
    late = select(func.count()).select_from(webhooks).where(webhooks.c.state == "pending", settled)
    failed = select(webhooks.c.ask_id).where(webhooks.c.state == "failed", webhooks.c.ended_at > week)
    found = connection.execute(failed.order_by(webhooks.c.ended_at.desc()), given).scalars().all()
    return WebhookCounts(
        late=connection.execute(late, given).scalar_one(), failed=len(found), failed_ask=next(iter(found), None)
    )


def delete(connection: Connection, ask_ids: Iterable[str]) -> None:
    """Delete the addresses for the outcomes of these asks."""
    connection.execute(delete_from(webhooks).where(webhooks.c.ask_id.in_(tuple(ask_ids))))


def _is_attempt(item: WebhookDelivery) -> ColumnElement[bool]:
    return and_(webhooks.c.state == "pending", webhooks.c.attempts == item.attempts)


def _read(row: RowMapping) -> WebhookDelivery:
    return WebhookDelivery(
        id=row["id"],
        ask_id=row["ask_id"],
        caller=row["caller"],
        url=row["url"],
        state=row["state"],
        attempts=row["attempts"],
        tried_at=None if row["tried_at"] is None else from_micros(row["tried_at"]),
        ended_at=None if row["ended_at"] is None else from_micros(row["ended_at"]),
        error=row["error"],
    )
