"""Statements about asks and what people did to them. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = [
    "by_key", "count_open", "due", "get", "insert", "latest_post", "log_action", "next_deadline", "open_in", "open_of",
    "pending", "save",
]  # fmt: skip

import json
from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import Connection, RowMapping, func, or_, select, update
from sqlalchemy import insert as insert_into

from askback.actions import Action
from askback.asks import Ask
from askback.clock import from_micros, to_micros
from askback.identity import Actor, MessageRef, Place
from askback.interview import Draft, Interview
from askback.policy import Policy
from askback.questions import Form, Outcome
from askback.store.schema import actions, asks

_MESSAGES = TypeAdapter(tuple[MessageRef, ...])
_DRAFTS = TypeAdapter(tuple[Draft, ...])


def insert(connection: Connection, ask: Ask) -> None:
    connection.execute(
        insert_into(asks).values(
            id=ask.id,
            key=ask.key,
            conversation_id=ask.conversation_id,
            place=ask.place.model_dump_json(),
            place_key=ask.place.key,
            form=ask.interview.form.model_dump_json(),
            asked_by=None if ask.asked_by is None else ask.asked_by.model_dump_json(),
            created_at=to_micros(ask.created_at),
            trace=ask.trace,
            **_changing(ask),
        )
    )


def save(connection: Connection, ask: Ask) -> None:
    """Write what can change after an ask was stored."""
    connection.execute(update(asks).where(asks.c.id == ask.id).values(**_changing(ask)))


def get(connection: Connection, ask_id: str) -> Ask | None:
    row = connection.execute(select(asks).where(asks.c.id == ask_id)).mappings().first()
    return None if row is None else _ask(row)


def by_key(connection: Connection, key: str) -> Ask | None:
    row = connection.execute(select(asks).where(asks.c.key == key)).mappings().first()
    return None if row is None else _ask(row)


def pending(connection: Connection, place: Place | None = None) -> tuple[Ask, ...]:
    """Open asks, oldest first."""
    query = select(asks).where(asks.c.status == "open").order_by(asks.c.created_at, asks.c.id)
    if place is not None:
        query = query.where(asks.c.place_key == place.key)
    return tuple(_ask(row) for row in connection.execute(query).mappings())


def open_of(connection: Connection, conversation_id: str) -> tuple[Ask, ...]:
    """The open asks of a conversation, oldest first."""
    query = (
        select(asks)
        .where(asks.c.conversation_id == conversation_id, asks.c.status == "open")
        .order_by(asks.c.created_at, asks.c.id)
    )
    return tuple(_ask(row) for row in connection.execute(query).mappings())


def count_open(connection: Connection) -> int:
    """How many asks are open in all."""
    return connection.execute(select(func.count()).select_from(asks).where(asks.c.status == "open")).scalar_one()


def open_in(connection: Connection, place: Place) -> int:
    """How many asks are open in one place."""
    query = select(func.count()).select_from(asks).where(asks.c.status == "open", asks.c.place_key == place.key)
    return connection.execute(query).scalar_one()


def latest_post(connection: Connection, place: Place) -> datetime | None:
    """When the newest card of a place was, or will be, posted. One that was settled before its time never will be."""
    posted = or_(asks.c.settled_at.is_(None), asks.c.settled_at >= asks.c.post_after)
    query = select(asks.c.post_after).where(asks.c.place_key == place.key, posted)
    newest = connection.execute(query.order_by(asks.c.post_after.desc()).limit(1)).scalar_one_or_none()
    return None if newest is None else from_micros(newest)


def due(connection: Connection, now: datetime, at_most: int) -> tuple[str, ...]:
    """Ids of open asks whose deadline has passed."""
    query = (
        select(asks.c.id)
        .where(asks.c.status == "open", asks.c.deadline <= to_micros(now))
        .order_by(asks.c.deadline)
        .limit(at_most)
    )
    return tuple(connection.execute(query).scalars())


def next_deadline(connection: Connection) -> datetime | None:
    query = select(func.min(asks.c.deadline)).where(asks.c.status == "open")
    nearest = connection.execute(query).scalar_one()
    return None if nearest is None else from_micros(nearest)


def log_action(connection: Connection, action: Action, verdict: str, revision: int) -> None:
    """Keep what somebody did, and what came of it: the audit."""
    connection.execute(
        insert_into(actions).values(
            ask_id=action.ask_id,
            actor=action.actor.model_dump_json(),
            action=action.deed.model_dump_json(),
            verdict=verdict,
            revision=revision,
            at=to_micros(action.at),
        )
    )


def _changing(ask: Ask) -> dict[str, object]:
    interview, outcome = ask.interview, ask.outcome
    return {
        "policy": ask.policy.model_dump_json(),
        "interview": interview.model_dump_json(exclude={"form", "outcome"}),
        "status": ask.status,
        "outcome": None if outcome is None else outcome.model_dump_json(),
        "messages": _MESSAGES.dump_json(ask.messages).decode(),
        "drawn_revision": ask.drawn_revision,
        "revision": interview.revision,
        "post_after": to_micros(ask.post_after),
        "deadline": None if ask.policy.deadline is None else to_micros(ask.policy.deadline),
        "settled_at": None if outcome is None else to_micros(outcome.at),
    }


def _ask(row: RowMapping) -> Ask:
    stored = json.loads(row["interview"])
    outcome = row["outcome"]
    interview = Interview(
        form=Form.model_validate_json(row["form"]),
        drafts=_DRAFTS.validate_python(stored.pop("drafts")),
        outcome=None if outcome is None else Outcome.model_validate_json(outcome),
        **stored,
    )
    return Ask(
        id=row["id"],
        key=row["key"],
        conversation_id=row["conversation_id"],
        place=Place.model_validate_json(row["place"]),
        policy=Policy.model_validate_json(row["policy"]),
        interview=interview,
        asked_by=None if row["asked_by"] is None else Actor.model_validate_json(row["asked_by"]),
        messages=_MESSAGES.validate_json(row["messages"]),
        drawn_revision=row["drawn_revision"],
        created_at=from_micros(row["created_at"]),
        post_after=from_micros(row["post_after"]),
        trace=row["trace"],
    )
