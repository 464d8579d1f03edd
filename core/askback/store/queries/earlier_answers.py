"""Finds a person's earlier answers to a question that they have just answered."""

from __future__ import annotations

__all__ = ["list_earlier_answers"]

from typing import Final

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, and_, bindparam, func, select

from askback.domain.ask import Ask
from askback.domain.form import Form
from askback.domain.identity import Actor
from askback.domain.outcome import Outcome
from askback.domain.turn import EarlierAnswers
from askback.internal.values import FROM_STORE
from askback.store.schema import asks
from askback.store.statement import Row, Statement

MAX_READ: Final = 500
"""Maximum number of answered questions of a channel that are read, the newest first."""

_LAST = "\x7f"
"""A character after all those of a place's key."""


def _build(is_in_channel: ColumnElement[bool]) -> Statement:
    return Statement(
        select(asks.c.form, asks.c.outcome)
        .where(is_in_channel, asks.c.status == "answered", asks.c.id != bindparam("ask"))
        .order_by(asks.c.settled_at.desc(), asks.c.id)
        .limit(MAX_READ)
    )


_BY_RANGE = _build(and_(asks.c.place_key >= bindparam("channel"), asks.c.place_key < bindparam("end")))
"""Uses SQLite's index. On PostgreSQL, the order of texts depends on the database, so that a range may miss some."""
_BY_BEGINNING = _build(func.substr(asks.c.place_key, 1, bindparam("length")) == bindparam("channel"))


def list_earlier_answers(connection: Connection, ask: Ask, most: int) -> EarlierAnswers | None:
    """Return the newest earlier answers to the questions of an ask, by the person who answered it, in its channel.

    The questions are the same if they have the same words. None if there are none, if nobody answered the ask, or if
    several people decided it: their votes are not one person's answers.
    """
    outcome = ask.outcome
    if outcome is None or outcome.status != "answered" or outcome.by is None or ask.policy.approval is not None:
        return None
    prompts = _list_prompts(ask.interview.form)
    channel = ask.place.evolve(thread=None).key
    if connection.dialect.name == "sqlite":
        rows = _BY_RANGE.fetch_rows(connection, ask=ask.id, channel=channel, end=f"{channel}{_LAST}")
    else:
        rows = _BY_BEGINNING.fetch_rows(connection, ask=ask.id, channel=channel, length=len(channel))
    found = (_read(row, prompts, outcome.by) for row in rows)
    answers = tuple(one for one in found if one is not None)[:most]
    return EarlierAnswers(ask=ask, person=outcome.by, outcomes=answers) if answers else None


def _read(row: Row, prompts: tuple[str, ...], person: Actor) -> Outcome | None:
    try:
        outcome = Outcome.model_validate_json(row["outcome"])
        form = Form.model_validate_json(row["form"], context=FROM_STORE)
    except ValidationError:
        return None  # only a newer release can read it
    is_theirs = outcome.by is not None and outcome.by.is_same_account(person) and not outcome.votes
    return outcome if is_theirs and _list_prompts(form) == prompts else None


def _list_prompts(form: Form) -> tuple[str, ...]:
    """Return the words of the questions, without differences of case and of spaces."""
    return tuple(" ".join(question.prompt.casefold().split()) for question in form.questions)
