"""Asks: made, decided, looked up, and drawn."""

from __future__ import annotations

__all__ = ["Acted", "Asking", "TooManyOpen", "store_asks"]

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from sqlalchemy import Connection

from askback.domain.actions import Action
from askback.domain.ask import Ask
from askback.domain.conversation import Heard, Say
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.policy import Limits
from askback.errors import CallerError
from askback.internal.clock import from_micros, utc_now
from askback.store import asks, decisions, locks, outbox, participants, placing
from askback.store.notifications import Signal, tell
from askback.store.times import read_now
from askback.store.transactions import CLICK_SECONDS, Transactions

SKEW = timedelta(seconds=1)
"""How far this machine's clock may be from the database's before times are translated."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class TooManyOpen(CallerError):
    """More would be open in a place than may be. `free`: so many more may be."""

    def __init__(self, limit: int, *, free: int) -> None:
        self.limit = limit
        self.free = free
        super().__init__(
            f"{limit} questions may be open in one place at the same time, and more would be: wait for answers, cancel "
            "some, or raise the limit (ASKBACK_OPEN_QUESTIONS)."
        )


@dataclass(frozen=True, slots=True)
class Acted(Generic[T_co]):
    """What a decision about an ask led to."""

    ask: Ask | None
    """The ask as it is now; None: there is none of that id."""
    answer: T_co
    settled: bool
    """Whether this very change ended it."""
    kept: bool = False
    """Whether what was written too late is kept as a message."""


class Asking(Transactions):
    """Asks: made, decided, looked up, and drawn."""

    async def ask(self, ask: Ask, limits: Limits) -> Ask:
        """Store an ask, to be posted. If its key was asked before, that ask is returned instead.

        Raises `CallerError` when too many are open in its place, or nothing can post it there.
        """

        def work(connection: Connection) -> Ask:
            if ask.key is not None:
                locks.lock_key(connection, ask.key)
                known = asks.by_key(connection, ask.key)
                if known is not None:
                    return known
            if self._known is not None and ask.place.platform not in self._known:
                raise CallerError(
                    f"There is no platform {ask.place.platform!r}: there are {', '.join(sorted(self._known))}."
                )
            if not self._is_served(ask):
                _leave_to_others(connection, ask.place.platform)
            locks.lock_place(connection, ask.place)
            (stored,) = store_asks(connection, (ask,), limits)
            return stored

        return await self._database.run(work)

    async def decide(
        self,
        ask_id: str,
        decision: Callable[[Ask | None], tuple[Ask | None, T]],
        *,
        action: Action | None = None,
        late: Callable[[Ask], Heard | None] | None = None,
        is_audited: Callable[[T], bool] = lambda _: True,
    ) -> Acted[T]:
        """Change an ask by a pure function of its newest state, in one commit.

        The function returns the changed ask (None: no change) and an answer for the caller. `late`, as pure, says
        what is kept as a message in the same commit. `is_audited` says by the answer whether what was done is kept in
        the audit. Raises `StoreBusy` when the commit does not come within 2 s;
        then nothing was changed.
        """

        def work(connection: Connection) -> Acted[T]:
            locks.lock_ask(connection, ask_id)
            before = asks.get(connection, ask_id)
            if before is not None:
                before = participants.with_participants(connection, before)
            after, answer = decision(before)
            if before is None:
                return Acted(None, answer, False)
            if after is None:
                after = before
            heard = None if late is None else late(before)
            kept = heard is not None and decisions.keep_late(connection, before, heard)
            logged = action if is_audited(answer) else None
            return Acted(after, answer, self._change(connection, before, after, logged), kept)

        return await self._database.run(work, within=CLICK_SECONDS)

    async def attend(
        self, ask_id: str, decision: Callable[[Ask, datetime], tuple[Ask | None, Say | None]]
    ) -> Acted[None]:
        """Change an ask by a pure function of its newest state and the time, and tell people of it, in one commit."""

        def work(connection: Connection) -> Acted[None]:
            locks.lock_ask(connection, ask_id)
            before = asks.get(connection, ask_id)
            if before is None:
                return Acted(None, None, False)
            after, say = decision(before, from_micros(read_now(connection)))
            if after is None:
                # Under an earlier release it was due at another time: it would be looked at again and again.
                asks.put_off(connection, before)
                return Acted(before, None, False)
            settled = self._change(connection, before, after, None)
            if say is not None:
                outbox.put_say(connection, say, None, ask_id=ask_id)
            return Acted(after, None, settled)

        return await self._database.run(work)

    async def get(self, ask_id: str) -> Ask | None:
        def work(connection: Connection) -> Ask | None:
            ask = asks.get(connection, ask_id)
            return None if ask is None else participants.with_participants(connection, ask)

        return await self._database.read(work)

    async def newest(self, ask_id: str) -> Ask | None:
        """The same after whatever is being committed at this moment, however long the disk takes."""

        def work(connection: Connection) -> Ask | None:
            locks.lock_ask(connection, ask_id)
            return asks.get(connection, ask_id)

        return await self._database.run(work)

    async def pending(self, place: Place | None = None) -> tuple[Ask, ...]:
        """Open asks, oldest first; those of one place with the people who take part there."""

        def work(connection: Connection) -> tuple[Ask, ...]:
            found = asks.pending(connection, place, self._left)
            if place is None:
                return found  # there may be many
            return tuple(participants.with_participants(connection, ask) for ask in found)

        return await self._database.read(work)

    async def asked_near(self, place: Place) -> tuple[Ask, ...]:
        """Return the open asks of a place, and those of the channel that its thread belongs to, oldest first."""

        def work(connection: Connection) -> tuple[Ask, ...]:
            found = asks.pending(connection, place)
            if place.thread is None:
                return found
            return (*asks.pending(connection, place.evolve(thread=None)), *found)

        return await self._database.read(work)

    async def participants(self, conversation_id: str) -> tuple[Actor, ...]:
        """Return everybody who has written in a conversation, its starter first, under each name that they have had."""
        return await self._database.read(lambda connection: participants.of_conversation(connection, conversation_id))

    async def count_open(self) -> int:
        """How many asks are open in all."""
        return await self._database.read(asks.count_open)

    async def due(self) -> tuple[str, ...]:
        """Open asks for which there is something to do by now, a hundred at most."""
        return await self._database.read(lambda connection: asks.due(connection, 100, self._served, self._left))

    async def next_moment(self, within: timedelta) -> timedelta | None:
        """In how long, `within` that time, there is something to do about an open ask: its deadline, a reminder, an
        escalation."""
        return await self._database.read(
            lambda connection: asks.next_moment(connection, within, self._served, self._left)
        )

    async def now(self) -> datetime:
        """Return the time by which deadlines are judged."""
        return await self._database.read(lambda connection: from_micros(read_now(connection)))

    async def drawn(
        self,
        ask_id: str,
        revision: int,
        messages: tuple[MessageRef, ...],
        *,
        before: tuple[MessageRef, ...] = (),
        at: datetime | None = None,
    ) -> bool:
        """A platform confirmed, `at` that time, that people see this revision.

        Where another process has drawn a newer one meanwhile, this one may have come in last: the newest is to be
        drawn again, and the answer is True.

        `before`: where the ask stood when the drawing began. If somebody has clicked another message of it
        since, that one is the live one and still has to be drawn; ours become parts that its drawing removes.
        """

        def work(connection: Connection) -> bool:
            locks.lock_ask(connection, ask_id)
            ask = asks.get(connection, ask_id)
            if ask is None:
                return False
            gone = placing.gone_of(connection, ask_id)
            if not gone.isdisjoint(messages):
                # Somebody deleted it while it was drawn.
                _draw_in(connection, ask, (*ask.messages, *messages), gone)
                return True
            if revision < ask.drawn_revision:
                others = tuple(message for message in messages if message not in ask.messages)
                # As a further revision: whoever drew the newest may be about to take its row away.
                interview = ask.interview.evolve(revision=ask.interview.revision + 1)
                again = ask.evolve(interview=interview, messages=(*ask.messages, *others))
                asks.save(connection, ask, again)
                outbox.put_card(connection, again)
                return True
            live = ask.messages[:1]
            if live and live not in (before[:1], messages[:1]):
                others = tuple(message for message in messages if message not in ask.messages)
                asks.save(connection, ask, ask.evolve(messages=(*ask.messages, *others)))
                return False
            shown = ask.posted(at) if messages and at is not None else ask
            asks.save(connection, ask, shown.evolve(drawn_revision=revision, messages=messages))
            outbox.delete(connection, f"ask:{ask_id}", revision=revision)
            return False

        return await self._database.run(work)

    async def lost(self, ask_id: str, messages: tuple[MessageRef, ...]) -> bool:
        """Have the card of an open ask made whole where these messages of it were deleted: later, the more often.

        What is left of it stays, and keeps its order. False: the ask is over, or does not stand in any of these.
        """

        def work(connection: Connection) -> bool:
            locks.lock_ask(connection, ask_id)
            ask = asks.get(connection, ask_id)
            if ask is None or ask.outcome is not None or not set(messages).intersection(ask.messages):
                return False
            now = from_micros(read_now(connection))
            pause = placing.pause(connection, ask_id, now)
            news = placing.lose(connection, ask_id, messages, now)
            # A late click on a message that was lost before leads here, too: the card itself stands.
            _draw_in(connection, ask, ask.messages, frozenset(messages), now + pause if news else None)
            return True

        return await self._database.run(work)

    async def draw_again(self, ask_id: str) -> bool:
        """Have the card of an open ask drawn now: one that no longer exists is posted. False: the ask is over."""

        def work(connection: Connection) -> bool:
            locks.lock_ask(connection, ask_id)
            ask = asks.get(connection, ask_id)
            if ask is None or ask.outcome is not None:
                return False
            _draw_in(connection, ask, ask.messages, frozenset(), ask.post_after)
            tell(connection, Signal(kind="look"))
            return True

        return await self._database.run(work)

    async def cards_in(self, messages: tuple[MessageRef, ...]) -> tuple[str, ...]:
        """Return the ids of the asks whose cards stand, or stood, in these messages."""
        return await self._database.read(lambda connection: placing.cards_in(connection, messages))

    async def newest_shown(self, platform: str, at_most: int) -> tuple[str, ...]:
        """Return the ids of open asks whose cards people see on a platform, the newest first."""
        return await self._database.read(lambda connection: asks.newest_shown(connection, platform, at_most))

    def _change(self, connection: Connection, before: Ask, after: Ask, action: Action | None) -> bool:
        settled = decisions.change(connection, before, after, action)
        if settled and not self._is_served(after):
            tell(connection, Signal(kind="look"))  # its card is another process's to settle
        return settled

    def _is_served(self, ask: Ask) -> bool:
        return self._served is None or ask.place.platform in self._served


def _draw_in(
    connection: Connection,
    ask: Ask,
    messages: tuple[MessageRef, ...],
    gone: frozenset[MessageRef],
    not_before: datetime | None = None,
) -> None:
    """Have a card drawn in those of these messages that are left, and in new ones as far as they do not suffice.

    As a further revision: whoever draws at this moment may be about to take the row away, and a platform may drop
    what is posted again under the same name.
    """
    left = tuple(dict.fromkeys(message for message in messages if message not in gone))
    interview = ask.interview.evolve(revision=ask.interview.revision + 1)
    again = ask.evolve(interview=interview, messages=left, drawn_revision=-1)
    asks.save(connection, ask, again)
    outbox.put_card(connection, again, not_before=not_before)


def _leave_to_others(connection: Connection, platform: str) -> None:
    """Another process posts it: it is told, if there can be one."""
    if connection.dialect.name != "postgresql":
        raise CallerError(f"The bot for {platform} does not run here: `askback run` runs every bot that has a token.")
    tell(connection, Signal(kind="look"))


def store_asks(connection: Connection, new: tuple[Ask, ...], limits: Limits) -> tuple[Ask, ...]:
    """Store asks that were made together: they count as one towards the pace at which cards are posted.

    Raises `TooManyOpen`.
    """
    if not new:
        return ()
    place = new[0].place
    count = asks.open_in(connection, place)
    if count + len(new) > limits.pending_per_place:
        raise TooManyOpen(limits.pending_per_place, free=max(limits.pending_per_place - count, 0))
    skew = from_micros(read_now(connection)) - utc_now()
    if abs(skew) >= SKEW:
        # Whoever judges the deadline goes by the database's clock.
        new = tuple(ask.shifted(skew) for ask in new)
    latest = asks.latest_post(connection, place)
    post_after = new[0].created_at
    if latest is not None:
        pause = limits.pause(agent=new[0].conversation_id is not None)
        # Each of those that are open waits for the one before it. What lies beyond is of a clock that went back.
        farthest = post_after + pause * (count + 1)
        post_after = min(max(post_after, latest + pause), farthest)
    stored = tuple(ask.postponed(post_after) for ask in new)
    for ask in stored:
        asks.insert(connection, ask)
        outbox.put_card(connection, ask, not_before=post_after)
    return stored
