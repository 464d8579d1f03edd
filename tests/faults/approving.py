"""Approvers who decide on a tool call, in a story of the kind `approval`.

Each person acts at their own pace, and clicks again if a click was not acked. Two approvers other than the person
who began the conversation must agree; one denial ends it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from askback_sandbox.person_error import PersonError
from askback_sandbox.play.controls import NotFound

from .actors import Seat
from .reminding import REMIND
from .scenarios import reminds

if TYPE_CHECKING:
    from .person import Person

APPROVERS = 3
"""The first people of a round; two of them who did not begin the conversation have to agree."""
QUORUM = 2
APPROVE, DENY = "Approve", "Deny"
PLANS = {"agree": 10, "deny": 5, "race": 6, "change": 4, "silent": 1}
"""The weight of each plan. `agree`: all agree. `deny`: one denies. `race`: several act at the same moment.
`change`: one changes their mind. `silent`: too few vote.
"""
WAITING = {"silent": 5, "reminded": 2, "escalated": 2, "crossing": 2}
"""The weights of the slow plans. `silent`: too few vote until the timeout. `reminded`: a reminded approver decides.
`escalated`: the person asked later decides. `crossing`: they decide just when the reminder is due.
"""
FIELD_SECONDS = 1.0


@dataclass(frozen=True)
class Approvers:
    """The people who decide on the calls of a story."""

    seats: tuple[Seat, ...]
    lead: Seat
    """The person whom the escalation asks."""
    deadline: float
    """Seconds until the question times out."""
    plans: tuple[str, ...] = ()
    """The plans to choose from; all plans if empty."""


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
        """Decide on each call of the story."""
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
        """Let the person who began the conversation approve their own call; that must change nothing."""
        card = await self._open(token)
        if card is not None:
            await self._person.think()
            await self._press(self._person.seat, token, card)

    async def _change(self, seat: Seat, token: str) -> None:
        await self._cast(seat, token, APPROVE)
        await self._cast(seat, token, DENY)

    async def _cast_when(self, seat: Seat, token: str, named: str) -> None:
        """Approve once a reminder contains `named`, unless the question is settled before."""

        def reminded() -> bool:
            texts = [seat.reads(one) for one in seat.shown()]
            return any(reminds(text) and named in text for text in texts)

        await self._person.until(lambda: reminded() or self._is_past(token))
        if not self._is_past(token):
            await self._cast(seat, token, APPROVE)

    async def _cross(self, seat: Seat, token: str) -> None:
        """Approve at about the moment when the reminder is due."""
        if await self._open(token) is not None:
            await asyncio.sleep(REMIND[0] * self._approvers.deadline)
            await self._cast(seat, token, APPROVE)

    async def _cast(self, seat: Seat, token: str, choice: str, together: asyncio.Barrier | None = None) -> None:
        """Vote until a click is acked, or until there is nothing left to decide."""
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
        """Wait for the other approvers, but not for late ones."""
        try:
            async with asyncio.timeout(FIELD_SECONDS):
                await together.wait()
        except (TimeoutError, asyncio.BrokenBarrierError):
            await together.abort()

    async def _open(self, token: str) -> Any:
        """Return the card once its button can be used; None if the question is settled."""
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
        """Press "Deny" and give the reason in the text field that opens. A person has one field open at a time."""
        async with seat.hands:
            seat.close_field()
            try:
                control = seat.find(card, DENY)
                await seat.press(card, control)
            except (PersonError, NotFound):
                return False
            if not await self._person.within(partial(seat.has_field, control), FIELD_SECONDS):
                return False
            await self._person.think()
            if not seat.has_field(control):
                return False
            with self._person.pressing(token, DENY, by=seat.id, saw=seat.reads(card)) as press:
                press.click = await seat.send_field(f"Not {token} by {seat.person}")
            return press.acked
