"""Transactions for conversations and the messages that people write in them."""

from __future__ import annotations

__all__ = ["MAX_RECENT", "AnswerMatcher", "ConversationTransactions", "OfferDecision"]

from collections.abc import Callable
from datetime import datetime
from typing import Literal, TypeVar

from sqlalchemy import Connection

from askback.domain.ask import Ask
from askback.domain.conversation import Conversation, RecentConversation, StartedOver
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.incoming_message import IncomingMessage, Received, Step, TextReading
from askback.domain.outgoing_message import OutgoingMessage
from askback.internal.clock import utc_now
from askback.store.queries import (
    asks,
    conversations,
    decisions,
    files,
    inbox,
    locks,
    offers,
    outbox,
    participants,
    tool_calls,
    transcript,
)
from askback.store.queries.files import FileOwner
from askback.store.queries.offers import StoredOffer
from askback.store.queries.turns import request_turn
from askback.store.stop_transactions import end_all, is_working
from askback.store.transactions import Transactions
from askback.store.unreadable_rows import SkippedRows

T = TypeVar("T")

MAX_RECENT = 100
"""Maximum number of recent conversations that a bot reads again at its start. Each takes up to two platform calls."""

AnswerMatcher = Callable[[tuple[Ask, ...]], TextReading]
"""Decides if a message answers one of the open asks of the place in which it was written."""

OfferDecision = Callable[
    [StoredOffer | None, Ask | None], tuple[T, Literal["answer", "message"] | None, tuple[Step, ...]]
]
"""Decides about a choice on an offer.

It returns an answer for the caller, the kind of message that the text counts as now, and the changes of the ask.
"""


class ConversationTransactions(Transactions):
    """Transactions for conversations and the messages that people write in them."""

    async def receive(
        self, incoming: IncomingMessage, *, begin: bool, read: AnswerMatcher | None = None
    ) -> Received | None:
        """Store a person's message. None if its place has no conversation and `begin` does not start one.

        `read` is a pure function of the place's open asks, oldest first. It decides if the message answers one of them.
        """

        def work(connection: Connection) -> Received | None:
            locks.lock_place(connection, incoming.place)
            conversation = conversations.find(connection, incoming.place)
            if conversation is None:
                if not begin:
                    return None
                conversation = conversations.start(
                    connection, incoming.place, incoming.author, midway=incoming.midway, trace=incoming.trace
                )
            if inbox.is_received(connection, incoming.place, incoming.dedupe_key):
                return Received(conversation=conversation, duplicate=True)
            if conversation.midway and not begin and inbox.is_before_all(connection, conversation.id, incoming.at):
                # The first turn has read it as the thread's history. After a downtime, the bot reads it once more.
                return Received(conversation=conversation, duplicate=True)
            reading = TextReading() if read is None else read(_open_in(connection, incoming.place, self._left))
            if reading.steps:
                answered = reading.steps[-1].after
                inbox.add(connection, conversation.id, incoming, taken=True, ask_id=answered.id)
                decisions.save_steps(connection, reading.steps)
                return Received(conversation=conversation, answered=answered)
            inbox_id = inbox.add(connection, conversation.id, incoming)
            owner = FileOwner(
                place=incoming.place,
                author=incoming.author,
                message=incoming.ref,
                conversation_id=conversation.id,
                inbox_id=inbox_id,
            )
            attached = files.add(connection, owner, incoming.files)
            if incoming.trace is not None and not is_working(connection, conversation):
                conversations.set_trace(connection, conversation.id, incoming.trace)
                conversation = conversation.evolve(trace=incoming.trace)
            request_turn(connection, conversation.id, conversation.place)
            waiting_for, is_notified = _find_blocking(connection, conversation)
            if reading.outgoing is not None:
                is_notified = True
                if reading.outgoing.offer is not None:
                    offers.insert_offer(connection, reading.outgoing.offer, conversation.id, inbox_id)
                outbox.enqueue_message(connection, reading.outgoing, conversation.id)
            return Received(
                conversation=conversation,
                inbox_id=inbox_id,
                waiting_for=waiting_for,
                is_notified=is_notified,
                files=attached,
            )

        return await self._run(work)

    async def mark_handled(self, incoming: IncomingMessage) -> None:
        """Record that a message took effect, so that it is not read again. Does nothing without a conversation."""

        def work(connection: Connection) -> None:
            locks.lock_place(connection, incoming.place)
            conversation = conversations.find(connection, incoming.place)
            if conversation is not None and not inbox.is_received(connection, incoming.place, incoming.dedupe_key):
                inbox.add(connection, conversation.id, incoming, taken=True)

        await self._run(work)

    async def list_recent(self, platform: str, since: datetime) -> tuple[RecentConversation, ...]:
        """Return the conversations of a platform in which people wrote since that time, the newest first.

        At most `MAX_RECENT`.
        """
        return await self._database.read(
            lambda connection: conversations.list_recent(connection, platform, since, MAX_RECENT)
        )

    async def choose(self, offer_id: str, decision: OfferDecision[T]) -> tuple[T, Ask | None]:
        """Store a choice on an offer, by a pure function of the offer and its ask.

        Returns the function's answer, and the ask if this changed it. Raises `StoreBusy` if the commit takes
        longer than 2 s.
        """

        def work(connection: Connection) -> tuple[T, Ask | None]:
            locks.lock_offer(connection, offer_id)
            offered = offers.find(connection, offer_id)
            ask = None if offered is None else asks.get(connection, offered.ask_id)
            if ask is not None:
                ask = participants.load_participants(connection, ask)
            answer, state, steps = decision(offered, ask)
            if offered is not None and state is not None and offered.state == "open":
                offers.close(connection, offered, state)
                if state == "answer":
                    offers.mark_answered(connection, offered.inbox_id, offered.ask_id)
            decisions.save_steps(connection, steps)
            return answer, steps[-1].after if steps else None

        return await self._run_click(work)

    async def get_offer_ask(self, offer_id: str) -> Ask | None:
        """Return the ask that an offer is about. None if the offer or the ask does not exist."""

        def work(connection: Connection) -> Ask | None:
            offered = offers.find(connection, offer_id)
            return None if offered is None else asks.get(connection, offered.ask_id)

        return await self._database.read(work)

    async def mark_offer_posted(self, offer_id: str, messages: tuple[MessageRef, ...]) -> None:
        """Record the messages in which an offer was shown. Empty if they cannot be deleted."""

        def work(connection: Connection) -> None:
            locks.lock_offer(connection, offer_id)
            offered = offers.find(connection, offer_id)
            ask = None if offered is None else asks.get(connection, offered.ask_id)
            offers.mark_posted(connection, offer_id, next(iter(messages), None), ask)

        await self._run(work)

    async def enqueue_waiting_notice(self, conversation_id: str, outgoing: OutgoingMessage, ask_id: str) -> None:
        """Queue a text about what the conversation waits for, once each time it waits and only while it still does."""

        def work(connection: Connection) -> None:
            locks.lock_conversation(connection, conversation_id)
            last = transcript.get_last(connection, conversation_id)
            if last is not None and conversations.get_notified_seq(connection, conversation_id) != last.seq:
                conversations.set_notified_seq(connection, conversation_id, last.seq)
                outbox.enqueue_message(connection, outgoing, conversation_id, ask_id=ask_id)

        await self._run(work)

    async def start_over(self, incoming: IncomingMessage, welcome: str, *, begin: bool) -> StartedOver | None:
        """Stop and close the conversation of a place, and begin another one.

        None if the place has none and `begin` does not start one.
        """

        def work(connection: Connection) -> StartedOver | None:
            locks.lock_place(connection, incoming.place)
            before = conversations.find(connection, incoming.place)
            if before is None and not begin:
                return None
            if before is not None and inbox.is_received(connection, incoming.place, incoming.dedupe_key):
                return StartedOver(conversation=before, duplicate=True)
            asks_ended: tuple[Ask, ...] = ()
            if before is not None:
                asks_ended = end_all(connection, before, incoming.author, utc_now())
                conversations.close(connection, before)
            conversation = conversations.start(connection, incoming.place, incoming.author, trace=incoming.trace)
            inbox.add(connection, conversation.id, incoming, taken=True)
            outgoing = OutgoingMessage(target=f"new:{conversation.id}", text=welcome, markdown=False)
            outbox.enqueue_message(connection, outgoing, conversation.id)
            return StartedOver(conversation=conversation, ended=before, asks=asks_ended)

        return await self._run(work)

    async def find_conversation(self, place: Place) -> Conversation | None:
        return await self._database.read(lambda connection: conversations.find(connection, place))

    async def get_newest_author(self, conversation_id: str) -> Actor | None:
        """Return the author of the newest message in a conversation. None if nobody wrote in it."""
        return await self._database.read(lambda connection: inbox.get_newest_author(connection, conversation_id))

    async def get_place(self, conversation_id: str) -> Place | None:
        """Return the place of a conversation. None if the conversation does not exist."""

        def work(connection: Connection) -> Place | None:
            conversation = conversations.get(connection, conversation_id)
            return None if conversation is None else conversation.place

        return await self._database.read(work)


def _open_in(connection: Connection, place: Place, left: SkippedRows) -> tuple[Ask, ...]:
    return tuple(participants.load_participants(connection, ask) for ask in asks.list_open(connection, place, left))


def _find_blocking(connection: Connection, conversation: Conversation) -> tuple[tuple[Ask, ...], bool]:
    """Return the open asks that the conversation waits for, and True if people were notified of that."""
    last = transcript.get_last(connection, conversation.id)
    if last is None or last.role != "assistant":
        return (), True
    calls = tool_calls.list_of_message(connection, conversation.id, last.seq)
    waiting = tuple(ask for call in calls if call.ask_id and (ask := asks.get(connection, call.ask_id)) is not None)
    is_notified = conversations.get_notified_seq(connection, conversation.id) == last.seq
    return tuple(ask for ask in waiting if ask.outcome is None), is_notified
