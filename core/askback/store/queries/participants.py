"""Statements about the participants of a conversation. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = ["list_participants", "load_participants"]

from pydantic import TypeAdapter
from sqlalchemy import BigInteger, Connection, Integer, Text, bindparam, func, literal_column, select, union_all

from askback.domain.ask import Ask
from askback.domain.identity import Actor
from askback.store.schema import conversations, inbox, transcript
from askback.store.statement import Statement

_PEOPLE = TypeAdapter(tuple[Actor, ...])

# Compiled once, and one statement, since each click on a question for participants waits for it.
_OF = bindparam("of", type_=Text())
_PARTICIPANTS = Statement(
    union_all(
        select(literal_column("0", Integer).label("source"), literal_column("0", BigInteger).label("position"))
        .add_columns(conversations.c.starter.label("people"))
        .where(conversations.c.id == _OF),
        select(literal_column("1", Integer), func.min(inbox.c.id), inbox.c.author)
        .where(inbox.c.conversation_id == _OF)
        .group_by(inbox.c.author),
        select(literal_column("2", Integer), transcript.c.seq, transcript.c.authors).where(
            transcript.c.conversation_id == _OF, transcript.c.authors.is_not(None)
        ),
    ).order_by("source", "position")
)
"""The starter, the authors of messages, and the lists of authors of messages to the model."""


def list_participants(connection: Connection, conversation_id: str) -> tuple[Actor, ...]:
    """Return everybody who wrote in a conversation, its starter first, without bots.

    A person whose name has changed appears once per name.
    """
    written: list[Actor] = []
    for row in _PARTICIPANTS.fetch_rows(connection, of=conversation_id):
        names: str = row["people"]
        written += _PEOPLE.validate_json(names if names.startswith("[") else f"[{names}]")
    # The stored groups date from the time of writing. The person who acts now has current ones.
    people = (one.evolve(groups=()) for one in written if not one.is_program)
    return tuple(dict.fromkeys(people))


def load_participants(connection: Connection, ask: Ask) -> Ask:
    """Return the ask with the participants of its conversation, if its policy needs them."""
    if ask.conversation_id is None or not ask.policy.is_for_participants:
        return ask
    return ask.evolve(participants=list_participants(connection, ask.conversation_id))
