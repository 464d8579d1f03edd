"""Asks: made, decided, looked up, and drawn."""

from __future__ import annotations

__all__ = ["Acted", "Asking", "store_asks"]

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from sqlalchemy import Connection

from askback.actions import Action
from askback.asks import Ask
from askback.clock import utc_now
from askback.conversations import Heard, Say
from askback.errors import CallerError
from askback.identity import MessageRef, Place
from askback.policy import Limits
from askback.store import asks, decisions, locks, outbox
from askback.store.signals import Signal, tell
from askback.store.transactions import CLICK_SECONDS, Transactions

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


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
    ) -> Acted[T]:
        """Change an ask by a pure function of its newest state, in one commit.

        The function returns the changed ask (None: no change) and an answer for the caller. `late`, as pure, says
        what is kept as a message in the same commit. Raises `StoreBusy` when the commit does not come within 2 s;
        then nothing was changed.
        """

        def work(connection: Connection) -> Acted[T]:
            locks.lock_ask(connection, ask_id)
            before = asks.get(connection, ask_id)
            after, answer = decision(before)
            if before is None:
                return Acted(None, answer, False)
            if after is None:
                after = before
            heard = None if late is None else late(before)
            kept = heard is not None and decisions.keep_late(connection, before, heard)
            return Acted(after, answer, self._change(connection, before, after, action), kept)

        return await self._database.run(work, within=CLICK_SECONDS)

    async def attend(self, ask_id: str, decision: Callable[[Ask], tuple[Ask | None, Say | None]]) -> Acted[None]:
        """Change an ask by a pure function of its newest state, and tell people of it, in one commit."""

        def work(connection: Connection) -> Acted[None]:
            locks.lock_ask(connection, ask_id)
            before = asks.get(connection, ask_id)
            if before is None:
                return Acted(None, None, False)
            after, say = decision(before)
            if after is None:
                # Under an earlier release it was due at another time: it would be looked at again and again.
                asks.put_off(connection, before)
                return Acted(before, None, False)
            settled = self._change(connection, before, after, None)
            if say is not None:
                outbox.put_say(connection, say, None, utc_now(), None, ask_id=ask_id)
            return Acted(after, None, settled)

        return await self._database.run(work)

    async def get(self, ask_id: str) -> Ask | None:
        return await self._database.read(lambda connection: asks.get(connection, ask_id))

    async def newest(self, ask_id: str) -> Ask | None:
        """The same after whatever is being committed at this moment, however long the disk takes."""

        def work(connection: Connection) -> Ask | None:
            locks.lock_ask(connection, ask_id)
            return asks.get(connection, ask_id)

        return await self._database.run(work)

    async def pending(self, place: Place | None = None) -> tuple[Ask, ...]:
        """Open asks, oldest first."""
        return await self._database.read(lambda connection: asks.pending(connection, place))

    async def count_open(self) -> int:
        """How many asks are open in all."""
        return await self._database.read(asks.count_open)

    async def due(self, now: datetime) -> tuple[str, ...]:
        """Open asks for which there is something to do by now, a hundred at most."""
        return await self._database.read(lambda connection: asks.due(connection, now, 100, self._served))

    async def next_moment(self, until: datetime) -> datetime | None:
        """When, before `until`, there is something to do about an open ask: its deadline, a reminder, an escalation."""
        return await self._database.read(lambda connection: asks.next_moment(connection, until, self._served))

    async def drawn(
        self, ask_id: str, revision: int, messages: tuple[MessageRef, ...], *, before: tuple[MessageRef, ...] = ()
    ) -> bool:
        """A platform confirmed that people see this revision.

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
            if revision < ask.drawn_revision:
                others = tuple(message for message in messages if message not in ask.messages)
                # As a further revision: whoever drew the newest may be about to take its row away.
                interview = ask.interview.evolve(revision=ask.interview.revision + 1)
                again = ask.evolve(interview=interview, messages=(*ask.messages, *others))
                asks.save(connection, ask, again)
                outbox.put_card(connection, again, utc_now(), None)
                return True
            live = ask.messages[:1]
            if live and live not in (before[:1], messages[:1]):
                others = tuple(message for message in messages if message not in ask.messages)
                asks.save(connection, ask, ask.evolve(messages=(*ask.messages, *others)))
                return False
            asks.save(connection, ask, ask.evolve(drawn_revision=revision, messages=messages))
            outbox.delete(connection, f"ask:{ask_id}", revision=revision)
            return False

        return await self._database.run(work)

    async def lost(self, ask_id: str) -> None:
        """Its messages are gone from the platform: it has to be posted anew."""

        def work(connection: Connection) -> None:
            locks.lock_ask(connection, ask_id)
            ask = asks.get(connection, ask_id)
            if ask is not None:
                asks.save(connection, ask, ask.evolve(drawn_revision=-1, messages=()))

        await self._database.run(work)

    def _change(self, connection: Connection, before: Ask, after: Ask, action: Action | None) -> bool:
        settled = decisions.change(connection, before, after, action)
        if settled and not self._is_served(after):
            tell(connection, Signal(kind="look"))  # its card is another process's to settle
        return settled

    def _is_served(self, ask: Ask) -> bool:
        return self._served is None or ask.place.platform in self._served


def _leave_to_others(connection: Connection, platform: str) -> None:
    """Another process posts it: it is told, if there can be one."""
    if connection.dialect.name != "postgresql":
        raise CallerError(f"The bot for {platform} does not run here: `askback run` runs every bot that has a token.")
    tell(connection, Signal(kind="look"))


def store_asks(connection: Connection, new: tuple[Ask, ...], limits: Limits) -> tuple[Ask, ...]:
    """Store asks that were made together: they count as one towards the pace at which cards are posted."""
    if not new:
        return ()
    place = new[0].place
    count = asks.open_in(connection, place)
    if count + len(new) > limits.pending_per_place:
        raise CallerError(
            f"{limits.pending_per_place} questions are open here already: wait for answers, or cancel some."
        )
    latest = asks.latest_post(connection, place)
    post_after = new[0].created_at
    if latest is not None:
        pause = timedelta(seconds=limits.seconds_between_asks)
        # Each of those that are open waits for the one before it. What lies beyond is of a clock that went back.
        farthest = post_after + pause * (count + 1)
        post_after = min(max(post_after, latest + pause), farthest)
    stored = tuple(ask.evolve(post_after=post_after) for ask in new)
    for ask in stored:
        asks.insert(connection, ask)
        outbox.put_card(connection, ask, post_after, None)
    return stored
