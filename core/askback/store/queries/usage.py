"""Queries on the model's token usage. Each function runs inside a caller's transaction.

A reservation row counts a running call in advance, so the call stays counted if its process dies.
"""

from __future__ import annotations

__all__ = ["add_tokens", "adjust", "get_day", "get_usage", "reserve", "reserve_call", "settle"]

from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import BigInteger, ColumnElement, Connection, bindparam, cast, delete, func, insert, select, update

from askback.domain.turn import TokenUsage
from askback.internal.clock import from_micros, to_micros
from askback.store.database_clock import read_now
from askback.store.queries import locks
from askback.store.schema import reservations, usage
from askback.store.statement import Row, Statement

CALL_SECONDS = 600.0
"""Maximum seconds for which other calls wait for the reservation of a running one.

If the running call takes longer, the waiting ones are rejected.
"""
_DAY = 86_400_000_000


def _sum_up(tokens: ColumnElement[int], *conditions: ColumnElement[bool]) -> ColumnElement[int]:
    # PostgreSQL sums integers to a decimal number.
    total = cast(func.coalesce(func.sum(tokens), 0), BigInteger())
    return select(total).where(*conditions).scalar_subquery()


_USED = Statement(
    select(
        _sum_up(usage.c.tokens, usage.c.conversation_id == bindparam("of")).label("conversation"),
        _sum_up(usage.c.tokens, usage.c.day == bindparam("on")).label("today"),
        _sum_up(
            reservations.c.tokens, reservations.c.day == bindparam("on"), reservations.c.until > bindparam("at")
        ).label("reserved"),
    )
)
_SPEND = Statement(
    update(usage)
    .where(usage.c.conversation_id == bindparam("of"), usage.c.day == bindparam("on"))
    .values(tokens=usage.c.tokens + bindparam("more"))
)
_SPEND_FIRST = Statement(insert(usage))
_RESERVED = Statement(select(reservations).where(reservations.c.id == bindparam("of")))
_RESERVE = Statement(insert(reservations))
_ADJUST = Statement(update(reservations).where(reservations.c.id == bindparam("of")))
_DROP = Statement(delete(reservations).where(reservations.c.id == bindparam("of")))
_DROP_OLD = Statement(delete(reservations).where(reservations.c.conversation_id == bindparam("of")))


def get_day(moment: datetime) -> int:
    """Return the number of days since the epoch, UTC."""
    return to_micros(moment) // _DAY


def add_tokens(connection: Connection, conversation_id: str, day: int, tokens: int) -> None:
    """Add to the count of tokens. A negative number subtracts."""
    if tokens and _SPEND.change(connection, of=conversation_id, on=day, more=tokens) == 0:
        _SPEND_FIRST.change(connection, conversation_id=conversation_id, day=day, tokens=max(tokens, 0))


def get_usage(connection: Connection, conversation_id: str, at: datetime) -> TokenUsage:
    """Return the tokens of a conversation, those of all conversations on that day, and the reserved ones."""
    (row,) = _USED.fetch_rows(connection, of=conversation_id, on=get_day(at), at=to_micros(at))
    return TokenUsage(**row)


def reserve(connection: Connection, conversation_id: str, reservation: str, tokens: int, at: datetime) -> None:
    """Reserve tokens for a call. `settle` later corrects the count by the reservation's id."""
    _RESERVE.change(
        connection,
        id=reservation,
        conversation_id=conversation_id,
        day=get_day(at),
        tokens=tokens,
        until=to_micros(at + timedelta(seconds=CALL_SECONDS)),
    )
    add_tokens(connection, conversation_id, get_day(at), tokens)


def reserve_call(
    connection: Connection, conversation_id: str, reservation: str, amount: Callable[[TokenUsage], int]
) -> None:
    """Reserve the number of tokens that `amount` returns for the next call. 0 means that the call must not run.

    The caller holds the lock of the conversation. The reservations of its earlier calls are deleted, since only one
    runs at a time; their tokens stay counted.
    """
    locks.lock_usage(connection)
    _DROP_OLD.change(connection, of=conversation_id)
    now = from_micros(read_now(connection))
    if tokens := amount(get_usage(connection, conversation_id, now)):
        reserve(connection, conversation_id, reservation, tokens, now)


def adjust(connection: Connection, reservation: str, tokens: int) -> None:
    """Change the number of reserved tokens. Does nothing after the call has ended."""
    row = _find_reservation(connection, reservation)
    if row is not None:
        _ADJUST.change(connection, of=reservation, tokens=tokens)
        add_tokens(connection, row["conversation_id"], row["day"], tokens - row["tokens"])


def settle(connection: Connection, reservation: str, tokens: int) -> None:
    """Replace a reservation by the tokens that the call used. Does nothing if the reservation was deleted."""
    row = _find_reservation(connection, reservation)
    if row is not None and _DROP.change(connection, of=reservation):
        add_tokens(connection, row["conversation_id"], row["day"], tokens - row["tokens"])


def _find_reservation(connection: Connection, reservation: str) -> Row | None:
    return next(iter(_RESERVED.fetch_rows(connection, of=reservation)), None)
