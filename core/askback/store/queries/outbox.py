"""Queries on the outbox, which holds pending deliveries. Each function runs inside a caller's transaction.

There is one row per target, so a card that changes five times before it is drawn is drawn once. The row is deleted when
the platform confirms the delivery. `outbox_leases` has the leases under which workers deliver rows.
"""

from __future__ import annotations

__all__ = [
    "CARD",
    "delete",
    "enqueue_card",
    "enqueue_message",
    "enqueue_message_again",
    "has_earlier_text",
    "list_asks_being_posted",
    "withdraw_message",
]

from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Boolean,
    Connection,
    and_,
    bindparam,
    case,
    func,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy import delete as delete_from
from sqlalchemy.dialects.postgresql import insert

from askback.domain.ask import Ask
from askback.domain.outgoing_message import OutgoingMessage
from askback.internal.clock import MICROSECOND, to_micros
from askback.store.database_clock import NOW, get_now_parameter
from askback.store.queries.outbox_leases import HOLDER, LEASED_UNTIL, get_holder
from askback.store.schema import asks, outbox
from askback.store.statement import Statement
from askback.store.transaction_events import WorkEnqueued, record_event
from askback.store.unreadable_rows import mark_unreadable

CARD = "ask:"
"""Beginning of the target of a card's row. The id of the ask follows."""
MAX_ID = 2**63 - 1
"""The largest id of a row."""

# Compiled once, since each click and each text needs these.
_NEWER: BindParameter[int] = bindparam("newer")
_NOT_BEFORE: BindParameter[int] = bindparam("not_before", type_=BigInteger())
_DUE_AT = case((_NOT_BEFORE > NOW, _NOT_BEFORE), else_=NOW)
_UNPOSTED: BindParameter[bool] = bindparam("unposted", type_=Boolean())
_IS_HELD = and_(outbox.c.leased_until > NOW, outbox.c.leased_by.is_distinct_from(HOLDER))
"""SQL condition that is true while another process delivers the row."""
_IS_BEING_POSTED = and_(_IS_HELD, _UNPOSTED)
"""SQL condition that is true while another process may post the card. A second process would post it twice."""
_QUEUED_ROW = Statement(select(outbox.c.id).where(outbox.c.target == bindparam("of")))
_TRIED: BindParameter[int] = bindparam("tried", type_=BigInteger())
_ROW = insert(outbox).values(
    leased_until=LEASED_UNTIL, leased_by=HOLDER, due_at=_DUE_AT, tried_at=NOW + _TRIED, noted_at=NOW
)
_INSERT = Statement(_ROW)
# SQLite has the same clause, and SQLAlchemy renders this one for both.
_UPSERT_CARD = Statement(
    _ROW.on_conflict_do_update(
        index_elements=[outbox.c.target],
        set_={
            "revision": case((outbox.c.revision < _NEWER, _NEWER), else_=outbox.c.revision),
            "contested_until": case(
                (and_(_IS_HELD, not_(_UNPOSTED)), outbox.c.leased_until), else_=outbox.c.contested_until
            ),
            "leased_until": case((_IS_BEING_POSTED, outbox.c.leased_until), else_=LEASED_UNTIL),
            "leased_by": case((_IS_BEING_POSTED, outbox.c.leased_by), else_=HOLDER),
            "due_at": _DUE_AT,
            "noted_at": NOW,
        },
    )
)
_IS_DONE = and_(outbox.c.target == bindparam("of"), outbox.c.revision <= bindparam("newest", type_=BigInteger()))
_IS_CALM = or_(outbox.c.contested_until.is_(None), outbox.c.contested_until <= NOW)
_DELETE_DONE = Statement(delete_from(outbox).where(_IS_DONE, _IS_CALM))
_POSTPONE_DONE = Statement(
    update(outbox).where(_IS_DONE, ~_IS_CALM).values(leased_until=None, due_at=outbox.c.contested_until, noted_at=NOW)
)
_OWN_ID = select(outbox.c.id).where(outbox.c.target == bindparam("own")).scalar_subquery()
_EARLIER_TEXT = Statement(
    select(outbox.c.id)
    .where(outbox.c.conversation_id == bindparam("of"), outbox.c.kind == "say")
    .where(outbox.c.id < func.coalesce(_OWN_ID, MAX_ID))
    .limit(1)
)


def enqueue_card(
    connection: Connection, ask: Ask, *, not_before: datetime | None = None, lease: timedelta | None = None
) -> None:
    """Queue the drawing of a card.

    `lease` is the time during which no worker takes the row, because the caller draws the card itself. If the card
    stands nowhere and another process may be posting it, that process keeps its lease and draws it once more.
    """
    _UPSERT_CARD.change(
        connection,
        target=f"{CARD}{ask.id}",
        kind="card",
        conversation_id=ask.conversation_id,
        ask_id=ask.id,
        revision=ask.interview.revision,
        newer=ask.interview.revision,
        unposted=not ask.messages,
        tried=None,
        **_to_times(connection, not_before, lease),
    )
    if lease is None:
        record_event(WorkEnqueued())


def enqueue_message(
    connection: Connection,
    outgoing: OutgoingMessage,
    conversation_id: str | None,
    *,
    lease: timedelta | None = None,
    kind: Literal["say", "removal"] = "say",
    ask_id: str | None = None,
    tried: bool = False,
) -> None:
    """Queue a text, or the removal of one. If a row with the same target exists, it stays as it is.

    `lease` is the time for which the caller posts it itself. With `ask_id`, it is posted only while that ask is open,
    unless it is about the hand-over of its outcome.
    `tried` means that a part of it may be posted already. A `lease` implies that, since the caller is about to post it.
    """
    tried = tried or lease is not None
    if not _QUEUED_ROW.fetch_rows(connection, of=outgoing.target):
        _INSERT.change(
            connection,
            target=outgoing.target,
            kind=kind,
            conversation_id=conversation_id,
            ask_id=ask_id,
            payload=_to_json(outgoing),
            attempts=int(tried),
            tried=0 if tried else None,
            **_to_times(connection, None, lease),
        )
    if lease is None:
        record_event(WorkEnqueued())


def enqueue_message_again(connection: Connection, outgoing: OutgoingMessage, conversation_id: str) -> None:
    """Queue a text that was posted and may have been overwritten. If it is being posted, it is posted once more."""
    chosen = outbox.c.target == outgoing.target
    if connection.execute(update(outbox).where(chosen).values(revision=outbox.c.revision + 1)).rowcount == 0:
        enqueue_message(connection, outgoing, conversation_id, tried=True)


def _to_times(
    connection: Connection, not_before: datetime | None, lease: timedelta | None
) -> dict[str, int | str | None]:
    return {
        "now": get_now_parameter(connection),
        "not_before": None if not_before is None else to_micros(not_before),
        "lease": None if lease is None else lease // MICROSECOND,
        "holder": get_holder(),
    }


def has_earlier_text(connection: Connection, conversation_id: str, before: str) -> bool:
    """Return True if another text of a conversation must be posted before the named one, even if that is not queued
    yet."""
    return bool(_EARLIER_TEXT.fetch_rows(connection, of=conversation_id, own=before))


def list_asks_being_posted(connection: Connection) -> tuple[str, ...]:
    """Return the ids of the open asks whose first card a worker may be posting at this moment."""
    query = (
        select(asks.c.id)
        .join(outbox, outbox.c.ask_id == asks.c.id)
        .where(outbox.c.leased_until.is_not(None), outbox.c.kind == "card")
        .where(asks.c.status == "open", asks.c.messages == "[]")
    )
    return tuple(connection.execute(query).scalars())


def delete(connection: Connection, target: str, *, revision: int | None = None) -> bool:
    """Delete a row that is done. With `revision`, keep a row that must be delivered in a newer revision.

    Return True if the row was deleted, or postponed: a contested card is drawn once more, since the process that drew
    an older revision may have died before it could record that.
    """
    given = {"of": target, "newest": MAX_ID if revision is None else revision, "now": get_now_parameter(connection)}
    if _DELETE_DONE.change(connection, **given):
        if not target.startswith(CARD):
            record_event(WorkEnqueued())  # later rows of its conversation may have waited for the text
        return True
    return _POSTPONE_DONE.change(connection, **given) > 0


def withdraw_message(connection: Connection, target: str) -> None:
    """Withdraw a queued text.

    If no one has leased its row, the row is deleted. Otherwise some process may be posting the text, or may have posted
    it and died before the commit. Then the row becomes a removal, which finds the message and deletes it.
    """
    chosen = outbox.c.target == target
    connection.execute(delete_from(outbox).where(chosen, outbox.c.attempts == 0))
    payload = connection.execute(select(outbox.c.payload).where(chosen)).scalar_one_or_none()
    if payload is not None:
        with mark_unreadable("A queued text"):
            stored = OutgoingMessage.model_validate_json(payload)
        outgoing = stored.evolve(gone=True, offer=None)
        connection.execute(update(outbox).where(chosen).values(kind="removal", payload=_to_json(outgoing)))
        record_event(WorkEnqueued())


def _to_json(outgoing: OutgoingMessage) -> str:
    """Return a text as JSON.

    Older releases can read it as long as it uses no new field, since defaults are left out.
    """
    return outgoing.model_dump_json(exclude_defaults=True)
