"""Store a changed ask and everything that follows from the change. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = ["save_absence", "save_change", "save_reading", "save_receipt", "save_steps", "store_late_answer"]

from datetime import timedelta
from typing import Final

from sqlalchemy import Connection

from askback.domain.actions import Action, EditArguments, Pick
from askback.domain.answer_file import FileReading, add_readings
from askback.domain.ask import Ask
from askback.domain.caller_absence import Absence
from askback.domain.incoming_message import IncomingMessage, Step
from askback.domain.reminder_messages import build_edit_reminder
from askback.store.notifications import Signal, send_signal
from askback.store.queries import (
    answer_files,
    asks,
    conversations,
    inbox,
    locks,
    offers,
    outbox,
    outbox_leases,
    receipts,
    waits,
)
from askback.store.queries.turns import request_turn
from askback.store.transaction_events import AskChanged, AskSettled, record_event

_LEASE: Final = timedelta(seconds=outbox_leases.LEASE_SECONDS)


def save_change(connection: Connection, before: Ask, after: Ask, action: Action | None) -> bool:
    """Store a changed ask and the person's action, and queue the drawing of the card.

    Return True if this change settled the ask.
    """
    settled = before.outcome is None and after.outcome is not None
    answer_files.replace(connection, before, after, action)
    changed = asks.save(connection, before, after)
    record_event(AskChanged(after.id))
    if action is not None:
        if isinstance(action.ticks, Pick) and _has_new_picks(before, after):
            # The press of a button may arrive before the pick itself, which then changes nothing. Its author counts.
            picked = action.evolve(operation=action.ticks, ticks=None)
            asks.log_action(connection, picked, "changed", after.interview.revision)
        verdict = "settled" if settled else "changed" if changed else "unchanged"
        asks.log_action(connection, action, verdict, after.interview.revision)
    if not after.is_drawn and not changed.isdisjoint(("interview", "messages")):
        # If the card is posted, redraw it now. An unposted card keeps its posting time.
        not_before = None if after.messages else after.post_after
        # An action without a message comes from code, such as a caller of the library, so no one is viewing the card.
        clicked = action is not None and action.message is not None
        # The process that handles the click draws the card, before the outbox does.
        by_click = _LEASE if clicked else None
        outbox.enqueue_card(connection, after, not_before=not_before, lease=by_click)
    if action is not None and isinstance(action.operation, EditArguments):
        reminder = build_edit_reminder(before, after, action.actor)
        if reminder is not None:
            outbox.enqueue_message(connection, reminder, None, ask_id=after.id)
    if after.interview.step != before.interview.step:
        offers.close_outdated(connection, after)
    if settled:
        record_event(AskSettled(after, action))
        if after.conversation_id is None:
            receipts.expect(connection, after.id, answered=after.status == "answered")
    if settled or (after.is_complete and not before.is_complete):
        send_signal(connection, Signal(kind="ask", id=after.id))
    if after.is_complete and not before.is_complete and after.conversation_id is not None:
        request_turn(connection, after.conversation_id, after.place, is_settled=True)
    return settled


def save_absence(connection: Connection, ask: Ask, absence: Absence | None) -> None:
    """Store the reason why no program waits for an ask, or has received its answer, and queue the drawing of the card.

    The card is drawn in its messages, without a notification.
    """
    interview = ask.interview.evolve(revision=ask.interview.revision + 1)
    save_change(connection, ask, ask.evolve(interview=interview, absence=absence), None)


def save_receipt(connection: Connection, ask_id: str) -> None:
    """Record that a program has received an answer, and correct the card if it says that none has."""
    if not receipts.is_missing(connection, ask_id):
        return
    locks.lock_ask(connection, ask_id)
    waits.delete(connection, (ask_id,))
    ask = asks.get(connection, ask_id)
    if ask is not None and ask.absence is not None:
        save_absence(connection, ask, None)


def save_reading(connection: Connection, ask_id: str, file_id: str, reading: FileReading) -> None:
    """Store the result of reading a file of an answer, and queue the drawing of the card."""
    ask = asks.get(connection, ask_id)
    if ask is not None:
        save_change(connection, ask, ask.evolve(interview=add_readings(ask.interview, {file_id: reading})), None)


def _has_new_picks(before: Ask, after: Ask) -> bool:
    """Return True if people or channels were picked, or no longer are."""
    drafts = zip(before.interview.drafts, after.interview.drafts, strict=True)
    return any(earlier.picked != later.picked for earlier, later in drafts)


def save_steps(connection: Connection, steps: tuple[Step, ...]) -> None:
    """Store several changes of one ask, in order."""
    for step in steps:
        save_change(connection, step.before, step.after, step.action)


def store_late_answer(connection: Connection, ask: Ask, incoming: IncomingMessage) -> bool:
    """Keep a late answer as a message to the agent that asked, once. Return False if no agent would read it.

    A conversation that was closed for a newer one never continues.
    """
    conversation = conversations.find(connection, ask.place)
    if conversation is None or conversation.id != ask.conversation_id:
        return False
    if not inbox.is_received(connection, ask.place, incoming.dedupe_key):
        inbox.add(connection, conversation.id, incoming)
        request_turn(connection, conversation.id, conversation.place)
    return True
