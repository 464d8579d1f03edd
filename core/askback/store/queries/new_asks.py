"""Adds new asks to the asks table and their cards to the outbox, within the limits of their place."""

from __future__ import annotations

__all__ = ["KeyTaken", "TooManyOpenAsks", "find_known", "store_asks"]

from datetime import timedelta

from sqlalchemy import Connection

from askback.domain.ask import Ask
from askback.domain.hand_over import name_caller_call
from askback.domain.open_ask_limits import Limits
from askback.errors import CallerError
from askback.internal.clock import from_micros, utc_now
from askback.store.database_clock import read_now
from askback.store.queries import asks, hand_overs, locks, outbox, webhooks

SKEW = timedelta(seconds=1)
"""Smallest difference between this machine's clock and the database's for which times are translated."""


class KeyTaken(CallerError):
    """Raised if another ask has a key that begins and ends as the new one's only key."""

    def __init__(self) -> None:
        super().__init__("The key belongs to another question. Nobody was asked: give each question a key of its own.")


class TooManyOpenAsks(CallerError):
    """Raised when more asks would be open in a place than the limit allows.

    `free` is the number of asks that may still be opened there.
    """

    def __init__(self, limit: int, *, free: int) -> None:
        self.limit = limit
        self.free = free
        super().__init__(
            f"Too many open questions: at most {limit} may be open in one place at the same time. Wait for answers, "
            "cancel some, or raise the limit (ASKBACK_OPEN_QUESTIONS)."
        )


def find_known(connection: Connection, new: Ask) -> Ask | None:
    """Return the earlier ask with the key of a new one. Other transactions cannot use the key until this one ends.

    Raises `KeyTaken`.
    """
    if new.key is None:
        return None
    if new.only_key is not None:
        locks.lock_key(connection, "".join(new.only_key))
    locks.lock_key(connection, new.key)
    known = asks.get_by_key(connection, new.key)
    if known is None and new.only_key is not None and asks.has_key_between(connection, *new.only_key):
        raise KeyTaken
    return known


def store_asks(connection: Connection, new: tuple[Ask, ...], limits: Limits) -> tuple[Ask, ...]:
    """Store asks that were created together. For the pace of posting, they count as one.

    Raises `TooManyOpenAsks`.
    """
    if not new:
        return ()
    place = new[0].place
    count = asks.count_open_in(connection, place)
    if count + len(new) > limits.pending_per_place:
        raise TooManyOpenAsks(limits.pending_per_place, free=max(limits.pending_per_place - count, 0))
    skew = from_micros(read_now(connection)) - utc_now()
    if abs(skew) >= SKEW:
        # Deadlines are compared with the database's clock.
        new = tuple(ask.shift(skew) for ask in new)
    latest = asks.get_latest_post_time(connection, place)
    post_after = new[0].created_at
    if latest is not None:
        pause = limits.pause(agent=new[0].conversation_id is not None)
        # Each open ask waits for the one before it. A later time can only come from a clock that was set back.
        farthest = post_after + pause * (count + 1)
        post_after = min(max(post_after, latest + pause), farthest)
    stored = tuple(ask.postpone(post_after) for ask in new)
    for ask in stored:
        asks.insert(connection, ask)
        outbox.enqueue_card(connection, ask, not_before=post_after)
        if ask.webhook is not None:
            webhooks.add(connection, ask.id, ask.webhook)
        if ask.keeps_receipt:
            call = name_caller_call(ask)
            hand_overs.add(connection, call, ask.id, call.run)
    return stored
