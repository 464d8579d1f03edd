"""Statements about the outbox, which holds what people have yet to see. Each function runs inside a caller's
transaction.

There is one row per target, so a card that changes five times before it is drawn is drawn once. A worker leases a row
before it sends anything, so that a crash leaves a trace (`attempts`). The row is deleted when the platform confirmed
the delivery.
"""

from __future__ import annotations

__all__ = [
    "LEASE_SECONDS",
    "LONGEST_PAUSE",
    "OutboxItem",
    "asks_being_posted",
    "delete",
    "end_all_leases",
    "enqueue_card",
    "enqueue_message",
    "has_earlier_text",
    "lease",
    "release_lease",
    "renew_lease",
    "repair_due_times",
    "retry",
    "retry_failed_now",
    "time_until_due",
    "undo_lease",
    "withdraw_message",
]  # fmt: skip

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
    insert,
    or_,
    select,
    true,
    update,
)
from sqlalchemy import delete as delete_from
from sqlalchemy.orm import aliased

from askback.domain.ask import Ask
from askback.domain.conversation import OutgoingMessage
from askback.internal.clock import from_micros, to_micros
from askback.internal.values import Value
from askback.store.database_clock import NOW, given_now
from askback.store.events import WorkEnqueued, record_event
from askback.store.schema import asks, conversations, outbox
from askback.store.statement import Statement
from askback.store.tables.platform_claims import ServedPlatforms, is_served
from askback.store.unreadable_rows import SkippedRows, UnreadableRow, reading

LEASE_SECONDS = 10
"""Seconds for which a lease keeps other workers from taking a row, unless it is renewed."""
TOLERANCE = timedelta(seconds=1)
"""Largest step back of a clock that is ignored."""
LONGEST_WAIT = timedelta(hours=2)
"""The longest pause between two tries, even if the platform asks for more."""
LONGEST_PAUSE = timedelta(seconds=60)
"""The longest pause between two tries if the platform did not ask for one."""
_MICROSECOND = timedelta(microseconds=1)
LARGEST_ID = 2**63 - 1
_TOKEN = secrets.token_hex(8)


class OutboxItem(Value):
    """One row of the outbox, leased to its reader."""

    id: int
    target: str
    kind: Literal["card", "say", "removal"]
    ask_id: str | None
    conversation_id: str | None
    revision: int
    say: OutgoingMessage | None
    attempts: int
    """Number of leases so far, this one included. Above 1, an earlier try may have been delivered."""
    first_failed_at: datetime | None
    due_at: datetime
    tried_at: datetime | None = None
    """Time of the first lease. None means this is the first."""
    contested: bool = False
    """True if another process may have drawn an older revision of the card after the newest one."""


def _overtakes() -> ColumnElement[bool]:
    """Return an SQL condition that is true if something else in the same conversation must be shown before this row.

    That is a text that was queued earlier. It is also the card of an open ask that no one has seen, if the card is due
    or was tried.
    """
    earlier = aliased(outbox)
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


def _is_served(served: ServedPlatforms) -> ColumnElement[bool]:
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


# Compiled once, since each click, each text and each check of the outbox needs these.
_NEWER: BindParameter[int] = bindparam("newer")
_LEASE: BindParameter[int] = bindparam("lease", type_=BigInteger())
_AFTER: BindParameter[int] = bindparam("after", type_=BigInteger())
# NULL without a lease, because adding to NULL gives NULL.
_LEASED_UNTIL = NOW + _LEASE
_HOLDER: BindParameter[str] = bindparam("holder", type_=Text())
_NOT_BEFORE: BindParameter[int] = bindparam("not_before", type_=BigInteger())
_DUE_AT = case((_NOT_BEFORE > NOW, _NOT_BEFORE), else_=NOW)
_REDRAW = Statement(
    update(outbox)
    .where(outbox.c.target == bindparam("of"))
    .values(
        revision=case((outbox.c.revision < _NEWER, _NEWER), else_=outbox.c.revision),
        contested_until=case(
            (and_(outbox.c.leased_until > NOW, outbox.c.leased_by.is_distinct_from(_HOLDER)), outbox.c.leased_until),
            else_=outbox.c.contested_until,
        ),
        leased_until=_LEASED_UNTIL,
        leased_by=_HOLDER,
        due_at=_DUE_AT,
        noted_at=NOW,
    )
)
_QUEUED = Statement(select(outbox.c.id).where(outbox.c.target == bindparam("of")))
_TRIED: BindParameter[int] = bindparam("tried", type_=BigInteger())
_QUEUE = Statement(
    insert(outbox).values(
        leased_until=_LEASED_UNTIL, leased_by=_HOLDER, due_at=_DUE_AT, tried_at=NOW + _TRIED, noted_at=NOW
    )
)
_FREE_AT = func.coalesce(outbox.c.leased_until, 0)
_OWN_ID = select(outbox.c.id).where(outbox.c.target == bindparam("own")).scalar_subquery()
_WAITS_BEFORE = Statement(
    select(outbox.c.id)
    .where(outbox.c.conversation_id == bindparam("of"), outbox.c.kind == "say")
    .where(outbox.c.id < func.coalesce(_OWN_ID, LARGEST_ID))
    .limit(1)
)
_IS_READ = outbox.c.id.not_in(bindparam("left", expanding=True))
"""SQL condition that is true unless this process must leave the row to a newer release."""


@cache
def _due(served: ServedPlatforms) -> Select[*tuple[Any, ...]]:
    return (
        select(outbox)
        .where(outbox.c.due_at <= NOW, or_(outbox.c.leased_until.is_(None), outbox.c.leased_until <= NOW))
        .where(~_overtakes(), _is_served(served), _IS_READ)
        .order_by(outbox.c.due_at, outbox.c.id)
        .limit(bindparam("at_most"))
        # Skip rows that another process is taking now.
        .with_for_update(of=outbox, skip_locked=True)
    )


@cache
def _next_due(served: ServedPlatforms) -> tuple[Select[int], Select[int]]:
    """Return the queries for the time until the next row is due, one for free rows and one for leased rows."""
    unheld = (
        select(outbox.c.due_at - NOW)
        .where(outbox.c.leased_until.is_(None), ~_overtakes(), _is_served(served), _IS_READ)
        .order_by(outbox.c.leased_until, outbox.c.due_at)
        .limit(1)
    )
    held = (
        select(case((outbox.c.due_at < _FREE_AT, _FREE_AT), else_=outbox.c.due_at) - NOW)
        .where(outbox.c.leased_until.is_not(None), ~_overtakes(), _is_served(served), _IS_READ)
        .order_by(outbox.c.leased_until)
        .limit(1)
    )
    return unheld, held


def enqueue_card(
    connection: Connection, ask: Ask, *, not_before: datetime | None = None, lease: timedelta | None = None
) -> None:
    """Queue the drawing of a card.

    `lease` is the time for which the caller draws it itself, so that no worker takes the row.
    """
    target, revision, when = f"ask:{ask.id}", ask.interview.revision, _when(connection, not_before, lease)
    if _REDRAW.change(connection, of=target, newer=revision, **when) == 0:
        _QUEUE.change(
            connection,
            target=target,
            kind="card",
            conversation_id=ask.conversation_id,
            ask_id=ask.id,
            revision=revision,
            tried=None,
            **when,
        )
    if lease is None:
        record_event(WorkEnqueued())


def enqueue_message(
    connection: Connection,
    say: OutgoingMessage,
    conversation_id: str | None,
    *,
    lease: timedelta | None = None,
    kind: Literal["say", "removal"] = "say",
    ask_id: str | None = None,
    tried: bool = False,
) -> None:
    """Queue a text, or the removal of one. If a row with the same target exists, it stays as it is.

    `lease` is the time for which the caller posts it itself. With `ask_id`, it is posted only while that ask is open.
    `tried` means that a part of it may be posted already. A `lease` implies that, since the caller is about to post it.
    """
    tried = tried or lease is not None
    if not _QUEUED.rows(connection, of=say.target):
        _QUEUE.change(
            connection,
            target=say.target,
            kind=kind,
            conversation_id=conversation_id,
            ask_id=ask_id,
            payload=_written(say),
            attempts=int(tried),
            tried=0 if tried else None,
            **_when(connection, None, lease),
        )
    if lease is None:
        record_event(WorkEnqueued())


def _when(connection: Connection, not_before: datetime | None, lease: timedelta | None) -> dict[str, int | str | None]:
    return {
        "now": given_now(connection),
        "not_before": None if not_before is None else to_micros(not_before),
        "lease": None if lease is None else lease // _MICROSECOND,
        "holder": _holder(),
    }


def _holder() -> str:
    """Return the name of this process as the holder of a lease. It differs after a fork."""
    return f"{_TOKEN}:{os.getpid()}"


def has_earlier_text(connection: Connection, conversation_id: str, before: str) -> bool:
    """Return True if another text of a conversation must be posted before the named one, even if that is not queued
    yet."""
    return bool(_WAITS_BEFORE.rows(connection, of=conversation_id, own=before))


def end_all_leases(connection: Connection) -> None:
    """End every lease, because the processes that held them have ended. Earlier failures of a row no longer count."""
    held = update(outbox).where(outbox.c.leased_until.is_not(None))
    connection.execute(held.values(leased_until=None, due_at=NOW, noted_at=NOW), {"now": given_now(connection)})
    connection.execute(update(outbox).where(outbox.c.first_failed_at.is_not(None)).values(first_failed_at=None))


def repair_due_times(connection: Connection) -> int:
    """Make rows due whose due time or lease was written by a clock that has since gone back.

    Return the number of rows.
    """
    far = NOW + LONGEST_WAIT // _MICROSECOND
    # Releases before 0005 did not store the time at which they put a row off.
    unnoted = and_(outbox.c.noted_at.is_(None), or_(outbox.c.leased_until > far, outbox.c.due_at > far))
    untimely = or_(outbox.c.noted_at > NOW + TOLERANCE // _MICROSECOND, unnoted)
    right = update(outbox).where(untimely).values(leased_until=None, due_at=NOW, noted_at=NOW)
    count = connection.execute(right, {"now": given_now(connection)}).rowcount
    if count:
        record_event(WorkEnqueued())
    return count


def lease(
    connection: Connection,
    length: timedelta,
    at_most: int,
    served: ServedPlatforms = None,
    left: SkippedRows | None = None,
) -> tuple[OutboxItem, ...]:
    """Lease at most `at_most` due rows of these platforms, for `length`.

    Rows that this release cannot read are added to `left`, and are not changed. Within a conversation, nothing
    overtakes a text that was queued before it, nor a card that no one has seen.
    """
    now, left = given_now(connection), left or SkippedRows()
    given = {"now": now, "at_most": at_most, "left": left.ids("outbox", int)}
    rows = connection.execute(_due(served), given).mappings().all()
    items = _items(rows, left)
    if items:
        connection.execute(
            update(outbox)
            .where(outbox.c.id.in_([item.id for item in items]))
            .values(
                leased_until=_LEASED_UNTIL,
                leased_by=_HOLDER,
                attempts=outbox.c.attempts + 1,
                tried_at=func.coalesce(outbox.c.tried_at, NOW),
                noted_at=NOW,
            ),
            {"now": now, "lease": length // _MICROSECOND, "holder": _holder()},
        )
    return items


def renew_lease(connection: Connection, target: str, length: timedelta) -> None:
    """Renew a lease. A row that was released meanwhile, or is leased for longer, stays as it is."""
    connection.execute(
        update(outbox)
        .where(outbox.c.target == target, outbox.c.leased_until < _LEASED_UNTIL)
        .values(leased_until=_LEASED_UNTIL, noted_at=NOW),
        {"now": given_now(connection), "lease": length // _MICROSECOND},
    )


def undo_lease(connection: Connection, item: OutboxItem) -> None:
    """Undo a lease whose holder cannot read the row's ask or conversation. The try does not count."""
    connection.execute(
        update(outbox).where(outbox.c.id == item.id).values(leased_until=None, attempts=item.attempts - 1)
    )


def time_until_due(
    connection: Connection, served: ServedPlatforms = None, left: SkippedRows | None = None
) -> timedelta | None:
    """Return the time until the next row of these platforms is due. None if nothing is queued for them.

    Rows that are left to newer processes do not count.
    """
    given = {"now": given_now(connection), "left": (left or SkippedRows()).ids("outbox", int)}
    found = [connection.execute(query, given).scalar_one_or_none() for query in _next_due(served)]
    nearest = min((one for one in found if one is not None), default=None)
    return None if nearest is None else nearest * _MICROSECOND


def asks_being_posted(connection: Connection) -> tuple[str, ...]:
    """Return the ids of the open asks whose first card a worker may be posting at this moment."""
    query = (
        select(asks.c.id)
        .join(outbox, outbox.c.ask_id == asks.c.id)
        .where(outbox.c.leased_until.is_not(None), outbox.c.kind == "card")
        .where(asks.c.status == "open", asks.c.messages == "[]")
    )
    return tuple(connection.execute(query).scalars())


def delete(connection: Connection, target: str, *, revision: int | None = None) -> None:
    """Delete a row that is done. With `revision`, keep a card that must be drawn in a newer revision.

    A contested card is put off instead, to be drawn once more. The process that drew an older revision may have died
    before it could say so.
    """
    now = {"now": given_now(connection)}
    done = outbox.c.target == target
    if revision is not None:
        done = and_(done, outbox.c.revision <= revision)
    calm = or_(outbox.c.contested_until.is_(None), outbox.c.contested_until <= NOW)
    if connection.execute(delete_from(outbox).where(done, calm), now).rowcount:
        record_event(WorkEnqueued())  # later rows of its conversation may have waited for it
        return
    put_off = update(outbox).where(done, ~calm)
    connection.execute(put_off.values(leased_until=None, due_at=outbox.c.contested_until, noted_at=NOW), now)


def withdraw_message(connection: Connection, target: str) -> None:
    """Withdraw a queued text.

    If no one has leased its row, the row is deleted. Otherwise some process may be posting the text, or may have posted
    it and died before the commit. Then the row becomes a removal, which finds the message and deletes it.
    """
    chosen = outbox.c.target == target
    connection.execute(delete_from(outbox).where(chosen, outbox.c.attempts == 0))
    payload = connection.execute(select(outbox.c.payload).where(chosen)).scalar_one_or_none()
    if payload is not None:
        with reading("Something that is to be said"):
            stored = OutgoingMessage.model_validate_json(payload)
        say = stored.evolve(gone=True, offer=None)
        connection.execute(update(outbox).where(chosen).values(kind="removal", payload=_written(say)))
        record_event(WorkEnqueued())


def release_lease(connection: Connection, target: str) -> None:
    """End the lease of a row that its holder could not deliver, and make it due at once."""
    freed = update(outbox).where(outbox.c.target == target).values(leased_until=None, due_at=NOW, noted_at=NOW)
    connection.execute(freed, {"now": given_now(connection)})
    record_event(WorkEnqueued())


def retry(connection: Connection, item: OutboxItem, after: timedelta, error: str, *, failed: bool) -> None:
    """Schedule another try of a row.

    `failed` means that the try counts as a failure, and not as a wait that the platform asked for.
    """
    first = func.coalesce(outbox.c.first_failed_at, NOW) if failed else outbox.c.first_failed_at
    connection.execute(
        update(outbox)
        .where(outbox.c.id == item.id)
        .values(leased_until=None, due_at=NOW + _AFTER, noted_at=NOW, last_error=error[:1000], first_failed_at=first),
        {"now": given_now(connection), "after": min(after, LONGEST_WAIT) // _MICROSECOND},
    )


def retry_failed_now(connection: Connection, served: ServedPlatforms) -> None:
    """Make failed rows of these platforms due, except those for which the platform itself asked for a longer wait."""
    soon = outbox.c.due_at <= NOW + LONGEST_PAUSE // _MICROSECOND
    failed = and_(outbox.c.first_failed_at.is_not(None), outbox.c.leased_until.is_(None), outbox.c.due_at > NOW)
    connection.execute(
        update(outbox).where(failed, soon, _is_served(served)).values(due_at=NOW, noted_at=NOW),
        {"now": given_now(connection)},
    )
    record_event(WorkEnqueued())


def _items(rows: Sequence[RowMapping], left: SkippedRows) -> tuple[OutboxItem, ...]:
    items: list[OutboxItem] = []
    for row in rows:
        try:
            items.append(_item(row))
        except UnreadableRow as error:
            left.add("outbox", row["id"], error)
    return tuple(items)


def _item(row: RowMapping) -> OutboxItem:
    with reading(f"Row {row['id']} of the outbox"):
        return OutboxItem(
            id=row["id"],
            target=row["target"],
            kind=row["kind"],
            ask_id=row["ask_id"],
            conversation_id=row["conversation_id"],
            revision=row["revision"],
            say=None if row["payload"] is None else OutgoingMessage.model_validate_json(row["payload"]),
            attempts=row["attempts"] + 1,
            first_failed_at=None if row["first_failed_at"] is None else from_micros(row["first_failed_at"]),
            due_at=from_micros(row["due_at"]),
            tried_at=None if row["tried_at"] is None else from_micros(row["tried_at"]),
            contested=row["contested_until"] is not None,
        )


def _written(say: OutgoingMessage) -> str:
    """Return a text as JSON.

    Older releases can read it as long as it uses no new field, since defaults are left out.
    """
    return say.model_dump_json(exclude_defaults=True)
