"""Queries on answers that no program has received yet. Each function runs inside a caller's transaction.

The row of a wait then has the time until which the program should receive the answer. It is deleted once a program has,
or once the card says that none has.
"""

from __future__ import annotations

__all__ = ["RECEIPT_SECONDS", "RESUME_SECONDS", "expect", "find_absence", "is_missing", "list_late"]

from functools import cache
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Connection,
    Select,
    Text,
    and_,
    bindparam,
    exists,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from askback.domain.caller_absence import Absence
from askback.domain.hand_over import CALLERS
from askback.internal.clock import SECOND
from askback.store.database_clock import NOW, get_now_parameter
from askback.store.queries import waits
from askback.store.queries.platform_claims import ServedPlatforms, is_served
from askback.store.queries.webhooks import has_webhook
from askback.store.schema import asks, hand_overs
from askback.store.schema import waits as table
from askback.store.statement import Statement
from askback.store.unreadable_rows import SkippedRows

RECEIPT_SECONDS: Final = 8.0
"""Seconds in which a program that waits receives the answer. One that polls its task asks every five seconds."""
RESUME_SECONDS: Final = 20.0
"""Seconds in which another process continues the run of an agent framework, if the process that asked has ended."""

_ASKED: BindParameter[str] = bindparam("ask", type_=Text())
_UNTIL = NOW + bindparam("held", type_=BigInteger())
_WAITED = Statement(
    update(table).where(table.c.ask_id == _ASKED, ~has_webhook(table.c.ask_id)).values(told=False, waits_until=_UNTIL)
)
_mine, _other, _of_other = hand_overs.alias(), hand_overs.alias(), asks.alias()
_HAS_OPEN = exists().where(
    _other.c.framework == _mine.c.framework,
    _other.c.run == _mine.c.run,
    _of_other.c.id == _other.c.ask_id,
    _of_other.c.status == "open",
)
_RUN = Statement(
    insert(table)
    .from_select(
        ["ask_id", "waits_until"],
        select(hand_overs.c.ask_id, _UNTIL)
        .join(_mine, and_(_mine.c.framework == hand_overs.c.framework, _mine.c.run == hand_overs.c.run))
        .join(asks, asks.c.id == hand_overs.c.ask_id)
        .where(_mine.c.ask_id == _ASKED, _mine.c.state == "asked", _mine.c.framework != CALLERS, ~_HAS_OPEN)
        .where(hand_overs.c.state == "asked", asks.c.status == "answered"),
    )
    .on_conflict_do_nothing()
)
_IS_RECEIVED = exists().where(hand_overs.c.ask_id == table.c.ask_id, hand_overs.c.state != "asked")
_FIND = select(waits.IS_LOST.label("lost"), _IS_RECEIVED.label("received")).where(table.c.ask_id == _ASKED)
_IS_MISSING = Statement(
    select(asks.c.id).where(
        asks.c.id == _ASKED,
        asks.c.status == "answered",
        or_(asks.c.absence.is_not(None), exists().where(table.c.ask_id == asks.c.id)),
    )
)


def expect(connection: Connection, ask_id: str, *, answered: bool) -> None:
    """Record that a program should soon receive the outcome of an ask, if a process waits for it, or did.

    A framework that no process waits for continues a run once all its questions are settled.
    """
    now = get_now_parameter(connection)
    if not answered or not _WAITED.change(connection, ask=ask_id, now=now, held=int(RECEIPT_SECONDS * SECOND)):
        waits.delete(connection, (ask_id,))
    _RUN.change(connection, ask=ask_id, now=now, held=int(RESUME_SECONDS * SECOND))


def list_late(connection: Connection, at_most: int, served: ServedPlatforms, left: SkippedRows) -> tuple[str, ...]:
    """Return the ids of answered asks on these platforms that a program should have received by now.

    The asks in `left` are for a newer release.
    """
    given = {"now": get_now_parameter(connection), "at_most": at_most, "left": left.get_ids("ask", str)}
    return tuple(connection.execute(_select_late(served), given).scalars())


def find_absence(connection: Connection, ask_id: str) -> Absence | None:
    """Return the reason why no program has received an answer. None if one has, or if nobody expects it any more."""
    row = connection.execute(_FIND, {"ask": ask_id, "now": get_now_parameter(connection)}).one_or_none()
    if row is None or row.received:
        return None
    return "gone" if row.lost else "away"


def is_missing(connection: Connection, ask_id: str) -> bool:
    """Return True if the card of an answered ask says that no program has received the answer, or soon may."""
    return bool(_IS_MISSING.fetch_rows(connection, ask=ask_id))


@cache
def _select_late(served: ServedPlatforms) -> Select[Any]:
    return (
        select(table.c.ask_id)
        .join(asks, asks.c.id == table.c.ask_id)
        .where(not_(table.c.told), table.c.waits_until <= NOW, asks.c.status == "answered")
        .where(is_served(asks.c.place_key, served), asks.c.id.not_in(bindparam("left", expanding=True)))
        .order_by(table.c.waits_until)
        .limit(bindparam("at_most"))
    )
