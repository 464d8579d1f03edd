"""Queries on the programs that wait for answers. Each function runs inside a caller's transaction.

A process renews its waits, so that others notice if it was killed. It also renews what it knows of callers that may
come back to it alone. Times use the database's clock. `receipts` has the queries on asks that are answered.
"""

from __future__ import annotations

__all__ = [
    "GRACE_SECONDS",
    "IS_LOST",
    "WAIT_SECONDS",
    "delete",
    "delete_ended",
    "end",
    "find_absence",
    "has_ended",
    "keep",
    "list_changed",
    "list_lost",
    "lose",
    "mark_told",
    "renew",
]

from collections.abc import Iterable
from functools import cache
from typing import Any, Final, Literal

from pydantic_core import to_json
from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Connection,
    Insert,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    literal_column,
    not_,
    null,
    or_,
    select,
    true,
    update,
)
from sqlalchemy import delete as delete_from
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.dialects.postgresql import Insert as UpsertInsert

from askback.domain.caller_absence import Absence
from askback.internal.clock import SECOND
from askback.store.database_clock import NOW, get_now_parameter
from askback.store.queries.platform_claims import ServedPlatforms, is_served
from askback.store.queries.webhooks import has_webhook
from askback.store.schema import asks, waits
from askback.store.unreadable_rows import SkippedRows

WAIT_SECONDS: Final = 90.0
"""Seconds for which a renewal counts. A process may miss two renewals, for example during a failover."""
GRACE_SECONDS: Final = 45.0
"""Seconds after the end of a wait until the card says that no caller waits. A program that polls waits again sooner."""
LONGEST_PATIENCE: Final = 3600.0
"""Maximum number of seconds that are added to these. They double with each absence, so that a card seldom changes."""

_IS_OPEN = exists().where(asks.c.id == waits.c.ask_id, asks.c.status == "open")
_IS_PAST = waits.c.waits_until <= NOW
# A caller whose address gets the outcome need not wait.
_HAS_WEBHOOK = has_webhook(waits.c.ask_id)
IS_LOST = and_(waits.c.lost, or_(waits.c.kept_until.is_(None), waits.c.kept_until <= NOW))
"""SQL condition that is true if no later call can receive the answer, once no caller waits."""
# A caller that cannot come back changes the card no more.
_IS_AWAY = and_(waits.c.waits_until + case((IS_LOST, 0), else_=waits.c.patience) <= NOW, not_(_HAS_WEBHOOK))
_IS_GONE = and_(IS_LOST, _IS_PAST, not_(_HAS_WEBHOOK))
_IS_BACK = or_(waits.c.waits_until > NOW, _HAS_WEBHOOK)
_UNTIL = NOW + bindparam("held", type_=BigInteger())
_LONGER = case(
    (waits.c.patience == 0, int(WAIT_SECONDS * SECOND)),
    (waits.c.patience * 2 > int(LONGEST_PATIENCE * SECOND), int(LONGEST_PATIENCE * SECOND)),
    else_=waits.c.patience * 2,
)
_NEEDS_NO_CALLER = ~exists().where(asks.c.id == waits.c.ask_id, asks.c.status.in_(("open", "answered")))
_ENDED = select(waits.c.ask_id).where(_IS_PAST, _NEEDS_NO_CALLER)
_DELETE_ENDED = delete_from(waits).where(_IS_PAST, _NEEDS_NO_CALLER)
_STATE = select(
    waits.c.told, asks.c.absence, _IS_GONE.label("gone"), _IS_AWAY.label("away"), _IS_BACK.label("back")
).join(asks, asks.c.id == waits.c.ask_id)


def renew(connection: Connection, ask_ids: Iterable[str], *, lost: bool) -> None:
    """Record that somebody waits for these asks. Settled ones are left out.

    `lost` means that no later call can receive their answers if this process is killed.
    """
    given = {"ids": _encode(ask_ids), "held": int(WAIT_SECONDS * SECOND), "lost": lost}
    connection.execute(_renew(connection.dialect.name), {**given, "now": get_now_parameter(connection)})


def end(connection: Connection, ask_ids: Iterable[str]) -> None:
    """Record that a process has stopped waiting for these asks. Another one that waits renews its waits in time.

    Settled asks are left out.
    """
    given = {"ids": _encode(ask_ids), "held": int(GRACE_SECONDS * SECOND)}
    connection.execute(_end(connection.dialect.name), {**given, "now": get_now_parameter(connection)})


def keep(connection: Connection, ask_ids: Iterable[str], *, ended: bool) -> None:
    """Record that only a later call to this process can receive the answers of these asks, for which no caller waits.

    `ended` means that a caller waited until now. Settled asks are left out.
    """
    given = {"ids": _encode(ask_ids), "held": int(GRACE_SECONDS * SECOND), "kept": int(WAIT_SECONDS * SECOND)}
    connection.execute(_keep(connection.dialect.name, ended), {**given, "now": get_now_parameter(connection)})


def lose(connection: Connection, ask_ids: Iterable[str]) -> None:
    """Record that no later call can receive the answers of these asks. Settled ones are left out."""
    given = {"ids": _encode(ask_ids), "held": 0}
    connection.execute(_lose(connection.dialect.name), {**given, "now": get_now_parameter(connection)})


def list_lost(connection: Connection, ask_ids: Iterable[str]) -> tuple[str, ...]:
    """Return those of these asks whose answer no later call can receive."""
    found = select(waits.c.ask_id).where(_IS_GONE, waits.c.ask_id.in_(_select_ids(connection.dialect.name)))
    given = {"ids": _encode(ask_ids), "now": get_now_parameter(connection)}
    return tuple(connection.execute(found.order_by(waits.c.ask_id), given).scalars())


def list_changed(connection: Connection, at_most: int, served: ServedPlatforms, left: SkippedRows) -> tuple[str, ...]:
    """Return the ids of open asks on these platforms whose cards do not say yet that no caller waits, or still do.

    The asks in `left` are for a newer release.
    """
    given = {"now": get_now_parameter(connection), "at_most": at_most, "left": left.get_ids("ask", str)}
    return tuple(connection.execute(_select_changed(served), given).scalars())


def find_absence(connection: Connection, ask_id: str) -> Absence | Literal["back", "unchanged"]:
    """Return the change that the card of an ask has to show."""
    state = connection.execute(
        _STATE.where(waits.c.ask_id == ask_id), {"now": get_now_parameter(connection)}
    ).one_or_none()
    if state is None:
        return "unchanged"
    if state.told and state.back:
        return "back"
    if state.gone:
        return "unchanged" if state.absence == "gone" else "gone"
    return "away" if state.away and not state.told else "unchanged"


def mark_told(connection: Connection, ask_id: str, *, told: bool) -> None:
    """Record that the card says that no caller waits, or that it no longer does. The next time, this takes longer."""
    values = {"told": True} if told else {"told": False, "patience": _LONGER}
    connection.execute(update(waits).where(waits.c.ask_id == ask_id).values(**values))


def has_ended(connection: Connection) -> bool:
    """Return True if there are waits of asks that ended without an answer, or were deleted."""
    return connection.execute(_ENDED.limit(1), {"now": get_now_parameter(connection)}).first() is not None


def delete_ended(connection: Connection) -> None:
    """Delete the waits of asks that ended without an answer, or were deleted."""
    connection.execute(_DELETE_ENDED, {"now": get_now_parameter(connection)})


def delete(connection: Connection, ask_ids: Iterable[str]) -> None:
    """Delete the waits of these asks."""
    connection.execute(delete_from(waits).where(waits.c.ask_id.in_(tuple(ask_ids))))


# A process may wait for thousands of asks. One parameter holds all their ids.
@cache
def _renew(dialect: str) -> Insert:
    added = _add(dialect, bindparam("lost", type_=Boolean()), None)
    new = added.excluded
    return _update_known(added, waits_until=new.waits_until, lost=new.lost, kept_until=new.kept_until)


@cache
def _end(dialect: str) -> Update:
    ended = update(waits).where(waits.c.ask_id.in_(_select_ids(dialect)), _IS_OPEN)
    return ended.values(waits_until=_UNTIL, lost=False, kept_until=None)


@cache
def _keep(dialect: str, ended: bool) -> Insert:
    added = _add(dialect, true(), NOW + bindparam("kept", type_=BigInteger()))
    new = added.excluded
    return _update_known(
        added,
        waits_until=new.waits_until if ended else waits.c.waits_until,
        lost=new.lost,
        kept_until=new.kept_until,
    )


@cache
def _lose(dialect: str) -> Insert:
    added = _add(dialect, true(), None)
    new = added.excluded
    # A card that says already that no caller waits does not change back.
    earlier = case((waits.c.waits_until < new.waits_until, waits.c.waits_until), else_=new.waits_until)
    return _update_known(added, waits_until=earlier, lost=new.lost, kept_until=new.kept_until)


def _add(dialect: str, lost: ColumnElement[bool], kept_until: ColumnElement[int] | None) -> UpsertInsert:
    kept = null() if kept_until is None else kept_until
    found = select(asks.c.id, _UNTIL, lost, cast(kept, BigInteger)).where(
        asks.c.status == "open", asks.c.id.in_(_select_ids(dialect))
    )
    # In one order, since two processes may wait for the same asks.
    return insert(waits).from_select(["ask_id", "waits_until", "lost", "kept_until"], found.order_by(asks.c.id))


def _update_known(added: UpsertInsert, **values: ColumnElement[Any]) -> Insert:
    return added.on_conflict_do_update(index_elements=[waits.c.ask_id], set_=values)


def _select_ids(dialect: str) -> Select[str]:
    given = bindparam("ids", type_=Text())
    if dialect == "postgresql":
        return select(func.jsonb_array_elements_text(cast(given, JSONB), type_=Text()).column_valued("one"))
    return select(literal_column("value", type_=Text())).select_from(func.json_each(given))


@cache
def _select_changed(served: ServedPlatforms) -> Select[str]:
    changed: ColumnElement[bool] = or_(
        and_(not_(waits.c.told), _IS_AWAY, _IS_PAST),
        and_(waits.c.told, _IS_BACK),
        and_(waits.c.told, _IS_GONE, asks.c.absence != "gone"),
    )
    return (
        select(waits.c.ask_id)
        .join(asks, asks.c.id == waits.c.ask_id)
        .where(changed, asks.c.status == "open", is_served(asks.c.place_key, served))
        .where(asks.c.id.not_in(bindparam("left", expanding=True)))
        .order_by(waits.c.waits_until)
        .limit(bindparam("at_most"))
    )


def _encode(ask_ids: Iterable[str]) -> str:
    return to_json(tuple(ask_ids)).decode()
