"""A story of one ask: its card before and after its end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from askback.domain.actions import Action, Operation
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Policy
from askback.domain.card import Card
from askback.domain.decision import decide
from askback.domain.form import Form
from askback.domain.identity import Actor, Place
from askback.domain.interview import start_interview
from askback.domain.who import Who
from askback.translations.catalogue import get_language

AT = datetime(2026, 11, 20, 14, 24, tzinfo=UTC)
ASK_ID = "A" * 22
UNTIL = datetime(2026, 11, 20, 16, 50, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Story:
    """A form, and what people do with it."""

    name: str
    form: Form
    before: tuple[Operation, ...]
    """The acts of Ada so far."""
    after: tuple[Operation, ...]
    """The act that ends the ask. If several people decide, Ben does it."""
    approval: Approval | None = None
    is_requested: bool = False
    """True if Cy requested it, so that the card names her."""
    caller: str | None = None
    """The program that asks."""

    def tell(self, ada: Actor, ben: Actor, cy: Actor) -> tuple[Card, Card]:
        """Return the card before and after the end of the ask, in the current language."""
        people = (ada,) if self.approval is None else (ada, ben)
        vote = self.approval
        if vote is not None and self.is_requested:
            vote = vote.evolve(requesters=(cy,))
        policy = Policy(
            who=Who.from_people(*people),
            deadline=UNTIL,
            approval=vote,
            language=get_language(),
            caller=self.caller,
        )
        ask = Ask(
            id=ASK_ID,
            place=Place(platform=ada.platform, tenant=ada.tenant, channel="C1"),
            policy=policy,
            interview=start_interview(self.form),
            created_at=AT,
            post_after=AT,
        )
        cards: list[Card] = []
        for operations, person in ((self.before, ada), (self.after, people[-1])):
            for operation in operations:
                action = Action(ask_id=ASK_ID, actor=person, at=AT, step=ask.interview.step, operation=operation)
                changed, _response = decide(ask, action, is_admitted=lambda _actor, _place: True)
                assert changed is not None, f"{self.name}: {operation.kind} is rejected"
                ask = changed
            cards.append(ask.to_card())
        return cards[0], cards[1]
