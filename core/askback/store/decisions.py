"""What follows from a change of an ask, for every way in. Runs inside a caller's transaction."""

from __future__ import annotations

__all__ = ["DRAW_SECONDS", "change", "follow"]

from datetime import timedelta

from sqlalchemy import Connection

from askback.actions import Action
from askback.asks import Ask
from askback.clock import utc_now
from askback.conversations import Step
from askback.store import asks, conversations, offers, outbox

DRAW_SECONDS = 10
"""How long whoever made a change may take to show it, before the outbox does."""


def change(connection: Connection, before: Ask, after: Ask, action: Action | None) -> bool:
    """Store a changed ask, what people did, and what has to be shown. True: this very change ended it."""
    settled = before.outcome is None and after.outcome is not None
    if action is not None:
        verdict = "settled" if settled else "changed" if after != before else "unchanged"
        asks.log_action(connection, action, verdict, after.interview.revision)
    if after != before:
        asks.save(connection, after)
    if not after.is_drawn and (after.interview != before.interview or after.messages != before.messages):
        now = utc_now()
        # Whoever clicked looks at the card already; what nobody saw yet keeps its time.
        due = now if after.messages else max(now, after.post_after)
        # Without a message nobody looks at it, such as a caller of the library.
        clicked = action is not None and action.message is not None
        by_click = now + timedelta(seconds=DRAW_SECONDS) if clicked else None
        outbox.put_card(connection, after, due, by_click)
    if after.interview.turn != before.interview.turn:
        offers.withdraw(connection, after)
    if settled and after.conversation_id is not None:
        conversations.want_turn(connection, after.conversation_id, True)
    return settled


def follow(connection: Connection, steps: tuple[Step, ...]) -> bool:
    """Store several changes of one ask, one after the other. True: they ended it."""
    settled = False
    for step in steps:
        settled = change(connection, step.before, step.after, step.action) or settled
    return settled
