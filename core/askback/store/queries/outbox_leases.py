"""Leases of rows of the outbox, their retries, and the times at which they are due. Each function runs inside a
caller's transaction.

A worker leases a row before it sends anything, so that a crash leaves a trace (`attempts`).
"""

from __future__ import annotations

__all__ = [
    "HOLDER",
    "LEASED_UNTIL",
    "LEASE_SECONDS",
    "MAX_PAUSE",
    "OutboxItem",
    "end_all_leases",
    "get_holder",
    "get_time_until_due",
    "lease",
    "release_lease",
    "renew_lease",
    "repair_due_times",
    "retry",
    "retry_failed_now",
    "undo_lease",
]

import os
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    Text,
    and_,
    bindparam,
    case,
    func,
    or_,
    select,
    true,
    update,
)

from askback.domain.outgoing_message import OutgoingMessage
from askback.internal.clock import MICROSECOND, from_micros
from askback.internal.values import Value
from askback.store.database_clock import NOW, get_now_parameter
from askback.store.queries.platform_claims import ServedPlatforms, is_served
from askback.store.schema import asks, conversations, outbox
from askback.store.transaction_events import WorkEnqueued, record_event
from askback.store.unreadable_rows import SkippedRows, UnreadableRow, mark_unreadable

LEASE_SECONDS = 10
"""Duration of a lease in seconds. Meanwhile, no other worker takes the row. The holder may renew it."""
CLOCK_TOLERANCE = timedelta(seconds=1)
"""Maximum backward jump of a clock that is ignored."""
MAX_WAIT = timedelta(hours=2)
"""The longest pause between two tries, even if the platform asks for more."""
MAX_PAUSE = timedelta(seconds=60)
"""The longest pause between two tries if the platform did not ask for one."""
_TOKEN = secrets.token_hex(8)


class OutboxItem(Value):
    """One row of the outbox, leased to its reader."""

    id: int
    target: str
    kind: Literal["card", "say", "removal"]
    ask_id: str | None
    conversation_id: str | None
    revision: int
    outgoing: OutgoingMessage | None
    attempts: int
    """Number of leases so far, this one included. Above 1, an earlier try may have been delivered."""
    first_failed_at: datetime | None
    due_at: datetime
    tried_at: datetime | None = None
    """Time of the first lease. None means this is the first."""
    contested: bool = False
    """True if another process may have drawn an older revision of the card after the newest one."""


def get_holder() -> str:
    """Return the name of this process as the holder of a lease. It differs after a fork."""
    return f"{_TOKEN}:{os.getpid()}"


_LEASE: BindParameter[int] = bindparam("lease", type_=BigInteger())
HOLDER: BindParameter[str] = bindparam("holder", type_=Text())
"""The SQL parameter for `get_holder`."""
LEASED_UNTIL = NOW + _LEASE
"""The SQL expression for the end of a lease. NULL without a lease, because adding to NULL gives NULL."""
_AFTER: BindParameter[int] = bindparam("after", type_=BigInteger())
_FREE_AT = func.coalesce(outbox.c.leased_until, 0)
_IS_SOON = outbox.c.due_at <= NOW + MAX_PAUSE // MICROSECOND
"""SQL condition that is true unless the platform itself asked to wait for longer."""
_IS_READ = outbox.c.id.not_in(bindparam("left", expanding=True))
"""SQL condition that is true unless this process must leave the row to a newer release."""


def _build_overtaking_condition() -> ColumnElement[bool]:
    """Return an SQL condition that is true if something else in the same conversation must be shown before this row.

    That is a text that was queued earlier. It is also the card of an open ask that no one has seen, if the card is due
    or was tried.
    """
    earlier = outbox.alias()
    unseen = (
        select(asks.c.id)
        .where(asks.c.id == earlier.c.ask_id, asks.c.status == "open", asks.c.messages == "[]")
        .correlate(earlier)
        .exists()
    )
    is_due = or_(earlier.c.due_at <= NOW, earlier.c.attempts > 0)
    return (
        select(earlier.c.id)
        .where(earlier.c.conversation_id == outbox.c.conversation_id, earlier.c.id < outbox.c.id)
        .where(or_(earlier.c.kind == "say", and_(earlier.c.kind == "card", is_due, unseen)))
        .correlate(outbox)
        .exists()
    )


def _build_platform_condition(served: ServedPlatforms) -> ColumnElement[bool]:
    """Return an SQL condition that is true if a row belongs to one of these platforms.

    A row whose ask and conversation no longer exist matches too, so that any process may delete it.
    """
    if served is None:
        return true()
    of_ask = select(is_served(asks.c.place_key, served)).where(asks.c.id == outbox.c.ask_id)
    of_conversation = select(is_served(conversations.c.place_key, served)).where(
        conversations.c.id == outbox.c.conversation_id
    )
    return func.coalesce(of_ask.scalar_subquery(), of_conversation.scalar_subquery(), true())


@cache
def _select_due(served: ServedPlatforms) -> Select[*tuple[Any, ...]]:
    return (
        select(outbox)
        .where(outbox.c.due_at <= NOW, or_(outbox.c.leased_until.is_(None), outbox.c.leased_until <= NOW))
        .where(~_build_overtaking_condition(), _build_platform_condition(served), _IS_READ)
        .order_by(outbox.c.due_at, outbox.c.id)
        .limit(bindparam("at_most"))
        # Skip rows that another process is taking now.
        .with_for_update(of=outbox, skip_locked=True)
    )


@cache
def _select_next_due(served: ServedPlatforms) -> tuple[Select[int], Select[int]]:
    """Return the queries for the time until the next row is due, one for free rows and one for leased rows."""
    unheld = (
        select(outbox.c.due_at - NOW)
        .where(
            outbox.c.leased_until.is_(None), ~_build_overtaking_condition(), _build_platform_condition(served), _IS_READ
        )
        .order_by(outbox.c.leased_until, outbox.c.due_at)
        .limit(1)
    )
    held = (
        select(case((outbox.c.due_at < _FREE_AT, _FREE_AT), else_=outbox.c.due_at) - NOW)
        .where(
            outbox.c.leased_until.is_not(None),
            ~_build_overtaking_condition(),
            _build_platform_condition(served),
            _IS_READ,
        )
        .order_by(outbox.c.leased_until)
        .limit(1)
    )
    return unheld, held


def lease(
    connection: Connection,
    length: timedelta,
    at_most: int,
    served: ServedPlatforms = None,
    left: SkippedRows | None = None,
) -> tuple[OutboxItem, ...]:
    """Lease at most `at_most` due rows of these platforms, for `length`.

    Add rows that this release cannot read to `left`, and do not change them. Within a conversation, no row overtakes an
    earlier text or an unseen card.
    """
    now, left = get_now_parameter(connection), left or SkippedRows()
    given = {"now": now, "at_most": at_most, "left": left.get_ids("outbox", int)}
    rows = connection.execute(_select_due(served), given).mappings().all()
    items = _read_items(rows, left)
    if items:
        connection.execute(
            update(outbox)
            .where(outbox.c.id.in_([item.id for item in items]))
            .values(
                leased_until=LEASED_UNTIL,
                leased_by=HOLDER,
                attempts=outbox.c.attempts + 1,
                tried_at=func.coalesce(outbox.c.tried_at, NOW),
                noted_at=NOW,
            ),
            {"now": now, "lease": length // MICROSECOND, "holder": get_holder()},
        )
    return items


def renew_lease(connection: Connection, target: str, length: timedelta) -> None:
    """Renew a lease. A row that was released meanwhile, or is leased for longer, stays as it is."""
    connection.execute(
        update(outbox)
        .where(outbox.c.target == target, outbox.c.leased_until < LEASED_UNTIL)
        .values(leased_until=LEASED_UNTIL, noted_at=NOW),
        {"now": get_now_parameter(connection), "lease": length // MICROSECOND},
    )


def undo_lease(connection: Connection, item: OutboxItem) -> None:
    """Undo a lease whose holder cannot read the row's ask or conversation. The try does not count."""
    connection.execute(
        update(outbox).where(outbox.c.id == item.id).values(leased_until=None, attempts=item.attempts - 1)
    )


def release_lease(connection: Connection, target: str, *, only_own: bool = False) -> None:
    """End the lease of a row that its holder could not deliver, and make it due at once.

    A row without a lease keeps its due time, since it may be postponed for a reason. With `only_own`, another process
    that has leased the row meanwhile keeps it.
    """
    chosen = and_(outbox.c.target == target, outbox.c.leased_until.is_not(None))
    if only_own:
        chosen = and_(chosen, outbox.c.leased_by == get_holder())
    freed = update(outbox).where(chosen).values(leased_until=None, due_at=NOW, noted_at=NOW)
    connection.execute(freed, {"now": get_now_parameter(connection)})
    record_event(WorkEnqueued())


def end_all_leases(connection: Connection) -> None:
    """End every lease, because the processes that held them have ended.

    Earlier failures of a row no longer count, and a row that failed is due now.
    """
    given = {"now": get_now_parameter(connection)}
    held = update(outbox).where(outbox.c.leased_until.is_not(None))
    connection.execute(held.values(leased_until=None, due_at=NOW, noted_at=NOW), given)
    failed = outbox.c.first_failed_at.is_not(None)
    connection.execute(update(outbox).where(failed, _IS_SOON).values(due_at=NOW, noted_at=NOW), given)
    connection.execute(update(outbox).where(failed).values(first_failed_at=None))


def repair_due_times(connection: Connection) -> int:
    """Make rows due whose due time or lease was written by a clock that has since gone back.

    Return the number of rows.
    """
    far = NOW + MAX_WAIT // MICROSECOND
    # Releases before 0005 did not store the time at which they postponed a row.
    unnoted = and_(outbox.c.noted_at.is_(None), or_(outbox.c.leased_until > far, outbox.c.due_at > far))
    untimely = or_(outbox.c.noted_at > NOW + CLOCK_TOLERANCE // MICROSECOND, unnoted)
    right = update(outbox).where(untimely).values(leased_until=None, due_at=NOW, noted_at=NOW)
    count = connection.execute(right, {"now": get_now_parameter(connection)}).rowcount
    if count:
        record_event(WorkEnqueued())
    return count


def retry(connection: Connection, item: OutboxItem, after: timedelta, error: str, *, failed: bool) -> None:
    """Schedule another try of a row.

    `failed` is False if the platform asked to wait. Then the try does not count as a failure.
    """
    first = func.coalesce(outbox.c.first_failed_at, NOW) if failed else outbox.c.first_failed_at
    connection.execute(
        update(outbox)
        .where(outbox.c.id == item.id)
        .values(leased_until=None, due_at=NOW + _AFTER, noted_at=NOW, last_error=error[:1000], first_failed_at=first),
        {"now": get_now_parameter(connection), "after": min(after, MAX_WAIT) // MICROSECOND},
    )


def retry_failed_now(connection: Connection, served: ServedPlatforms) -> None:
    """Make failed rows of these platforms due, except those for which the platform itself asked for a longer wait."""
    failed = and_(outbox.c.first_failed_at.is_not(None), outbox.c.leased_until.is_(None), outbox.c.due_at > NOW)
    connection.execute(
        update(outbox).where(failed, _IS_SOON, _build_platform_condition(served)).values(due_at=NOW, noted_at=NOW),
        {"now": get_now_parameter(connection)},
    )
    record_event(WorkEnqueued())


def get_time_until_due(
    connection: Connection, served: ServedPlatforms = None, left: SkippedRows | None = None
) -> timedelta | None:
    """Return the time until the next row of these platforms is due. None if nothing is queued for them.

    Rows that only a newer release can read do not count.
    """
    given = {"now": get_now_parameter(connection), "left": (left or SkippedRows()).get_ids("outbox", int)}
    found = [connection.execute(query, given).scalar_one_or_none() for query in _select_next_due(served)]
    nearest = min((one for one in found if one is not None), default=None)
    return None if nearest is None else nearest * MICROSECOND


def _read_items(rows: Sequence[RowMapping], left: SkippedRows) -> tuple[OutboxItem, ...]:
    items: list[OutboxItem] = []
    for row in rows:
        try:
            items.append(_read_item(row))
        except UnreadableRow as error:
            left.add("outbox", row["id"], error)
    return tuple(items)


def _read_item(row: RowMapping) -> OutboxItem:
    with mark_unreadable(f"Row {row['id']} of the outbox"):
        return OutboxItem(
            id=row["id"],
            target=row["target"],
            kind=row["kind"],
            ask_id=row["ask_id"],
            conversation_id=row["conversation_id"],
            revision=row["revision"],
            outgoing=None if row["payload"] is None else OutgoingMessage.model_validate_json(row["payload"]),
            attempts=row["attempts"] + 1,
            first_failed_at=None if row["first_failed_at"] is None else from_micros(row["first_failed_at"]),
            due_at=from_micros(row["due_at"]),
            tried_at=None if row["tried_at"] is None else from_micros(row["tried_at"]),
            contested=row["contested_until"] is not None,
        )
