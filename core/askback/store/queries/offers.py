"""Statements about offers: messages that may be meant as answers. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = [
    "StoredOffer",
    "close",
    "close_outdated",
    "find",
    "insert_offer",
    "list_open_about",
    "mark_answered",
    "mark_posted",
]

from typing import Literal

from sqlalchemy import Connection, RowMapping, bindparam, insert, select, update

from askback.domain.ask import Ask
from askback.domain.identity import Actor, MessageRef
from askback.domain.outgoing_message import OFFER, Offer, OutgoingMessage
from askback.internal.clock import now
from askback.internal.values import Value
from askback.store.queries import outbox
from askback.store.schema import inbox, offers
from askback.store.statement import Row, Statement
from askback.store.unreadable_rows import mark_unreadable

State = Literal["open", "answer", "message"]

# Compiled once, since each click searches for open offers.
_ALL = select(offers, inbox.c.author, inbox.c.text, inbox.c.taken_seq).join(inbox, inbox.c.id == offers.c.inbox_id)
_OFFER = _ALL.where(offers.c.id == bindparam("offer"))
_OPEN = Statement(_ALL.where(offers.c.ask_id == bindparam("ask"), offers.c.state == "open").order_by(offers.c.inbox_id))


class StoredOffer(Value):
    """An offer as stored, with the message that it is about."""

    id: str
    ask_id: str
    conversation_id: str
    inbox_id: int
    turn: int
    """The step of the interview for which it was made."""
    state: State
    """`open` until the author chooses, then the choice: the message is an `answer` or just a `message`."""
    author: Actor
    text: str
    taken: bool
    """True if a turn of the agent has taken the message up."""
    message: MessageRef | None
    """The message that shows the offer. None if there is none that can be deleted."""


def insert_offer(connection: Connection, offer: Offer, conversation_id: str, inbox_id: int) -> None:
    """Store an offer. Remove the earlier offers that its author got for the same ask."""
    connection.execute(
        insert(offers).values(
            id=offer.id,
            ask_id=offer.ask_id,
            conversation_id=conversation_id,
            inbox_id=inbox_id,
            turn=offer.turn,
            state="open",
            created_at=now(),
        )
    )
    made = find(connection, offer.id)
    if made is not None:
        for older in _list_open(connection, made.ask_id):
            if older.id != made.id and older.author.is_same_person(made.author):
                _remove(connection, older)


def find(connection: Connection, offer_id: str) -> StoredOffer | None:
    row = connection.execute(_OFFER, {"offer": offer_id}).mappings().first()
    return None if row is None else _to_stored_offer(row)


def mark_posted(connection: Connection, offer_id: str, message: MessageRef | None, ask: Ask | None) -> None:
    """Record the message that shows an offer. Remove the offer again if it is outdated.

    `message` is None if it cannot be deleted, and then nothing happens. `ask` is the ask's current state.
    """
    offered = find(connection, offer_id)
    if offered is None or message is None:
        return
    connection.execute(update(offers).where(offers.c.id == offer_id).values(message=message.model_dump_json()))
    offered = offered.evolve(message=message)
    newest = [one for one in _list_open(connection, offered.ask_id) if one.author.is_same_person(offered.author)][-1:]
    if newest != [offered] or ask is None or _is_past(offered, ask):
        _remove(connection, offered)


def close(connection: Connection, offered: StoredOffer, state: State) -> None:
    """Close an offer because its author chose, or no longer can. Remove it from people's view."""
    connection.execute(update(offers).where(offers.c.id == offered.id).values(state=state))
    _remove(connection, offered)


def close_outdated(connection: Connection, ask: Ask) -> None:
    """Close the offers for earlier steps of an ask. Their messages stay ordinary messages."""
    for offered in _list_open(connection, ask.id):
        if _is_past(offered, ask):
            close(connection, offered, "message")


def mark_answered(connection: Connection, inbox_id: int, ask_id: str) -> None:
    """Record that a message answered this ask, so that no turn takes it up."""
    chosen = inbox.c.id == inbox_id, inbox.c.taken_seq.is_(None)
    connection.execute(update(inbox).where(*chosen).values(taken_seq=-1, ask_id=ask_id))


def list_open_about(connection: Connection, conversation_id: str, inbox_id: int) -> tuple[StoredOffer, ...]:
    """Return the open offers about a message."""
    query = _ALL.where(
        offers.c.conversation_id == conversation_id, offers.c.inbox_id == inbox_id, offers.c.state == "open"
    )
    return tuple(_to_stored_offer(row) for row in connection.execute(query).mappings())


def _is_past(offered: StoredOffer, ask: Ask) -> bool:
    return ask.outcome is not None or offered.turn != ask.interview.step


def _remove(connection: Connection, offered: StoredOffer) -> None:
    """Delete the offer's message, and withdraw it from the outbox, since a later attempt may be posting it again."""
    outbox.withdraw_message(connection, f"{OFFER}{offered.id}")
    if offered.message is not None:
        outgoing = OutgoingMessage(
            target=f"unoffer:{offered.id}", text="", markdown=False, messages=(offered.message,), gone=True
        )
        outbox.enqueue_message(connection, outgoing, offered.conversation_id, kind="removal")


def _list_open(connection: Connection, ask_id: str) -> tuple[StoredOffer, ...]:
    """Return the open offers about an ask, oldest first."""
    return tuple(_to_stored_offer(row) for row in _OPEN.fetch_rows(connection, ask=ask_id))


def _to_stored_offer(row: Row | RowMapping) -> StoredOffer:
    with mark_unreadable(f"The offer {row['id']}"):
        return StoredOffer(
            id=row["id"],
            ask_id=row["ask_id"],
            conversation_id=row["conversation_id"],
            inbox_id=row["inbox_id"],
            turn=row["turn"],
            state=row["state"],
            author=Actor.model_validate_json(row["author"]),
            text=row["text"],
            taken=row["taken_seq"] is not None,
            message=None if row["message"] is None else MessageRef.model_validate_json(row["message"]),
        )
