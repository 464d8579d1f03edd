"""Statements about the participants of a conversation. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = ["list_participants", "load_participants"]

from pydantic import TypeAdapter
from sqlalchemy import Connection, bindparam, func, select

from askback.domain.ask import Ask
from askback.domain.identity import Actor
from askback.store.schema import conversations, inbox, transcript
from askback.store.statement import Statement

_PEOPLE = TypeAdapter(tuple[Actor, ...])

# Compiled once, since each click on a question for participants needs these.
_STARTER = Statement(select(conversations.c.starter).where(conversations.c.id == bindparam("of")))
_WROTE = Statement(
    select(inbox.c.author)
    .where(inbox.c.conversation_id == bindparam("of"))
    .group_by(inbox.c.author)
    .order_by(func.min(inbox.c.id))
)
_READ = Statement(
    select(transcript.c.authors)
    .where(transcript.c.conversation_id == bindparam("of"), transcript.c.authors.is_not(None))
    .order_by(transcript.c.seq)
)


def list_participants(connection: Connection, conversation_id: str) -> tuple[Actor, ...]:
    """Return everybody who wrote in a conversation, its starter first, without bots.

    A person whose name has changed appears once per name.
    """
    written = [
        *(Actor.model_validate_json(row["starter"]) for row in _STARTER.fetch_rows(connection, of=conversation_id)),
        *(Actor.model_validate_json(row["author"]) for row in _WROTE.fetch_rows(connection, of=conversation_id)),
        *(
            one
            for row in _READ.fetch_rows(connection, of=conversation_id)
            for one in _PEOPLE.validate_json(row["authors"])
        ),
    ]
    # The stored groups date from the time of writing. The person who acts now has current ones.
    people = (one.evolve(groups=()) for one in written if not one.is_program)
    return tuple(dict.fromkeys(people))


def load_participants(connection: Connection, ask: Ask) -> Ask:
    """Return the ask with the participants of its conversation, if its policy needs them."""
    if ask.conversation_id is None or not ask.policy.is_for_participants:
        return ask
    return ask.evolve(participants=list_participants(connection, ask.conversation_id))
