"""People who vote, and their actions on the card of one decision."""

from __future__ import annotations

from typing import Any

from askback.domain.actions import Action, Choose, Operation
from askback.domain.ask_policy import Approval
from askback.domain.identity import Actor
from askback.domain.interview import Interview, start_interview
from askback.domain.outcome import Outcome
from askback.domain.voting import apply_vote
from support.cases import ANN, BEN, NOON, form, question

CID = Actor(platform="local", tenant="T1", id="U3", name="Cid")
DEE = Actor(platform="local", tenant="T1", id="U4", name="Dee")
PEOPLE = (ANN, BEN, CID, DEE)
YES, LATER, NO, NEVER = range(4)
LABELS = ("Yes", "Later", "No", "Never")
WORKED = form(question("deploy", *LABELS, allow_custom=False))
REFUSING = ("no", "never")


def action(
    by: Actor, operation: Operation | int, *, step: int = 0, delivery: str | None = None, why: str | None = None
) -> Action:
    if isinstance(operation, int):
        operation = Choose(index=operation, reason=why)
    return Action(ask_id="ask", actor=by, at=NOON, step=step, operation=operation, delivery=delivery)


class Ballot:
    """An interview that people vote on."""

    def __init__(self, **rules: Any) -> None:
        self.approval = Approval(**{"refusing": REFUSING, **rules})
        self.now: Interview = start_interview(WORKED)

    def votes(self, by: Actor, operation: Operation | int, **more: Any) -> Interview:
        self.now = apply_vote(self.now, self.approval, action(by, operation, **more))
        return self.now

    @property
    def outcome(self) -> Outcome | None:
        return self.now.outcome

    @property
    def ended(self) -> Outcome:
        assert self.now.outcome is not None
        return self.now.outcome
