"""Queries on hand-overs of outcomes to agent frameworks. Each function runs inside a caller's transaction.

The holder of a claim renews it while the framework works. Times use the database's clock.
"""

from __future__ import annotations

__all__ = [
    "CLAIM_SECONDS",
    "acknowledge",
    "acknowledge_unknown",
    "add",
    "claim",
    "delete",
    "delete_asked",
    "expire",
    "expire_of_framework",
    "find_unreceived",
    "get",
    "list_answered_runs",
    "list_in_doubt",
    "list_of_holder",
    "list_of_run",
    "list_unreceived",
    "list_waiting_runs",
    "mark_unknown",
    "receive",
    "release",
    "renew",
    "replace",
    "unclaim",
]

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    bindparam,
    insert,
    or_,
    select,
    true,
    update,
)
from sqlalchemy import delete as delete_from

from askback.domain.hand_over import NOT_ASKED, CallId, HandOver
from askback.internal.clock import MICROSECOND, from_micros
from askback.store.database_clock import NOW, get_now_parameter
from askback.store.schema import asks, hand_overs
from askback.store.statement import Row, Statement

CLAIM_SECONDS: Final = 30.0
"""Seconds after which a claim that is not renewed counts as lost: its process has died."""

_HELD: BindParameter[int] = bindparam("held", type_=BigInteger())
_OF_RUN = hand_overs.c.framework == bindparam("of"), hand_overs.c.run == bindparam("within")
_OF_CALL = (*_OF_RUN, hand_overs.c.call == bindparam("named"))
_OF_HOLDER = hand_overs.c.holder == bindparam("by")
_IS_EXPIRED = hand_overs.c.state == "claimed", hand_overs.c.claimed_until <= NOW

_GET = Statement(select(hand_overs).where(*_OF_CALL))
_LIST = Statement(select(hand_overs).where(*_OF_RUN).order_by(hand_overs.c.call))
_LIST_IN_DOUBT = Statement(
    select(hand_overs).where(*_OF_RUN, or_(hand_overs.c.state == "claimed", hand_overs.c.state == "unknown"))
)
_LIST_OF_HOLDER = Statement(select(hand_overs).where(_OF_HOLDER))
_LIST_ALL_EXPIRED = Statement(select(hand_overs).where(hand_overs.c.framework == bindparam("of"), *_IS_EXPIRED))
_LIST_EXPIRED = Statement(select(hand_overs).where(*_OF_RUN, *_IS_EXPIRED))
_ADD = Statement(insert(hand_overs))
_REPLACE = Statement(update(hand_overs).where(*_OF_CALL, hand_overs.c.state == "asked"))
_CLAIM = Statement(
    update(hand_overs)
    .where(*_OF_CALL, hand_overs.c.state == "asked", hand_overs.c.digest == bindparam("shown"))
    .values(state="claimed", holder=bindparam("by"), claimed_at=NOW, claimed_until=NOW + _HELD)
)
_RENEW = Statement(
    update(hand_overs).where(_OF_HOLDER, hand_overs.c.state == "claimed").values(claimed_until=NOW + _HELD)
)
_ACKNOWLEDGE = Statement(
    update(hand_overs).where(_OF_HOLDER, hand_overs.c.state == "claimed").values(state="acknowledged")
)
_ACKNOWLEDGE_UNKNOWN = Statement(
    update(hand_overs).where(*_OF_CALL, _OF_HOLDER, hand_overs.c.state == "unknown").values(state="acknowledged")
)
_RECEIVE = Statement(
    update(hand_overs)
    .where(*_OF_CALL, or_(hand_overs.c.state == "asked", hand_overs.c.state == "claimed"))
    .values(state="acknowledged")
)
_MARK_UNKNOWN = Statement(
    update(hand_overs).where(*_OF_CALL, _OF_HOLDER, hand_overs.c.state == "claimed").values(state="unknown")
)
_ASKED = {"state": "asked", "holder": None, "claimed_at": None, "claimed_until": None}
_RELEASE = Statement(update(hand_overs).where(*_OF_CALL, hand_overs.c.state == "unknown").values(_ASKED))
_UNCLAIM = Statement(update(hand_overs).where(_OF_HOLDER, hand_overs.c.state == "claimed").values(_ASKED))
_DELETE_ASKED = Statement(
    delete_from(hand_overs).where(*_OF_CALL, hand_overs.c.state == "asked", hand_overs.c.ask_id == bindparam("about"))
)


def get(connection: Connection, call: CallId) -> HandOver | None:
    return next(map(_read, _GET.fetch_rows(connection, **_name(call))), None)


def list_of_run(connection: Connection, framework: str, run: str) -> tuple[HandOver, ...]:
    """Return all hand-overs of one run."""
    return tuple(map(_read, _LIST.fetch_rows(connection, of=framework, within=run)))


def find_unreceived(connection: Connection, framework: str, run: str, kept: timedelta) -> str | None:
    """Return the id of the newest ask of a run that is open, or whose outcome nobody has received.

    An outcome that is older than `kept` does not count.
    """
    recent = or_(asks.c.status == "open", asks.c.settled_at > NOW - kept // MICROSECOND)
    query = (
        select(hand_overs.c.ask_id)
        .join(asks, asks.c.id == hand_overs.c.ask_id)
        .where(hand_overs.c.framework == framework, hand_overs.c.run == run, hand_overs.c.state == "asked", recent)
        .order_by(asks.c.created_at.desc(), asks.c.id)
        .limit(1)
    )
    return connection.execute(query, {"now": get_now_parameter(connection)}).scalar_one_or_none()


def list_unreceived(
    connection: Connection, framework: str, beginning: str, without: str, kept: timedelta
) -> tuple[str, ...]:
    """Return the ids of settled asks whose outcome no caller has received, newest first, by the beginning of the run.

    A run that begins with `without`, or an outcome that is older than `kept`, does not count.
    """
    query = (
        select(hand_overs.c.ask_id)
        .join(asks, asks.c.id == hand_overs.c.ask_id)
        .where(hand_overs.c.framework == framework, hand_overs.c.run.startswith(beginning, autoescape=True))
        .where(~hand_overs.c.run.startswith(without, autoescape=True))
        .where(hand_overs.c.state == "asked", asks.c.status != "open", asks.c.settled_at > NOW - kept // MICROSECOND)
        .order_by(asks.c.settled_at.desc(), asks.c.id)
    )
    return tuple(connection.execute(query, {"now": get_now_parameter(connection)}).scalars())


def list_in_doubt(connection: Connection, framework: str, run: str) -> tuple[HandOver, ...]:
    """Return the hand-overs of one run that are claimed or unknown."""
    return tuple(map(_read, _LIST_IN_DOUBT.fetch_rows(connection, of=framework, within=run)))


def list_of_holder(connection: Connection, holder: str) -> tuple[HandOver, ...]:
    """Return the hand-overs of one claim."""
    return tuple(map(_read, _LIST_OF_HOLDER.fetch_rows(connection, by=holder)))


def list_answered_runs(connection: Connection, framework: str) -> tuple[str, ...]:
    """Return the runs in which an outcome waits to be handed over, or a claim was lost.

    A run whose process was killed while it asked is among them, since people may have answered already.
    """
    settled = select(asks.c.id).where(asks.c.id == hand_overs.c.ask_id, asks.c.status != "open").exists()
    answered = or_(settled, hand_overs.c.ask_id == NOT_ASKED)
    lost = hand_overs.c.claimed_until <= NOW
    return _list_runs(connection, framework, or_((hand_overs.c.state == "asked") & answered, lost))


def list_waiting_runs(connection: Connection, framework: str) -> tuple[str, ...]:
    """Return the runs in which an outcome has not been handed over."""
    return _list_runs(connection, framework, true())


def _list_runs(connection: Connection, framework: str, condition: ColumnElement[bool]) -> tuple[str, ...]:
    waits = hand_overs.c.framework == framework, hand_overs.c.state.in_(("asked", "claimed"))
    found = connection.execute(
        select(hand_overs.c.run).where(*waits, condition), {"now": get_now_parameter(connection)}
    )
    return tuple(sorted(set(found.scalars())))


def add(connection: Connection, call: CallId, ask_id: str, digest: str) -> None:
    """Record that people were asked about a call."""
    _ADD.change(connection, **call.model_dump(), ask_id=ask_id, digest=digest, state="asked")


def replace(connection: Connection, call: CallId, ask_id: str, digest: str) -> None:
    """Record that people were asked again, unless the earlier outcome was claimed."""
    _REPLACE.change(connection, **_name(call), ask_id=ask_id, digest=digest)


def claim(connection: Connection, call: CallId, digest: str, holder: str) -> bool:
    """Claim a hand-over, if it is free and people were shown this digest. `holder` names the claim."""
    now = get_now_parameter(connection)
    return _CLAIM.change(connection, **_name(call), shown=digest, by=holder, now=now, held=_hold()) == 1


def renew(connection: Connection, holder: str) -> bool:
    """Renew a claim. Return False if it was lost."""
    return _RENEW.change(connection, by=holder, now=get_now_parameter(connection), held=_hold()) > 0


def acknowledge(connection: Connection, holder: str) -> bool:
    """Record that the framework has taken the outcomes of this claim. Return False if it ended before."""
    return _ACKNOWLEDGE.change(connection, by=holder) > 0


def acknowledge_unknown(connection: Connection, hand_over: HandOver) -> bool:
    """Record that the framework has taken an outcome of which nobody knew. Return False if that changed meanwhile."""
    return _ACKNOWLEDGE_UNKNOWN.change(connection, **_name(hand_over.id), by=hand_over.holder) == 1


def expire(connection: Connection, framework: str, run: str) -> tuple[HandOver, ...]:
    """Mark the lost claims of a run as unknown, and return them."""
    given = {"of": framework, "within": run, "now": get_now_parameter(connection)}
    lost = tuple(map(_read, _LIST_EXPIRED.fetch_rows(connection, **given)))
    return tuple(one for one in lost if mark_unknown(connection, one))


def expire_of_framework(connection: Connection, framework: str) -> tuple[HandOver, ...]:
    """Mark the lost claims of a framework as unknown, and return them."""
    given = {"of": framework, "now": get_now_parameter(connection)}
    lost = tuple(map(_read, _LIST_ALL_EXPIRED.fetch_rows(connection, **given)))
    return tuple(one for one in lost if mark_unknown(connection, one))


def receive(connection: Connection, call: CallId) -> bool:
    """Record that a caller has received an outcome, unless it is unknown already. Return False if nothing changes."""
    return _RECEIVE.change(connection, **_name(call)) == 1


def mark_unknown(connection: Connection, hand_over: HandOver) -> bool:
    """Record that nobody knows what became of this claim. Return False if it has ended."""
    return _MARK_UNKNOWN.change(connection, **_name(hand_over.id), by=hand_over.holder) == 1


def release(connection: Connection, call: CallId) -> bool:
    """Let an outcome be handed over again although nobody knows what became of the first time."""
    return _RELEASE.change(connection, **_name(call)) == 1


def unclaim(connection: Connection, holder: str) -> bool:
    """End a claim with which nothing was handed over. Return False if it was lost."""
    return _UNCLAIM.change(connection, by=holder) > 0


def delete_asked(connection: Connection, call: CallId, ask_id: str) -> bool:
    """Delete a hand-over that is not claimed, if it is still about this ask."""
    return _DELETE_ASKED.change(connection, **_name(call), about=ask_id) == 1


def delete(connection: Connection, ask_ids: Iterable[str]) -> None:
    """Delete the hand-overs of these asks."""
    connection.execute(delete_from(hand_overs).where(hand_overs.c.ask_id.in_(tuple(ask_ids))))


def _hold() -> int:
    return int(CLAIM_SECONDS * 1_000_000)


def _name(call: CallId) -> dict[str, str]:
    return {"of": call.framework, "within": call.run, "named": call.call}


def _read(row: Row) -> HandOver:
    return HandOver(
        id=CallId(framework=row["framework"], run=row["run"], call=row["call"]),
        ask_id=row["ask_id"],
        digest=row["digest"],
        state=row["state"],
        holder=row["holder"],
        claimed_at=None if row["claimed_at"] is None else from_micros(row["claimed_at"]),
    )
