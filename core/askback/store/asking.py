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
from askback.errors import CallerError
from askback.identity import MessageRef, Place
from askback.policy import Limits
from askback.store import asks, decisions, outbox
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


class Asking(Transactions):
    """Asks: made, decided, looked up, and drawn."""

    async def ask(self, ask: Ask, limits: Limits) -> Ask:
        """Store an ask, to be posted. If its key was asked before, that ask is returned instead.

        Raises `CallerError` when too many are open in its place.
        """

        def work(connection: Connection) -> Ask:
            if ask.key is not None:
                known = asks.by_key(connection, ask.key)
                if known is not None:
                    return known
            (stored,) = store_asks(connection, (ask,), limits)
            return stored

        return await self._writer.run(work)

    async def decide(
        self, ask_id: str, decision: Callable[[Ask | None], tuple[Ask | None, T]], *, action: Action | None = None
    ) -> Acted[T]:
        """Change an ask by a pure function of its newest state, in one commit.

        The function returns the changed ask (None: no change) and an answer for the caller. Raises
        `StoreBusy` when the commit does not come within 2 s; then nothing was changed.
        """

        def work(connection: Connection) -> Acted[T]:
            before = asks.get(connection, ask_id)
            after, answer = decision(before)
            if before is None:
                return Acted(None, answer, False)
            if after is None:
                after = before
            return Acted(after, answer, decisions.change(connection, before, after, action))

        return await self._writer.run(work, within=CLICK_SECONDS)

    async def get(self, ask_id: str) -> Ask | None:
        return await self._writer.read(lambda connection: asks.get(connection, ask_id))

    async def newest(self, ask_id: str) -> Ask | None:
        """The same after whatever is being committed at this moment, however long the disk takes."""
        return await self._writer.run(lambda connection: asks.get(connection, ask_id))

    async def pending(self, place: Place | None = None) -> tuple[Ask, ...]:
        """Open asks, oldest first."""
        return await self._writer.read(lambda connection: asks.pending(connection, place))

    async def count_open(self) -> int:
        """How many asks are open in all."""
        return await self._writer.read(asks.count_open)

    async def due(self, now: datetime) -> tuple[str, ...]:
        """Open asks whose deadline has passed, a hundred at most."""
        return await self._writer.read(lambda connection: asks.due(connection, now, 100))

    async def next_deadline(self) -> datetime | None:
        return await self._writer.read(asks.next_deadline)

    async def drawn(
        self, ask_id: str, revision: int, messages: tuple[MessageRef, ...], *, before: tuple[MessageRef, ...] = ()
    ) -> None:
        """A platform confirmed that people see this revision. An older one than is known changes nothing.

        `before`: where the ask stood when the drawing began. If somebody has clicked another message of it
        since, that one is the live one and still has to be drawn; ours become parts that its drawing removes.
        """

        def work(connection: Connection) -> None:
            ask = asks.get(connection, ask_id)
            if ask is None or revision < ask.drawn_revision:
                return
            live = ask.messages[:1]
            if live and live not in (before[:1], messages[:1]):
                others = tuple(message for message in messages if message not in ask.messages)
                asks.save(connection, ask.evolve(messages=(*ask.messages, *others)))
                return
            asks.save(connection, ask.evolve(drawn_revision=revision, messages=messages))
            outbox.delete(connection, f"ask:{ask_id}", revision=revision)

        await self._writer.run(work)

    async def lost(self, ask_id: str) -> None:
        """Its messages are gone from the platform: it has to be posted anew."""

        def work(connection: Connection) -> None:
            ask = asks.get(connection, ask_id)
            if ask is not None:
                asks.save(connection, ask.evolve(drawn_revision=-1, messages=()))

        await self._writer.run(work)


def store_asks(connection: Connection, new: tuple[Ask, ...], limits: Limits) -> tuple[Ask, ...]:
    """Store asks that were made together: they count as one towards the pace at which cards are posted."""
    if not new:
        return ()
    place = new[0].place
    if asks.open_in(connection, place) + len(new) > limits.pending_per_place:
        raise CallerError(
            f"{limits.pending_per_place} questions are open here already: wait for answers, or cancel some."
        )
    latest = asks.latest_post(connection, place)
    post_after = new[0].created_at
    if latest is not None:
        post_after = max(post_after, latest + timedelta(seconds=limits.seconds_between_asks))
    stored = tuple(ask.evolve(post_after=post_after) for ask in new)
    for ask in stored:
        asks.insert(connection, ask)
        outbox.put_card(connection, ask, post_after, None)
    return stored
