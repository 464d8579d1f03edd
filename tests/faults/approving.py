"""How several people decide whether a tool may run, in a story of the kind `approval`.

Everybody acts in their own time, and clicks again what was not acked. Two of them, of whom nobody began the
conversation, have to agree, and one who denies it ends it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from askback_local.play.controls import NotFound
from askback_local.slack.people import PersonError

from .reminding import REMIND
from .seats import Seat
from .stories import reminds

if TYPE_CHECKING:
    from .person import Person

APPROVERS = 3
"""The first of the people of a round; two of those who did not begin the conversation have to agree."""
QUORUM = 2
APPROVE, DENY = "Approve", "Deny"
PLANS = {"agree": 10, "deny": 5, "race": 6, "change": 4, "silent": 1}
"""How often it goes how: all agree; somebody denies it; several act at the same moment; somebody changes their mind;
too few say anything."""
WAITING = {"silent": 5, "reminded": 2, "escalated": 2, "crossing": 2}
"""The same where people take their time: too few say anything until time is over; whoever was reminded decides, or who
is asked later on; or they decide just when the reminder is due."""
FIELD_SECONDS = 1.0


@dataclass(frozen=True)
class Approvers:
    """Who decides about the calls of a story."""

    seats: tuple[Seat, ...]
    lead: Seat
    """Who is asked later on."""
    deadline: float
    """Seconds until nobody is waited for any more."""
    plans: tuple[str, ...] = ()
    """How it may go; all ways, where none are named."""


class Panel:
    """The approvers of one story."""

    def __init__(
        self,
        person: Person,
        approvers: Approvers,
        dice: random.Random,
        busy: Callable[[], bool],
        contrary: float,
    ) -> None:
        self._person = person
        self._approvers = approvers
        self._dice = dice
        self._busy = busy
        self._contrary = contrary

    async def decide(self) -> None:
        """Decide about each call of the story."""
        async with asyncio.TaskGroup() as tasks:
            for token in self._person.story.to_approve:
                tasks.create_task(self._decide(token))

    async def _decide(self, token: str) -> None:
        plans = WAITING if self._person.story.kind == "waiting" else PLANS
        some = [plan for plan in plans if plan in (self._approvers.plans or plans)]
        (plan,) = self._dice.choices(some, [plans[plan] for plan in some])
        seats = self._dice.sample(self._approvers.seats, len(self._approvers.seats))
        together = asyncio.Barrier(len(seats))
        async with asyncio.TaskGroup() as tasks:
            if self._dice.random() < self._contrary:
                tasks.create_task(self._own(token))
            match plan:
                case "race":
                    *first, last = seats
                    for seat in first:
                        tasks.create_task(self._cast(seat, token, APPROVE, together))
                    tasks.create_task(self._cast(last, token, DENY, together))
                case "deny":
                    tasks.create_task(self._cast(seats[0], token, APPROVE))
                    tasks.create_task(self._cast(seats[1], token, DENY))
                case "change":
                    tasks.create_task(self._change(seats[0], token))
                case "silent":
                    tasks.create_task(self._cast(seats[0], token, APPROVE))
                case "reminded":
                    tasks.create_task(self._cast(seats[0], token, APPROVE))
                    tasks.create_task(self._cast_when(seats[1], token, ""))
                case "escalated":
                    lead = self._approvers.lead
                    tasks.create_task(self._cast(seats[0], token, APPROVE))
                    tasks.create_task(self._cast_when(lead, token, f"<@{lead.id}>"))
                case "crossing":
                    for seat in seats:
                        tasks.create_task(self._cross(seat, token))
                case _:
                    for seat in seats:
                        tasks.create_task(self._cast(seat, token, APPROVE))

    async def _own(self, token: str) -> None:
        """Whoever began it agrees with themselves: that has to change nothing."""
        card = await self._open(token)
        if card is not None:
            await self._person.think()
            await self._press(self._person.seat, token, card)

    async def _change(self, seat: Seat, token: str) -> None:
        await self._cast(seat, token, APPROVE)
        await self._cast(seat, token, DENY)

    async def _cast_when(self, seat: Seat, token: str, named: str) -> None:
        """Agree once there is a reminder that says so, unless it is over before."""

        def reminded() -> bool:
            texts = [seat.reads(one) for one in seat.shown()]
            return any(reminds(text) and named in text for text in texts)

        await self._person.until(lambda: reminded() or self._is_past(token))
        if not self._is_past(token):
            await self._cast(seat, token, APPROVE)

    async def _cross(self, seat: Seat, token: str) -> None:
        """Agree at about the moment at which people are reminded."""
        if await self._open(token) is not None:
            await asyncio.sleep(REMIND[0] * self._approvers.deadline)
            await self._cast(seat, token, APPROVE)

    async def _cast(self, seat: Seat, token: str, choice: str, together: asyncio.Barrier | None = None) -> None:
        """Vote until it is acked, or until there is nothing left to decide."""
        while (card := await self._open(token)) is not None:
            if together is not None:
                await self._at_once(together)
                together = None
            else:
                await self._person.think()
            if choice == DENY:
                acked = await self._deny(seat, token, card)
            elif self._dice.random() < self._contrary:
                acked = any(await asyncio.gather(*(self._press(seat, token, card) for _ in range(2))))
            else:
                acked = await self._press(seat, token, card)
            if acked:
                return
            await self._person.until(self._busy)

    async def _at_once(self, together: asyncio.Barrier) -> None:
        """Wait for the others, but not for ones that came too late."""
        try:
            async with asyncio.timeout(FIELD_SECONDS):
                await together.wait()
        except (TimeoutError, asyncio.BrokenBarrierError):
            await together.abort()

    async def _open(self, token: str) -> Any:
        """The card, as soon as it can be used. None: it is settled."""
        person = self._person
        await person.until(lambda: person.with_button(token, APPROVE) is not None or self._is_past(token))
        return person.with_button(token, APPROVE)

    def _is_past(self, token: str) -> bool:
        card = self._person.card(token)
        return self._person.is_over() or (card is not None and not self._person.can_act(card))

    async def _press(self, seat: Seat, token: str, card: Any) -> bool:
        with self._person.pressing(token, APPROVE, by=seat.id, saw=seat.reads(card)) as press:
            press.click = await seat.press(card, seat.find(card, APPROVE))
        return press.acked

    async def _deny(self, seat: Seat, token: str, card: Any) -> bool:
        """Press it, and say why in the field that opens. One person has one field open at a time."""
        async with seat.hands:
            seat.close_field()
            try:
                await seat.press(card, seat.find(card, DENY))
            except (PersonError, NotFound):
                return False
            if not await self._person.within(lambda: token in seat.field_reads(), FIELD_SECONDS):
                return False
            await self._person.think()
            if token not in seat.field_reads():
                return False
            with self._person.pressing(token, DENY, by=seat.id, saw=seat.reads(card)) as press:
                press.click = await seat.send_field(f"Not {token} by {seat.person}")
            return press.acked
