"""Transactions that create, change, find and draw asks."""

from __future__ import annotations

__all__ = ["AskTransactions", "DecisionResult"]

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from sqlalchemy import Connection

from askback.domain.actions import Action
from askback.domain.ask import Ask
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.incoming_message import IncomingMessage
from askback.domain.open_ask_limits import Limits
from askback.domain.outgoing_message import OutgoingMessage
from askback.errors import CallerError
from askback.internal.clock import from_micros
from askback.store.database_clock import read_now
from askback.store.errors import StoreError
from askback.store.notifications import Signal, send_signal
from askback.store.queries import asks, card_messages, decisions, locks, outbox, participants, webhooks
from askback.store.queries.new_asks import find_known, store_asks
from askback.store.transactions import Transactions

log = logging.getLogger("askback.store")

COMMITS = 3
"""Maximum number of commits for a new ask, if the result of each earlier one is in doubt."""
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class DecisionResult(Generic[T_co]):
    """The result of a decision about an ask."""

    ask: Ask | None
    """The ask's current state. None if no ask has that id."""
    answer: T_co
    settled: bool
    """True if this change settled the ask."""
    kept: bool = False
    """True if a text that came too late was kept as a message."""


class AskTransactions(Transactions):
    """Transactions that create, change, find and draw asks."""

    async def ask(self, ask: Ask, limits: Limits) -> Ask:
        """Store an ask and queue its card. Return the earlier ask if its key was used before.

        A commit that is in doubt is repeated, up to `COMMITS` times in all, because the ask's id tells if it was
        applied. Raises `CallerError` if too many asks are open in that place, if none of the processes can serve its
        platform, or if another ask has its only key.
        """

        def work(connection: Connection) -> Ask:
            known = find_known(connection, ask)
            if known is not None:
                if ask.webhook is not None:
                    webhooks.add(connection, known.id, ask.webhook)
                return known
            if self._known is not None and ask.place.platform not in self._known:
                raise CallerError(
                    f"There is no platform {ask.place.platform!r}. The platforms are {', '.join(sorted(self._known))}."
                )
            if not self._is_served(ask):
                _leave_to_others(connection, ask.place.platform)
            locks.lock_place(connection, ask.place)
            # Read under the lock, because an earlier commit in doubt may still be under way.
            committed = asks.get(connection, ask.id) if is_repeated else None
            if committed is not None:
                return committed
            (stored,) = store_asks(connection, (ask,), limits)
            return stored

        is_repeated = False
        for _ in range(COMMITS - 1):
            try:
                return await self._run(work)
            except StoreError as error:
                if not error.in_doubt:
                    raise
                log.warning(
                    "A commit was interrupted, so a question may or may not be stored; checking and trying again.",
                    extra={"action": "ask_in_doubt", "ask_id": ask.id},
                )
                is_repeated = True
        return await self._run(work)

    async def decide(
        self,
        ask_id: str,
        decision: Callable[[Ask | None], tuple[Ask | None, T]],
        *,
        action: Action | None = None,
        late: Callable[[Ask], IncomingMessage | None] | None = None,
        is_audited: Callable[[T], bool] = lambda _: True,
    ) -> DecisionResult[T]:
        """Change an ask in one commit, by a pure function of its newest state.

        `decision` returns the changed ask (None means no change) and an answer for the caller. `late` is pure too. It
        returns the text to keep as a message in the same commit, or None. `is_audited` gets the answer and returns True
        if the action belongs in the audit log. Raises `StoreBusy` if the commit takes longer than 2 s. Nothing was
        changed then, unless its `in_doubt` is True.
        """

        def work(connection: Connection) -> DecisionResult[T]:
            locks.lock_ask(connection, ask_id)
            before = asks.get(connection, ask_id)
            if before is not None:
                before = participants.load_participants(connection, before)
            after, answer = decision(before)
            if before is None:
                return DecisionResult(None, answer, False)
            if after is None:
                after = before
            incoming = None if late is None else late(before)
            kept = incoming is not None and decisions.store_late_answer(connection, before, incoming)
            logged = action if is_audited(answer) else None
            return DecisionResult(after, answer, self._change(connection, before, after, logged), kept)

        return await self._run_click(work)

    async def run_due(
        self, ask_id: str, decision: Callable[[Ask, datetime], tuple[Ask | None, OutgoingMessage | None]]
    ) -> DecisionResult[None]:
        """Change an ask in one commit, by a pure function of its newest state and the time.

        Queue the notice that it returns.
        """

        def work(connection: Connection) -> DecisionResult[None]:
            locks.lock_ask(connection, ask_id)
            before = asks.get(connection, ask_id)
            if before is None:
                return DecisionResult(None, None, False)
            after, outgoing = decision(before, from_micros(read_now(connection)))
            if after is None:
                # An earlier release computed another due time. Store the right one, or the worker would pick this ask
                # up repeatedly.
                asks.store_due_time(connection, before)
                return DecisionResult(before, None, False)
            settled = self._change(connection, before, after, None)
            if outgoing is not None:
                outbox.enqueue_message(connection, outgoing, None, ask_id=ask_id)
            return DecisionResult(after, None, settled)

        return await self._run(work)

    async def get(self, ask_id: str) -> Ask | None:
        def work(connection: Connection) -> Ask | None:
            ask = asks.get(connection, ask_id)
            return None if ask is None else participants.load_participants(connection, ask)

        return await self._database.read(work)

    async def get_latest(self, ask_id: str) -> Ask | None:
        """Return the ask's state after any commit that is under way now, however long the disk takes."""

        def work(connection: Connection) -> Ask | None:
            locks.lock_ask(connection, ask_id)
            return asks.get(connection, ask_id)

        return await self._run(work)

    async def list_open(self, place: Place | None = None) -> tuple[Ask, ...]:
        """Return the open asks, oldest first.

        With `place`, only the asks of that place, each with the participants of its conversation.
        """

        def work(connection: Connection) -> tuple[Ask, ...]:
            found = asks.list_open(connection, place, self._left)
            if place is None:
                return found  # participants would cost a query for each of many asks
            return tuple(participants.load_participants(connection, ask) for ask in found)

        return await self._database.read(work)

    async def list_open_near(self, place: Place) -> tuple[Ask, ...]:
        """Return the open asks of a place, oldest first. For a thread, those of its channel come first."""
        return await self._database.read(lambda connection: _list_open_near(connection, place))

    async def list_open_for(self, place: Place, delivery: str, settled_since: datetime) -> tuple[Ask, ...] | None:
        """Return the same asks for a message. None if an ask outside conversations counted the message already.

        `delivery` is the `Action.delivery` of the message. The ask that counted it is open, or was settled after
        `settled_since`.
        """

        # Use one transaction. Between two, a later message could overtake this one.
        def work(connection: Connection) -> tuple[Ask, ...] | None:
            is_counted = asks.has_delivery(connection, delivery, settled_since)
            return None if is_counted else _list_open_near(connection, place)

        return await self._database.read(work)

    async def list_participants(self, conversation_id: str) -> tuple[Actor, ...]:
        """Return everybody who wrote in a conversation, its starter first.

        A person who changed names appears once per name.
        """
        return await self._database.read(lambda connection: participants.list_participants(connection, conversation_id))

    async def count_open(self) -> int:
        """Return the number of open asks in all places."""
        return await self._database.read(asks.count_open)

    async def list_due(self) -> tuple[str, ...]:
        """Return the ids of at most 100 open asks whose deadline, reminder or escalation is due."""
        return await self._database.read(lambda connection: asks.list_due(connection, 100, self._served, self._left))

    async def get_time_until_ask_due(self, within: timedelta) -> timedelta | None:
        """Return the time until the next deadline, reminder or escalation of an open ask.

        None if there is none `within` that time.
        """
        return await self._database.read(
            lambda connection: asks.get_time_until_due(connection, within, self._served, self._left)
        )

    async def get_current_time(self) -> datetime:
        """Return the current time of the clock that decides about deadlines."""
        return await self._database.read(lambda connection: from_micros(read_now(connection)))

    async def mark_rendered(
        self,
        ask_id: str,
        revision: int,
        messages: tuple[MessageRef, ...],
        *,
        before: tuple[MessageRef, ...] = (),
        at: datetime | None = None,
    ) -> bool:
        """Record that a platform confirmed, at the time `at`, that people see this revision of the card.

        Return True if the card must be drawn again. That is so if another process drew a newer revision meanwhile,
        since this older drawing may have arrived last. It is also so if somebody deleted a message of the card
        meanwhile.

        `before` is the list of the card's messages when the drawing began. A person may have clicked another message of
        the card since. Then that message is the live one and still has to be drawn, and its drawing removes ours.
        """

        def work(connection: Connection) -> bool:
            locks.lock_ask(connection, ask_id)
            ask = asks.get(connection, ask_id)
            if ask is None:
                return False
            gone = card_messages.list_deleted(connection, ask_id)
            if not gone.isdisjoint(messages):
                # Somebody deleted a message of the card while it was drawn.
                card_messages.confirm(connection, ask_id, gone.intersection(messages))
                _draw_in(connection, ask, (*ask.messages, *messages), gone, _compute_repost_time(connection, ask_id))
                return True
            if revision < ask.drawn_revision:
                others = tuple(message for message in messages if message not in ask.messages)
                # Use a further revision: the process that drew the newest one may be about to delete its outbox row.
                interview = ask.interview.evolve(revision=ask.interview.revision + 1)
                again = ask.evolve(interview=interview, messages=(*ask.messages, *others))
                asks.save(connection, ask, again)
                outbox.enqueue_card(connection, again)
                return True
            live = ask.messages[:1]
            if live and live not in (before[:1], messages[:1]):
                others = tuple(message for message in messages if message not in ask.messages)
                asks.save(connection, ask, ask.evolve(messages=(*ask.messages, *others)))
                return False
            shown = ask.mark_posted(at) if messages and at is not None else ask
            asks.save(connection, ask, shown.evolve(drawn_revision=revision, messages=messages))
            outbox.delete(connection, f"{outbox.CARD}{ask_id}", revision=revision)
            return False

        return await self._run(work)

    async def mark_message_missing(self, ask_id: str, messages: tuple[MessageRef, ...]) -> bool:
        """Queue the redrawing of a card after these messages of it were deleted.

        The remaining messages stay, in their order. Each repeated deletion makes the pause before the redrawing longer.
        The card of a settled ask is only redrawn in messages that remain. Return False if none remains then, or if none
        of these messages belongs to the card.
        """

        def work(connection: Connection) -> bool:
            locks.lock_ask(connection, ask_id)
            ask = asks.get(connection, ask_id)
            if ask is None or not set(messages).intersection(ask.messages):
                return False
            if ask.outcome is not None and set(ask.messages) <= set(messages):
                return False
            now = from_micros(read_now(connection))
            pause = card_messages.compute_repost_delay(connection, ask_id, now)
            news = card_messages.mark_deleted(connection, ask_id, messages, now)
            # A late click on a message that was deleted earlier leads here too. The card itself is intact then.
            _draw_in(connection, ask, ask.messages, frozenset(messages), now + pause if news else None)
            return True

        return await self._run(work)

    async def enqueue_redraw(self, ask_id: str) -> bool:
        """Queue the card of an open ask to be drawn now. Messages that no longer exist are posted again.

        Return False if the ask is settled.
        """

        def work(connection: Connection) -> bool:
            locks.lock_ask(connection, ask_id)
            ask = asks.get(connection, ask_id)
            if ask is None or ask.outcome is not None:
                return False
            _draw_in(connection, ask, ask.messages, frozenset(), ask.post_after)
            send_signal(connection, Signal(kind="look"))
            return True

        return await self._run(work)

    async def find_asks_by_messages(self, messages: tuple[MessageRef, ...]) -> tuple[str, ...]:
        """Return the ids of the asks whose cards use, or used, these messages."""
        return await self._database.read(lambda connection: card_messages.find_asks_by_messages(connection, messages))

    async def list_newest_posted(self, platform: str, at_most: int) -> tuple[str, ...]:
        """Return the ids of at most `at_most` open asks whose cards people see on a platform, newest first."""
        return await self._database.read(lambda connection: asks.list_newest_posted(connection, platform, at_most))

    def _change(self, connection: Connection, before: Ask, after: Ask, action: Action | None) -> bool:
        settled = decisions.save_change(connection, before, after, action)
        if settled and not self._is_served(after):
            send_signal(connection, Signal(kind="look"))  # another process redraws its card
        return settled

    def _is_served(self, ask: Ask) -> bool:
        return self._served is None or ask.place.platform in self._served


def _list_open_near(connection: Connection, place: Place) -> tuple[Ask, ...]:
    found = asks.list_open(connection, place)
    if place.thread is None:
        return found
    return (*asks.list_open(connection, place.evolve(thread=None)), *found)


def _compute_repost_time(connection: Connection, ask_id: str) -> datetime | None:
    """Return the time from which a card may be posted again after the newest deletion. None means now."""
    deleted_at = card_messages.get_newest_deletion(connection, ask_id)
    if deleted_at is None:
        return None
    return deleted_at + card_messages.compute_repost_delay(connection, ask_id, deleted_at)


def _draw_in(
    connection: Connection,
    ask: Ask,
    messages: tuple[MessageRef, ...],
    gone: frozenset[MessageRef],
    not_before: datetime | None = None,
) -> None:
    """Queue the drawing of a card in the remaining messages, and in new ones if these do not suffice.

    This is a further revision. A process that draws the card now may be about to delete its outbox row. Also, a
    platform may drop a message that is posted again under the same deduplication key.
    """
    left = tuple(dict.fromkeys(message for message in messages if message not in gone))
    interview = ask.interview.evolve(revision=ask.interview.revision + 1)
    again = ask.evolve(interview=interview, messages=left, drawn_revision=-1)
    asks.save(connection, ask, again)
    outbox.enqueue_card(connection, again, not_before=not_before)


def _leave_to_others(connection: Connection, platform: str) -> None:
    """Notify the process that serves the platform. Raises `CallerError` on SQLite, where only one process works."""
    if connection.dialect.name != "postgresql":
        raise CallerError(
            f"The bot for {platform} does not run in this process. `askback run` runs every bot that has a token."
        )
    send_signal(connection, Signal(kind="look"))
