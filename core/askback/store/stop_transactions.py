"""Transactions that stop a conversation: its turn, its calls and its questions."""

from __future__ import annotations

__all__ = ["STOPPED", "StopTransactions", "end_all", "is_working"]

from datetime import datetime

from sqlalchemy import Connection

from askback.domain.ask import Ask
from askback.domain.conversation import Conversation, Stopped
from askback.domain.identity import Actor
from askback.domain.incoming_message import IncomingMessage
from askback.domain.interview import settle
from askback.domain.outcome import Outcome
from askback.domain.outgoing_message import OutgoingMessage
from askback.internal.clock import utc_now
from askback.store.notifications import Signal, send_signal
from askback.store.queries import approvals, asks, conversations, inbox, locks, offers, outbox, tool_calls, transcript
from askback.store.transaction_events import AskSettled, ConversationStopped, record_event
from askback.store.transactions import Transactions
from askback.translations.catalogue import _

STOPPED = "Somebody stopped this before it finished. If it had begun, its outcome is unknown."
"""Result of a call that a stop ended."""


class StopTransactions(Transactions):
    """Transactions that stop a conversation: its turn, its calls and its questions."""

    async def count_stops(self, conversation_id: str) -> int:
        """Return the number of stops of a conversation, or -1 if the conversation does not exist."""

        def work(connection: Connection) -> int:
            conversation = conversations.get(connection, conversation_id)
            return -1 if conversation is None else conversation.stops

        return await self._database.read(work)

    async def stop(
        self,
        conversation_id: str,
        by: Actor | None,
        reason: str | None = None,
        *,
        incoming: IncomingMessage | None = None,
    ) -> Stopped | None:
        """End a conversation's turn, calls and open asks. Return None if there is nothing to end.

        `incoming` is the message with the order to stop, which counts once. `by` None means the operator. Raises
        `StoreBusy` if the commit takes longer than 2 s.
        """

        def work(connection: Connection) -> Stopped | None:
            locks.lock_conversation(connection, conversation_id)
            conversation = conversations.get(connection, conversation_id)
            if conversation is None:
                return None
            if incoming is not None:
                if inbox.is_received(connection, incoming.place, incoming.dedupe_key):
                    return Stopped(conversation=conversation, duplicate=True)
                inbox.add(connection, conversation_id, incoming, taken=True)
            goes_on = conversations.needs_turn(connection, conversation_id)
            if not goes_on and not asks.list_open_of(connection, conversation_id):
                return None
            now = utc_now()
            ended = end_all(connection, conversation, by, now, reason)
            outgoing = OutgoingMessage(
                target=f"stop:{conversation_id}:{conversation.stops}", text=_describe_stop(by, reason), markdown=False
            )
            outbox.enqueue_message(connection, outgoing, conversation_id)
            return Stopped(conversation=conversation, asks=ended)

        return await self._run_click(work)


def _describe_stop(by: Actor | None, reason: str | None) -> str:
    """Return the sentence for people, in the current language."""
    name = _("my operator") if by is None else by.display_name
    if reason:
        return _("Stopped by {name}: {reason}").format(name=name, reason=reason)
    return _("Stopped by {name}.").format(name=name)


def is_working(connection: Connection, conversation: Conversation) -> bool:
    """Return True if a turn runs or is due, or if the model waits for people or tools."""
    if conversations.needs_turn(connection, conversation.id):
        return True
    last = transcript.get_last(connection, conversation.id)
    if last is None or last.role != "assistant":
        return False
    calls = approvals.list_calls_with_asks(connection, conversation.id, last.seq)
    return any(call.is_to_run for call, _ in calls) or bool(asks.list_open_of(connection, conversation.id))


def end_all(
    connection: Connection, conversation: Conversation, by: Actor | None, now: datetime, reason: str | None = None
) -> tuple[Ask, ...]:
    """End a conversation's open asks and calls, and keep its running turn from committing.

    Return the asks that it ended.
    """
    ended: list[Ask] = []
    for ask in asks.list_open_of(connection, conversation.id):
        outcome = Outcome(status="cancelled", at=now, by=by, reason=reason)
        over = ask.evolve(interview=settle(ask.interview, outcome))
        asks.save(connection, ask, over)
        outbox.enqueue_card(connection, over)
        offers.close_outdated(connection, over)
        record_event(AskSettled(over))
        send_signal(connection, Signal(kind="ask", id=over.id))
        ended.append(over)
    last = transcript.get_last(connection, conversation.id)
    if last is not None and last.role == "assistant":
        for call, _ in approvals.list_calls_with_asks(connection, conversation.id, last.seq):
            if call.is_to_run:
                tool_calls.end(connection, conversation.id, last.seq, call.tool_use_id, STOPPED)
    conversations.record_stop(connection, conversation.id, by)
    record_event(ConversationStopped(conversation))
    send_signal(connection, Signal(kind="stop", id=conversation.id))
    return tuple(ended)
