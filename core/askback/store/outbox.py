"""Statements about what is still to be shown to people. Each function runs inside a caller's transaction.

One row a target: a card that changes five times before it is drawn is drawn once. A row is leased
before anything is sent, so that a crash leaves a trace (`attempts`), and deleted when the platform
confirmed it.
"""

from __future__ import annotations

__all__ = [
    "LEASE_SECONDS", "LONGEST_PAUSE", "OutboxItem", "delete", "free", "hold", "hurry", "lease", "leave", "next_due",
    "put_card", "put_say", "release", "retry", "set_right", "take_back", "text_waits",
]  # fmt: skip

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
from askback.domain.conversation import Say
from askback.internal.clock import from_micros, to_micros
from askback.internal.values import Value
from askback.store.left import Left, Unreadable, reading
from askback.store.platform_claims import Served, is_served
from askback.store.schema import asks, conversations, outbox
from askback.store.statement import Statement
from askback.store.times import NOW, given_now

LEASE_SECONDS = 10
"""For so long nobody else takes what was taken, unless the lease is renewed."""
TOLERANCE = timedelta(seconds=1)
"""A clock that goes back by no more is left alone."""
LONGEST_WAIT = timedelta(hours=2)
"""The longest pause between two tries, also where the platform asks for more."""
LONGEST_PAUSE = timedelta(seconds=60)
"""The longest pause between two tries for which the platform did not ask."""
_MICROSECOND = timedelta(microseconds=1)
LARGEST_ID = 2**63 - 1


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
    tried_at: datetime | None = None
    """When it was leased for the first time; None: this is the first time."""


def _overtakes() -> ColumnElement[bool]:
    """Whether something of the same conversation has to be shown before a row.

    That is a text that was queued before it, or the card of an open question that is due and that nobody has seen.
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
_LEASE: BindParameter[int] = bindparam("lease", type_=BigInteger())
_AFTER: BindParameter[int] = bindparam("after", type_=BigInteger())
# NULL where nobody holds it: adding to NULL is NULL.
_LEASED_UNTIL = NOW + _LEASE
_NOT_BEFORE: BindParameter[int] = bindparam("not_before", type_=BigInteger())
_DUE_AT = case((_NOT_BEFORE > NOW, _NOT_BEFORE), else_=NOW)
_REDRAW = Statement(
    update(outbox)
    .where(outbox.c.target == bindparam("of"))
    .values(
        revision=case((outbox.c.revision < _NEWER, _NEWER), else_=outbox.c.revision),
        leased_until=_LEASED_UNTIL,
        due_at=_DUE_AT,
        noted_at=NOW,
    )
)
_QUEUED = Statement(select(outbox.c.id).where(outbox.c.target == bindparam("of")))
_TRIED: BindParameter[int] = bindparam("tried", type_=BigInteger())
_QUEUE = Statement(
    insert(outbox).values(leased_until=_LEASED_UNTIL, due_at=_DUE_AT, tried_at=NOW + _TRIED, noted_at=NOW)
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
"""Whether it is not one of those that this process has to leave to a newer one."""


@cache
def _due(served: Served) -> Select[*tuple[Any, ...]]:
    return (
        select(outbox)
        .where(outbox.c.due_at <= NOW, or_(outbox.c.leased_until.is_(None), outbox.c.leased_until <= NOW))
        .where(~_overtakes(), _is_served(served), _IS_READ)
        .order_by(outbox.c.due_at, outbox.c.id)
        .limit(bindparam("at_most"))
        # What another process is taking at this moment is not waited for.
        .with_for_update(of=outbox, skip_locked=True)
    )


@cache
def _next_due(served: Served) -> tuple[Select[int], Select[int]]:
    """In how long the next row has to be looked at, of those that nobody holds and of those that somebody holds."""
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


def put_card(
    connection: Connection, ask: Ask, *, not_before: datetime | None = None, lease: timedelta | None = None
) -> None:
    """Queue the drawing of a card. `lease`: for so long the caller draws it."""
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


def put_say(
    connection: Connection,
    say: Say,
    conversation_id: str | None,
    *,
    lease: timedelta | None = None,
    kind: Literal["say", "removal"] = "say",
    ask_id: str | None = None,
    tried: bool = False,
) -> None:
    """Queue a text, or the removal of one. `lease`: for so long the caller says it. `ask_id`: only while it is open.

    `tried`: part of it may stand there already. So it may where the caller is about to say it.

    One that is queued under the same name already is left as it is.
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


def _when(connection: Connection, not_before: datetime | None, lease: timedelta | None) -> dict[str, int | None]:
    return {
        "now": given_now(connection),
        "not_before": None if not_before is None else to_micros(not_before),
        "lease": None if lease is None else lease // _MICROSECOND,
    }


def text_waits(connection: Connection, conversation_id: str, before: str) -> bool:
    """Return whether a text of a conversation is still to be said before the named one, which may not be queued yet."""
    return bool(_WAITS_BEFORE.rows(connection, of=conversation_id, own=before))


def free(connection: Connection) -> None:
    """End every lease: whoever held one is gone. What failed before it went is tried as if for the first time."""
    held = update(outbox).where(outbox.c.leased_until.is_not(None))
    connection.execute(held.values(leased_until=None, due_at=NOW, noted_at=NOW), {"now": given_now(connection)})
    connection.execute(update(outbox).where(outbox.c.first_failed_at.is_not(None)).values(first_failed_at=None))


def set_right(connection: Connection) -> int:
    """Make due what was put off at a time that is still to come: the clock went back. Returns how many rows."""
    far = NOW + LONGEST_WAIT // _MICROSECOND
    # Releases before 0005 did not note when they put a row off.
    unnoted = and_(outbox.c.noted_at.is_(None), or_(outbox.c.leased_until > far, outbox.c.due_at > far))
    untimely = or_(outbox.c.noted_at > NOW + TOLERANCE // _MICROSECOND, unnoted)
    right = update(outbox).where(untimely).values(leased_until=None, due_at=NOW, noted_at=NOW)
    return connection.execute(right, {"now": given_now(connection)}).rowcount


def lease(
    connection: Connection, length: timedelta, at_most: int, served: Served = None, left: Left | None = None
) -> tuple[OutboxItem, ...]:
    """Take rows of these platforms that are due. What cannot be read is added to `left`, and stays as it is.

    Within a conversation, nothing overtakes a text that was queued before it, nor a card that nobody has seen.
    """
    now, left = given_now(connection), left or Left()
    given = {"now": now, "at_most": at_most, "left": left.ids("outbox", int)}
    rows = connection.execute(_due(served), given).mappings().all()
    items = _items(rows, left)
    if items:
        connection.execute(
            update(outbox)
            .where(outbox.c.id.in_([item.id for item in items]))
            .values(
                leased_until=_LEASED_UNTIL,
                attempts=outbox.c.attempts + 1,
                tried_at=func.coalesce(outbox.c.tried_at, NOW),
                noted_at=NOW,
            ),
            {"now": now, "lease": length // _MICROSECOND},
        )
    return items


def hold(connection: Connection, target: str, length: timedelta) -> None:
    """Keep what was leased. What was given back meanwhile, or is leased for longer, stays as it is."""
    connection.execute(
        update(outbox)
        .where(outbox.c.target == target, outbox.c.leased_until < _LEASED_UNTIL)
        .values(leased_until=_LEASED_UNTIL, noted_at=NOW),
        {"now": given_now(connection), "lease": length // _MICROSECOND},
    )


def leave(connection: Connection, item: OutboxItem) -> None:
    """Whoever leased it cannot read what it is about: as if nobody had taken it."""
    connection.execute(
        update(outbox).where(outbox.c.id == item.id).values(leased_until=None, attempts=item.attempts - 1)
    )


def next_due(connection: Connection, served: Served = None, left: Left | None = None) -> timedelta | None:
    """Return in how long the next row of these platforms has to be looked at, but for those that are left to others.

    None: there is none.
    """
    given = {"now": given_now(connection), "left": (left or Left()).ids("outbox", int)}
    found = [connection.execute(query, given).scalar_one_or_none() for query in _next_due(served)]
    nearest = min((one for one in found if one is not None), default=None)
    return None if nearest is None else nearest * _MICROSECOND


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
        with reading("Something that is to be said"):
            stored = Say.model_validate_json(payload)
        say = stored.evolve(gone=True, offer=None)
        connection.execute(update(outbox).where(chosen).values(kind="removal", payload=_written(say)))


def release(connection: Connection, target: str) -> None:
    """Whoever held it could not do it: anybody may, at once."""
    freed = update(outbox).where(outbox.c.target == target).values(leased_until=None, due_at=NOW, noted_at=NOW)
    connection.execute(freed, {"now": given_now(connection)})


def retry(connection: Connection, item: OutboxItem, after: timedelta, error: str, *, failed: bool) -> None:
    """Try a row again later. `failed`: the try counts as a failure, and not as a wait that the platform asked for."""
    first = func.coalesce(outbox.c.first_failed_at, NOW) if failed else outbox.c.first_failed_at
    connection.execute(
        update(outbox)
        .where(outbox.c.id == item.id)
        .values(leased_until=None, due_at=NOW + _AFTER, noted_at=NOW, last_error=error[:1000], first_failed_at=first),
        {"now": given_now(connection), "after": min(after, LONGEST_WAIT) // _MICROSECOND},
    )


def hurry(connection: Connection, served: Served) -> None:
    """Make due what failed on these platforms, but for what the platform itself asked to wait for."""
    soon = outbox.c.due_at <= NOW + LONGEST_PAUSE // _MICROSECOND
    failed = and_(outbox.c.first_failed_at.is_not(None), outbox.c.leased_until.is_(None), outbox.c.due_at > NOW)
    connection.execute(
        update(outbox).where(failed, soon, _is_served(served)).values(due_at=NOW, noted_at=NOW),
        {"now": given_now(connection)},
    )


def _items(rows: Sequence[RowMapping], left: Left) -> tuple[OutboxItem, ...]:
    items: list[OutboxItem] = []
    for row in rows:
        try:
            items.append(_item(row))
        except Unreadable as error:
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
            say=None if row["payload"] is None else Say.model_validate_json(row["payload"]),
            attempts=row["attempts"] + 1,
            first_failed_at=None if row["first_failed_at"] is None else from_micros(row["first_failed_at"]),
            due_at=from_micros(row["due_at"]),
            tried_at=None if row["tried_at"] is None else from_micros(row["tried_at"]),
        )


def _written(say: Say) -> str:
    """What an older release reads, too, as long as nothing is in it that is new."""
    return say.model_dump_json(exclude_defaults=True)
