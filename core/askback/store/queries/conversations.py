"""Statements about the agent's conversations. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = [
    "ConversationState",
    "add_unshown_text",
    "close",
    "find",
    "get",
    "get_last_text",
    "get_next_turn_at",
    "get_notified_seq",
    "get_state",
    "list_recent",
    "list_runnable",
    "mark_reported",
    "needs_turn",
    "postpone_turn",
    "record_stop",
    "set_last_text",
    "set_notified_seq",
    "set_text_messages",
    "set_trace",
    "set_wants_turn",
    "start",
]

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from pydantic import TypeAdapter
from sqlalchemy import (
    BigInteger,
    BindParameter,
    Connection,
    RowMapping,
    Select,
    bindparam,
    func,
    insert,
    or_,
    select,
    update,
)

from askback.domain.conversation import Conversation, RecentConversation, StopRecord, UnshownText
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.incoming_message import STOP_KEY_PREFIX
from askback.internal.clock import MICROSECOND, from_micros, now, to_micros
from askback.store.database_clock import NOW, get_now_parameter
from askback.store.queries.platform_claims import ServedPlatforms, is_served
from askback.store.schema import conversations, inbox
from askback.store.statement import Row, Statement
from askback.store.unreadable_rows import mark_unreadable
from askback.translations.catalogue import find_language

_REFS = TypeAdapter(tuple[MessageRef, ...])
_UNSHOWN = TypeAdapter(tuple[UnshownText, ...])
_OPERATOR = "operator"

MAX_UNSHOWN = 5
"""Maximum number of unshown texts that the model learns of. Older ones are dropped."""
FARTHEST = timedelta(minutes=10)
"""Maximum time for which a turn is postponed."""

# Compiled once, since each turn of the model needs these. Each click that settles a question of the agent needs the
# second.
_GET = Statement(select(conversations).where(conversations.c.id == bindparam("of")))
_CHANGE = Statement(update(conversations).where(conversations.c.id == bindparam("of")))
_AT: BindParameter[int] = bindparam("at", type_=BigInteger())


@dataclass(frozen=True, slots=True)
class ConversationState:
    """A conversation with what its next turn needs."""

    conversation: Conversation
    wants_turn: bool
    """True if the conversation has something to do."""
    stop: StopRecord | None
    """The stop that ended the last turn, if the model has not been notified of it yet."""
    unshown: tuple[UnshownText, ...]
    """The texts that people could not see, and that the model has not been told of."""


def find(connection: Connection, place: Place) -> Conversation | None:
    row = connection.execute(select(conversations).where(conversations.c.place_key == place.key)).mappings().first()
    return None if row is None else _to_conversation(row)


def get(connection: Connection, conversation_id: str) -> Conversation | None:
    rows = _GET.fetch_rows(connection, of=conversation_id)
    return _to_conversation(rows[0]) if rows else None


def get_state(connection: Connection, conversation_id: str) -> ConversationState | None:
    """Return a conversation with what its next turn needs."""
    rows = _GET.fetch_rows(connection, of=conversation_id)
    if not rows:
        return None
    (row,) = rows
    return ConversationState(
        conversation=_to_conversation(row),
        wants_turn=row["wants_turn"],
        stop=_parse_stop(row["stopped_by"]),
        unshown=_parse_unshown(conversation_id, row["unshown"]),
    )


def start(
    connection: Connection, place: Place, starter: Actor, *, midway: bool = False, trace: str | None = None
) -> Conversation:
    conversation = Conversation(
        id=secrets.token_urlsafe(16),
        place=place,
        starter=starter,
        midway=midway,
        trace=trace,
        language=starter.language,
    )
    connection.execute(
        insert(conversations).values(
            id=conversation.id,
            place_key=place.key,
            place=place.model_dump_json(),
            starter=starter.model_dump_json(),
            midway=midway,
            trace=trace,
            language=conversation.language,
            created_at=now(),
            updated_at=now(),
        )
    )
    return conversation


def close(connection: Connection, conversation: Conversation) -> None:
    """Close a conversation, so that another one can start in the same place.

    Its rows stay, so that people can look them up.
    """
    connection.execute(
        update(conversations)
        .where(conversations.c.id == conversation.id)
        .values(place_key=f"{conversation.place.key}#{conversation.id}", wants_turn=False, updated_at=now())
    )


def set_wants_turn(connection: Connection, conversation_id: str, wants: bool) -> None:
    _CHANGE.change(connection, of=conversation_id, wants_turn=wants, turn_after=None, updated_at=now())


def needs_turn(connection: Connection, conversation_id: str) -> bool:
    return any(row["wants_turn"] for row in _GET.fetch_rows(connection, of=conversation_id))


def list_runnable(connection: Connection, at: datetime, served: ServedPlatforms = None) -> tuple[str, ...]:
    """Return the ids of conversations on these platforms that have something to do, the longest waiting first."""
    given = {"at": to_micros(at), "farthest": to_micros(at + FARTHEST)}
    return tuple(connection.execute(_select_runnable(served), given).scalars())


# Every worker asks these after each change, and to build a statement takes longer than to run it.
@cache
def _select_runnable(served: ServedPlatforms) -> Select[str]:
    after = conversations.c.turn_after
    # If a turn is postponed for longer than the limit, the clock was set back.
    untimely = after > bindparam("farthest", type_=BigInteger())
    return (
        select(conversations.c.id)
        .where(conversations.c.wants_turn, or_(after.is_(None), after <= _AT, untimely))
        .where(is_served(conversations.c.place_key, served))
        .order_by(conversations.c.updated_at)
    )


@cache
def _select_next_turn_at(served: ServedPlatforms) -> Select[int | None]:
    after = conversations.c.turn_after
    served_here = is_served(conversations.c.place_key, served)
    return select(func.min(after)).where(conversations.c.wants_turn, after > _AT, served_here)


def list_recent(connection: Connection, platform: str, since: datetime, most: int) -> tuple[RecentConversation, ...]:
    """Return the conversations of a platform in which people wrote since that time, the newest first."""
    newest = (
        select(inbox.c.dedupe_key)
        .where(inbox.c.conversation_id == conversations.c.id, inbox.c.edit_of.is_(None))
        .where(inbox.c.dedupe_key.not_like(f"{STOP_KEY_PREFIX}%"))
        .order_by(inbox.c.received_at.desc(), inbox.c.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    query = (
        select(conversations.c.place, conversations.c.place_key, newest.label("newest_key"))
        .where(conversations.c.updated_at >= to_micros(since))
        .where(is_served(conversations.c.place_key, frozenset({platform})))
        .order_by(conversations.c.updated_at.desc())
        .limit(most)
    )
    found: list[RecentConversation] = []
    for row in connection.execute(query):
        place = Place.model_validate_json(row.place)
        # The key of a closed conversation is no longer that of its place.
        if row.newest_key is not None and row.place_key == place.key:
            found.append(RecentConversation(place=place, newest_key=row.newest_key))
    return tuple(found)


def get_next_turn_at(connection: Connection, at: datetime, served: ServedPlatforms = None) -> datetime | None:
    """Return the earliest time after `at` until which a turn is postponed. None if there is none."""
    nearest = connection.execute(_select_next_turn_at(served), {"at": to_micros(at)}).scalar_one()
    return None if nearest is None else from_micros(nearest)


def postpone_turn(connection: Connection, conversation_id: str, pause: timedelta) -> None:
    """Postpone the retry of a conversation's next turn until the pause ends."""
    connection.execute(
        update(conversations)
        .where(conversations.c.id == conversation_id)
        .values(turn_after=NOW + pause // MICROSECOND),
        {"now": get_now_parameter(connection)},
    )


def set_text_messages(connection: Connection, conversation_id: str, messages: tuple[MessageRef, ...]) -> None:
    _CHANGE.change(connection, of=conversation_id, prose=_REFS.dump_json(messages).decode() if messages else None)


def get_last_text(connection: Connection, conversation_id: str) -> MessageRef | None:
    """Return the message with the newest text that the platform confirmed."""
    stored = connection.execute(
        select(conversations.c.last_text).where(conversations.c.id == conversation_id)
    ).scalar_one_or_none()
    return None if stored is None else MessageRef.model_validate_json(stored)


def set_last_text(connection: Connection, conversation_id: str, message: MessageRef) -> None:
    change = update(conversations).where(conversations.c.id == conversation_id)
    connection.execute(change.values(last_text=message.model_dump_json()))


def get_notified_seq(connection: Connection, conversation_id: str) -> int | None:
    """Return the transcript row of the calls for which people were last notified that the agent waits for them."""
    query = select(conversations.c.told_seq).where(conversations.c.id == conversation_id)
    return connection.execute(query).scalar_one()


def set_notified_seq(connection: Connection, conversation_id: str, seq: int) -> None:
    connection.execute(update(conversations).where(conversations.c.id == conversation_id).values(told_seq=seq))


def set_trace(connection: Connection, conversation_id: str, trace: str) -> None:
    """Set the trace to which the conversation belongs from now on."""
    connection.execute(update(conversations).where(conversations.c.id == conversation_id).values(trace=trace))


def record_stop(connection: Connection, conversation_id: str, by: Actor | None) -> None:
    """Record a stop, so that a running turn cannot commit. If `by` is None, the operator stopped it."""
    connection.execute(
        update(conversations)
        .where(conversations.c.id == conversation_id)
        .values(
            stops=conversations.c.stops + 1,
            stopped_by=_OPERATOR if by is None else by.model_dump_json(),
            wants_turn=False,
            prose=None,
            updated_at=now(),
        )
    )


def mark_reported(connection: Connection, state: ConversationState, *, stop: bool) -> None:
    """Record that the model learns of the unshown texts of this state, and of its stop if `stop` is True."""
    told: dict[str, object] = {}
    if stop and state.stop is not None:
        told["stopped_by"] = None
    if state.unshown:
        told["unshown"] = None
    if told:
        _CHANGE.change(connection, of=state.conversation.id, **told)


def add_unshown_text(connection: Connection, conversation_id: str, unshown: UnshownText) -> None:
    """Record a text that people could not see, for the model's next turn."""
    texts = (*_read_unshown_texts(connection, conversation_id), unshown)[-MAX_UNSHOWN:]
    change = update(conversations).where(conversations.c.id == conversation_id)
    connection.execute(change.values(unshown=_UNSHOWN.dump_json(texts).decode()))


def _read_unshown_texts(connection: Connection, conversation_id: str) -> tuple[UnshownText, ...]:
    query = select(conversations.c.unshown).where(conversations.c.id == conversation_id)
    return _parse_unshown(conversation_id, connection.execute(query).scalar_one_or_none())


def _parse_unshown(conversation_id: str, stored: str | None) -> tuple[UnshownText, ...]:
    with mark_unreadable(f"The conversation {conversation_id}"):
        return () if stored is None else _UNSHOWN.validate_json(stored)


def _parse_stop(stored: str | None) -> StopRecord | None:
    if stored is None:
        return None
    return StopRecord(by=None if stored == _OPERATOR else Actor.model_validate_json(stored))


def _to_conversation(row: Row | RowMapping) -> Conversation:
    with mark_unreadable(f"The conversation {row['id']}"):
        return Conversation(
            id=row["id"],
            place=Place.model_validate_json(row["place"]),
            starter=Actor.model_validate_json(row["starter"]),
            text_messages=() if row["prose"] is None else _REFS.validate_json(row["prose"]),
            stops=row["stops"],
            midway=row["midway"],
            trace=row["trace"],
            language=find_language(row["language"]),
        )
