"""Transactions for conversations and the messages that people write in them."""

from __future__ import annotations

__all__ = ["Decision", "Listening", "Read"]

from collections.abc import Callable
from typing import Literal, TypeVar

from sqlalchemy import Connection

from askback.domain.ask import Ask
from askback.domain.conversation import (
    Conversation,
    IncomingMessage,
    OutgoingMessage,
    Reading,
    Received,
    StartedOver,
    Step,
)
from askback.domain.identity import MessageRef, Place
from askback.internal.clock import utc_now
from askback.store import asks, conversations, decisions, locks, offers, outbox, participants
from askback.store.offers import Offered
from askback.store.stopping import end_all, goes_on
from askback.store.transactions import CLICK_SECONDS, Transactions
from askback.store.turns import wake
from askback.store.unreadable_rows import Left

T = TypeVar("T")

Read = Callable[[tuple[Ask, ...]], Reading]
"""Decides if a message answers one of the open asks of the place in which it was written."""

Decision = Callable[[Offered | None, Ask | None], tuple[T, Literal["answer", "message"] | None, tuple[Step, ...]]]
"""Decides about a choice on an offer.

It returns an answer for the caller, the kind of message that the text counts as now, and the changes of the ask.
"""


class Listening(Transactions):
    """Transactions for conversations and the messages that people write in them."""

    async def receive(self, heard: IncomingMessage, *, begin: bool, read: Read | None = None) -> Received | None:
        """Store a person's message. None if its place has no conversation and `begin` does not start one.

        `read` is a pure function of the place's open asks, oldest first. It decides if the message answers one of them.
        """

        def work(connection: Connection) -> Received | None:
            locks.lock_place(connection, heard.place)
            conversation = conversations.find(connection, heard.place)
            if conversation is None:
                if not begin:
                    return None
                conversation = conversations.start(
                    connection, heard.place, heard.author, midway=heard.midway, trace=heard.trace
                )
            if conversations.was_heard(connection, heard.place, heard.dedupe_key):
                return Received(conversation=conversation, duplicate=True)
            reading = Reading() if read is None else read(_open_in(connection, heard.place, self._left))
            if reading.steps:
                answered = reading.steps[-1].after
                conversations.hear(connection, conversation.id, heard, taken=True, ask_id=answered.id)
                settled = decisions.follow(connection, reading.steps)
                return Received(conversation=conversation, answered=answered, settled=settled)
            inbox_id = conversations.hear(connection, conversation.id, heard)
            if heard.trace is not None and not goes_on(connection, conversation):
                conversations.set_trace(connection, conversation.id, heard.trace)
                conversation = conversation.evolve(trace=heard.trace)
            wake(connection, conversation.id, conversation.place)
            waiting_for, told = _waiting_for(connection, conversation)
            if reading.say is not None:
                told = True
                if reading.say.offer is not None:
                    offers.keep(connection, reading.say.offer, conversation.id, inbox_id)
                outbox.put_say(connection, reading.say, conversation.id)
            return Received(conversation=conversation, inbox_id=inbox_id, waiting_for=waiting_for, told=told)

        return await self._database.run(work)

    async def choose(self, offer_id: str, decision: Decision[T]) -> tuple[T, Ask | None, bool]:
        """Store a choice on an offer, by a pure function of the offer and its ask.

        Returns the function's answer, the ask, and True if this settled the ask. Raises `StoreBusy` if the commit takes
        longer than 2 s.
        """

        def work(connection: Connection) -> tuple[T, Ask | None, bool]:
            locks.lock_offer(connection, offer_id)
            offered = offers.find(connection, offer_id)
            ask = None if offered is None else asks.get(connection, offered.ask_id)
            if ask is not None:
                ask = participants.with_participants(connection, ask)
            answer, state, steps = decision(offered, ask)
            if offered is not None and state is not None and offered.state == "open":
                offers.close(connection, offered, state)
                if state == "answer":
                    offers.take_out(connection, offered.inbox_id, offered.ask_id)
            return answer, steps[-1].after if steps else ask, decisions.follow(connection, steps)

        return await self._database.run(work, within=CLICK_SECONDS)

    async def offered_for(self, offer_id: str) -> Ask | None:
        """Return the ask that an offer is about. None if the offer or the ask does not exist."""

        def work(connection: Connection) -> Ask | None:
            offered = offers.find(connection, offer_id)
            return None if offered is None else asks.get(connection, offered.ask_id)

        return await self._database.read(work)

    async def offered(self, offer_id: str, messages: tuple[MessageRef, ...]) -> None:
        """Record the messages in which an offer was shown. Empty if they cannot be deleted."""

        def work(connection: Connection) -> None:
            locks.lock_offer(connection, offer_id)
            offered = offers.find(connection, offer_id)
            ask = None if offered is None else asks.get(connection, offered.ask_id)
            offers.told(connection, offer_id, next(iter(messages), None), ask)

        await self._database.run(work)

    async def tell_waiting(self, conversation_id: str, say: OutgoingMessage, ask_id: str) -> None:
        """Queue a text about what the conversation waits for, once each time it waits and only while it still does."""

        def work(connection: Connection) -> None:
            locks.lock_conversation(connection, conversation_id)
            last = conversations.last_message(connection, conversation_id)
            if last is not None and conversations.told(connection, conversation_id) != last.seq:
                conversations.set_told(connection, conversation_id, last.seq)
                outbox.put_say(connection, say, conversation_id, ask_id=ask_id)

        await self._database.run(work)

    async def start_over(self, heard: IncomingMessage, welcome: str, *, begin: bool) -> StartedOver | None:
        """Stop and close the conversation of a place, and begin another one.

        None if the place has none and `begin` does not start one.
        """

        def work(connection: Connection) -> StartedOver | None:
            locks.lock_place(connection, heard.place)
            before = conversations.find(connection, heard.place)
            if before is None and not begin:
                return None
            if before is not None and conversations.was_heard(connection, heard.place, heard.dedupe_key):
                return StartedOver(conversation=before, duplicate=True)
            asks_ended: tuple[Ask, ...] = ()
            if before is not None:
                asks_ended = end_all(connection, before, heard.author, utc_now())
                conversations.close(connection, before)
            conversation = conversations.start(connection, heard.place, heard.author, trace=heard.trace)
            conversations.hear(connection, conversation.id, heard, taken=True)
            say = OutgoingMessage(target=f"new:{conversation.id}", text=welcome, markdown=False)
            outbox.put_say(connection, say, conversation.id)
            return StartedOver(conversation=conversation, ended=before, asks=asks_ended)

        return await self._database.run(work)

    async def conversation(self, place: Place) -> Conversation | None:
        return await self._database.read(lambda connection: conversations.find(connection, place))

    async def place(self, conversation_id: str) -> Place | None:
        """Return the place of a conversation. None if the conversation does not exist."""

        def work(connection: Connection) -> Place | None:
            conversation = conversations.get(connection, conversation_id)
            return None if conversation is None else conversation.place

        return await self._database.read(work)

    async def begins_midway(self, conversation_id: str) -> Place | None:
        """Return the place in which people may have written before this conversation began.

        None if there can be no such messages, or if the model has read something in it already.
        """

        def work(connection: Connection) -> Place | None:
            conversation = conversations.get(connection, conversation_id)
            if conversation is None or not conversation.midway:
                return None
            return conversation.place if conversations.last_message(connection, conversation_id) is None else None

        return await self._database.read(work)


def _open_in(connection: Connection, place: Place, left: Left) -> tuple[Ask, ...]:
    return tuple(participants.with_participants(connection, ask) for ask in asks.pending(connection, place, left))


def _waiting_for(connection: Connection, conversation: Conversation) -> tuple[tuple[Ask, ...], bool]:
    """Return the open asks that the conversation waits for, and True if people were notified of that."""
    last = conversations.last_message(connection, conversation.id)
    if last is None or last.role != "assistant":
        return (), True
    calls = conversations.calls_of(connection, conversation.id, last.seq)
    waiting = tuple(ask for call in calls if call.ask_id and (ask := asks.get(connection, call.ask_id)) is not None)
    told = conversations.told(connection, conversation.id) == last.seq
    return tuple(ask for ask in waiting if ask.outcome is None), told
