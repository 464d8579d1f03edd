"""Statements about who takes part in a conversation. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = ["of_conversation", "with_participants"]

from pydantic import TypeAdapter
from sqlalchemy import Connection, bindparam, func, select

from askback.domain.ask import Ask
from askback.domain.identity import Actor
from askback.store.schema import conversations, inbox, transcript
from askback.store.statement import Statement

_PEOPLE = TypeAdapter(tuple[Actor, ...])

# Built once: each click on a question for participants needs these.
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


def of_conversation(connection: Connection, conversation_id: str) -> tuple[Actor, ...]:
    """Return everybody who has written in it, its starter first, and no bots.

    One person comes several times where their name has changed since.
    """
    written = [
        *(Actor.model_validate_json(row["starter"]) for row in _STARTER.rows(connection, of=conversation_id)),
        *(Actor.model_validate_json(row["author"]) for row in _WROTE.rows(connection, of=conversation_id)),
        *(one for row in _READ.rows(connection, of=conversation_id) for one in _PEOPLE.validate_json(row["authors"])),
    ]
    # Groups were true when they wrote: whoever acts now brings those of now.
    people = (one.evolve(groups=()) for one in written if not one.is_program)
    return tuple(dict.fromkeys(people))


def with_participants(connection: Connection, ask: Ask) -> Ask:
    """Return the ask with everybody who has written in its conversation, where its policy asks for them."""
    if ask.conversation_id is None or not ask.policy.is_for_participants:
        return ask
    return ask.evolve(participants=of_conversation(connection, ask.conversation_id))
