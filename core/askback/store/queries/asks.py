"""Queries on asks and on people's actions. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = [
    "count_open",
    "count_open_in",
    "get",
    "get_by_key",
    "get_latest_post_time",
    "get_time_until_due",
    "has_delivery",
    "insert",
    "list_answered_of",
    "list_due",
    "list_newest_posted",
    "list_open",
    "list_open_of",
    "list_open_with_key",
    "list_text_authors",
    "log_action",
    "read_asks",
    "save",
    "store_due_time",
]  # fmt: skip

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import cache, lru_cache
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import from_json
from sqlalchemy import BigInteger, Connection, RowMapping, Select, and_, bindparam, func, literal, or_, select, update
from sqlalchemy import insert as insert_into

from askback.domain.actions import Action, SubmitForm
from askback.domain.ask import Ask
from askback.domain.ask_policy import Policy
from askback.domain.form import Form
from askback.domain.identity import Actor, MessageRef, Place, deduplicate_accounts
from askback.domain.interview import Interview
from askback.domain.outcome import Outcome
from askback.internal.clock import MICROSECOND, from_micros, to_micros
from askback.internal.values import FROM_STORE
from askback.store.database_clock import NOW, get_now_parameter
from askback.store.queries import card_messages
from askback.store.queries.platform_claims import ServedPlatforms, is_served
from askback.store.schema import actions, asks
from askback.store.statement import Row, Statement
from askback.store.transaction_events import DeadlineChanged, WorkEnqueued, record_event
from askback.store.unreadable_rows import SkippedRows, UnreadableRow, mark_unreadable

_MESSAGES = TypeAdapter(tuple[MessageRef, ...])

# Compiled once, since every click needs these.
_GET = Statement(select(asks).where(asks.c.id == bindparam("ask")))
_SAVE = Statement(update(asks).where(asks.c.id == bindparam("ask")))
_LOG = Statement(insert_into(actions))
_WRITING = ("write", "pick", "attach", "submit_form")
"""The kinds of operations with words of people, or with names that they chose."""
_TEXT_AUTHORS = Statement(
    select(actions.c.actor, actions.c.action)
    .where(actions.c.ask_id == bindparam("of"))
    .where(
        or_(
            *(actions.c.action.startswith(f'{{"kind":"{kind}"') for kind in _WRITING),
            # A quotation mark in a text is escaped, so that no text looks like the field.
            and_(actions.c.action.startswith('{"kind":"choose"'), actions.c.action.contains('"note":"')),
        )
    )
    .where(actions.c.verdict != "unchanged")
    .order_by(actions.c.id)
)
# Built once, since to build a statement takes longer than to run it.
_OPEN = select(asks).where(asks.c.status == "open").order_by(asks.c.created_at, asks.c.id)
_OPEN_IN = _OPEN.where(asks.c.place_key == bindparam("place"))
_IS_READ = asks.c.id.not_in(bindparam("left", expanding=True))
"""SQL condition that is true unless this process must leave the ask to a newer release."""

# A click does not change these, and most were read before, when the card was posted. Equal texts give equal values, and
# values are immutable.
CACHE_SIZE = 256


@lru_cache(maxsize=CACHE_SIZE)
def _parse_form(text: str) -> Form:
    return Form.model_validate_json(text, context=FROM_STORE)


@lru_cache(maxsize=CACHE_SIZE)
def _parse_policy(text: str) -> Policy:
    return Policy.model_validate_json(text)


@lru_cache(maxsize=CACHE_SIZE)
def _parse_place(text: str) -> Place:
    return Place.model_validate_json(text)


def insert(connection: Connection, ask: Ask) -> None:
    record_event(DeadlineChanged())
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
            **_list_changes(ask),
        )
    )


def save(connection: Connection, before: Ask, after: Ask) -> frozenset[str]:
    """Write the columns that changed since the ask was read in this transaction, and return their names."""
    changed = {} if after is before else _list_changes(after, before)
    if changed:
        _SAVE.change(connection, ask=after.id, **changed)
    if "attend_at" in changed:
        record_event(DeadlineChanged())
    if "messages" in changed:
        if not before.messages:
            record_event(WorkEnqueued())  # later rows of its conversation may have waited until people see the card
        card_messages.add(connection, after.id, after.messages)
    return frozenset(changed)


def get(connection: Connection, ask_id: str) -> Ask | None:
    rows = _GET.fetch_rows(connection, ask=ask_id)
    return _ask(rows[0]) if rows else None


def get_by_key(connection: Connection, key: str) -> Ask | None:
    row = connection.execute(select(asks).where(asks.c.key == key)).mappings().first()
    return None if row is None else _ask(row)


def has_delivery(connection: Connection, delivery: str, settled_since: datetime) -> bool:
    """Return True if an ask outside conversations that is open, or was settled since then, counted this action."""
    query = (
        select(asks.c.id)
        .where(asks.c.conversation_id.is_(None))
        .where(or_(asks.c.status == "open", asks.c.settled_at >= to_micros(settled_since)))
        # The JSON of the interview lists the ids of its last actions.
        .where(asks.c.interview.contains(f'"{delivery}"', autoescape=True))
        .limit(1)
    )
    return connection.execute(query).first() is not None


def list_open(connection: Connection, place: Place | None = None, left: SkippedRows | None = None) -> tuple[Ask, ...]:
    """Return the open asks, oldest first, of one place or of all.

    Add asks that only a newer release can read to `left`. If `left` is None, raise `UnreadableRow` for such an ask.
    """
    rows = connection.execute(_OPEN) if place is None else connection.execute(_OPEN_IN, {"place": place.key})
    return tuple(read_asks(rows.mappings(), left))


def list_open_with_key(connection: Connection, beginning: str) -> tuple[Ask, ...]:
    """Return the open asks whose key begins with a text, oldest first, without those of a newer release."""
    query = (
        select(asks)
        .where(asks.c.status == "open", asks.c.key.startswith(beginning, autoescape=True))
        .order_by(asks.c.created_at, asks.c.id)
    )
    found = read_asks(connection.execute(query).mappings(), SkippedRows())
    return tuple(ask for ask in found if ask.key is not None and ask.key.startswith(beginning))


def has_key_between(connection: Connection, beginning: str, end: str) -> bool:
    """Return True if the key of an ask, open or settled, begins and ends with these texts."""
    # Neither LIKE nor, in most languages, PostgreSQL's `<` could use the index, whose order is that of the characters.
    least, below = (">=", "<") if connection.dialect.name == "sqlite" else ("~>=~", "~<~")
    after = f"{beginning[:-1]}{chr(ord(beginning[-1]) + 1)}"
    alike = asks.c.key.bool_op(least)(beginning) & asks.c.key.bool_op(below)(after)
    alike &= asks.c.key.endswith(end, autoescape=True)
    return connection.execute(select(literal(1)).select_from(asks).where(alike).limit(1)).first() is not None


def read_asks(rows: Iterable[RowMapping], left: SkippedRows | None) -> Iterator[Ask]:
    """Yield the asks of rows. Add those that only a newer release can read to `left`; without it, raise
    `UnreadableRow`."""
    for row in rows:
        try:
            yield _ask(row)
        except UnreadableRow as error:
            if left is None:
                raise
            left.add("ask", row["id"], error)


def list_newest_posted(connection: Connection, platform: str, at_most: int) -> tuple[str, ...]:
    """Return the ids of at most `at_most` open asks whose cards people see on a platform, newest first."""
    query = (
        select(asks.c.id)
        .where(asks.c.status == "open", asks.c.messages != "[]", is_served(asks.c.place_key, frozenset({platform})))
        .order_by(asks.c.created_at.desc(), asks.c.id)
        .limit(at_most)
    )
    return tuple(connection.execute(query).scalars())


def list_open_of(connection: Connection, conversation_id: str) -> tuple[Ask, ...]:
    """Return the open asks of a conversation, oldest first."""
    query = (
        select(asks)
        .where(asks.c.conversation_id == conversation_id, asks.c.status == "open")
        .order_by(asks.c.created_at, asks.c.id)
    )
    return tuple(_ask(row) for row in connection.execute(query).mappings())


def list_answered_of(connection: Connection, conversation_id: str) -> tuple[Ask, ...]:
    """Return the answered asks of a conversation, oldest first."""
    query = (
        select(asks)
        .where(asks.c.conversation_id == conversation_id, asks.c.status == "answered")
        .order_by(asks.c.created_at, asks.c.id)
    )
    return tuple(_ask(row) for row in connection.execute(query).mappings())


def list_voted_in_conversations(connection: Connection, value: str) -> tuple[Ask, ...]:
    """Return the answered asks of all agent conversations in which somebody voted for an option with this value.

    The oldest comes first. A few others may be among them.
    """
    query = (
        select(asks)
        .where(asks.c.status == "answered", asks.c.conversation_id.is_not(None))
        .where(asks.c.outcome.contains(f'"{value}"', autoescape=True))
        .order_by(asks.c.created_at, asks.c.id)
    )
    return tuple(_ask(row) for row in connection.execute(query).mappings())


def count_open(connection: Connection) -> int:
    """Return the number of open asks in all places."""
    return connection.execute(select(func.count()).select_from(asks).where(asks.c.status == "open")).scalar_one()


def count_open_in(connection: Connection, place: Place) -> int:
    """Return the number of open asks in one place."""
    query = select(func.count()).select_from(asks).where(asks.c.status == "open", asks.c.place_key == place.key)
    return connection.execute(query).scalar_one()


def get_latest_post_time(connection: Connection, place: Place) -> datetime | None:
    """Return the time at which the newest card of a place was, or will be, posted. None if the place has none.

    An ask that was settled before its card was due does not count, since its card is never posted.
    """
    posted = or_(asks.c.settled_at.is_(None), asks.c.settled_at >= asks.c.post_after)
    query = select(asks.c.post_after).where(asks.c.place_key == place.key, posted)
    newest = connection.execute(query.order_by(asks.c.post_after.desc()).limit(1)).scalar_one_or_none()
    return None if newest is None else from_micros(newest)


def list_due(
    connection: Connection, at_most: int, served: ServedPlatforms = None, left: SkippedRows | None = None
) -> tuple[str, ...]:
    """Return the ids of open asks on these platforms that are due. Unreadable ones are skipped and added to `left`."""
    left = left or SkippedRows()
    given = {"now": get_now_parameter(connection), "left": left.get_ids("ask", str), "at_most": at_most}
    rows = connection.execute(_select_due(served), given).mappings()
    return tuple(ask.id for ask in read_asks(rows, left))


# Every worker asks these after each change, and to build a statement takes longer than to run it.
@cache
def _select_due(served: ServedPlatforms) -> Select[*tuple[Any, ...]]:
    due = and_(asks.c.status == "open", asks.c.attend_at <= NOW, is_served(asks.c.place_key, served), _IS_READ)
    return select(asks).where(due).order_by(asks.c.attend_at).limit(bindparam("at_most"))


@cache
def _select_time_until_due(served: ServedPlatforms) -> Select[int | None]:
    soon = asks.c.attend_at <= NOW + bindparam("within", type_=BigInteger())
    due = and_(asks.c.status == "open", soon, is_served(asks.c.place_key, served), _IS_READ)
    return select(func.min(asks.c.attend_at) - NOW).where(due)


def store_due_time(connection: Connection, ask: Ask) -> None:
    """Compute and store an ask's due time again, so that it is not due earlier."""
    _SAVE.change(connection, ask=ask.id, attend_at=_get_attend_at(ask))


def get_time_until_due(
    connection: Connection, within: timedelta, served: ServedPlatforms = None, left: SkippedRows | None = None
) -> timedelta | None:
    """Return the time until the first open ask on these platforms is due. None if none is due `within` that time.

    This does not read asks that are due later, however many there are.
    """
    given = {
        "now": get_now_parameter(connection),
        "left": (left or SkippedRows()).get_ids("ask", str),
        "within": within // MICROSECOND,
    }
    nearest = connection.execute(_select_time_until_due(served), given).scalar_one()
    return None if nearest is None else timedelta(microseconds=nearest)


def log_action(connection: Connection, action: Action, verdict: str, revision: int) -> None:
    """Add a person's action and its effect to the audit log."""
    _LOG.change(
        connection,
        ask_id=action.ask_id,
        actor=action.actor.model_dump_json(),
        action=action.without_addresses().operation.model_dump_json(),
        verdict=verdict,
        revision=revision,
        at=to_micros(action.at),
    )


def list_text_authors(connection: Connection, ask_id: str) -> tuple[Actor, ...]:
    """Return everybody who wrote a text or a note into the form of an ask, picked people or channels, or gave files.

    What was replaced later counts, too.
    """
    rows = _TEXT_AUTHORS.fetch_rows(connection, of=ask_id)
    return deduplicate_accounts(Actor.model_validate_json(row["actor"]) for row in rows if _has_words(row["action"]))


def _has_words(action: str) -> bool:
    """Return True unless the stored action sends answers of a form that are nothing but options."""
    if not action.startswith('{"kind":"submit_form"'):
        return True
    sent = SubmitForm.model_validate_json(action)
    return bool(sent.texts or sent.picked or any(answer.files for answer in sent.answers))


def _list_changes(ask: Ask, before: Ask | None = None) -> dict[str, object]:
    """Return the columns that can change after an ask was stored. With `before`, only those that differ from it."""
    interview, outcome, policy = ask.interview, ask.outcome, ask.policy
    columns: dict[str, object] = {}
    if before is None or _is_different(policy, before.policy):
        columns["policy"] = policy.model_dump_json()
    if "policy" in columns or before is None or bool(ask.messages) != bool(before.messages):
        columns["attend_at"] = _get_attend_at(ask)
    if before is None or _is_interview_different(interview, before.interview):
        columns["interview"] = interview.model_dump_json(by_alias=True, exclude={"form", "outcome"})
        columns["revision"] = interview.revision
    if before is not None and _is_different(interview.form, before.interview.form):
        columns["form"] = interview.form.model_dump_json()  # people changed the call that it asks about
    if before is None or _is_different(outcome, before.outcome):
        columns["status"] = ask.status
        columns["outcome"] = None if outcome is None else outcome.model_dump_json()
        columns["settled_at"] = None if outcome is None else to_micros(outcome.at)
    if before is None or ask.messages != before.messages:
        columns["messages"] = _MESSAGES.dump_json(ask.messages).decode()
    if before is None or ask.drawn_revision != before.drawn_revision:
        columns["drawn_revision"] = ask.drawn_revision
    if before is None or ask.posted_at != before.posted_at:
        columns["posted_at"] = None if ask.posted_at is None else to_micros(ask.posted_at)
    if before is None or ask.post_after != before.post_after:
        columns["post_after"] = to_micros(ask.post_after)
    if ask.absence != (None if before is None else before.absence):
        columns["absence"] = ask.absence
    return columns


def _get_attend_at(ask: Ask) -> int | None:
    return None if ask.next_due_at is None else to_micros(ask.next_due_at)


def _is_different(one: object, other: object) -> bool:
    return one is not other and one != other


def _is_interview_different(one: Interview, other: Interview) -> bool:
    # Each action makes another revision. To compare all parts of two interviews takes longer.
    return one.revision != other.revision or _is_different(one, other)


def _ask(row: Row | RowMapping) -> Ask:
    with mark_unreadable(f"The question {row['id']}"):
        return _read(row)


def _read(row: Row | RowMapping) -> Ask:
    stored = from_json(row["interview"])
    outcome = row["outcome"]
    interview = Interview(
        form=_parse_form(row["form"]),
        outcome=None if outcome is None else Outcome.model_validate_json(outcome),
        step=stored.pop("turn", 0),
        **stored,
    )
    return Ask(
        id=row["id"],
        key=row["key"],
        conversation_id=row["conversation_id"],
        place=_parse_place(row["place"]),
        policy=_parse_policy(row["policy"]),
        interview=interview,
        asked_by=None if row["asked_by"] is None else Actor.model_validate_json(row["asked_by"]),
        messages=_MESSAGES.validate_json(row["messages"]),
        drawn_revision=row["drawn_revision"],
        created_at=from_micros(row["created_at"]),
        post_after=from_micros(row["post_after"]),
        posted_at=None if row["posted_at"] is None else from_micros(row["posted_at"]),
        absence=row["absence"],
        trace=row["trace"],
    )
