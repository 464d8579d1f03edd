"""How a decision stands, in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from askback import standing
from askback.actions import Action, Choose
from askback.card import Card, draw
from askback.identity import Actor
from askback.interview import Interview, settle, start
from askback.policy import Approval, Policy, Who
from askback.questions import Form, Option, Outcome, Question
from askback.voting import Tally, vote

NOW = datetime(2026, 11, 20, 15, 2, tzinfo=UTC)
PEOPLE = tuple(Actor(platform="slack", id=f"U{n}", name=f"p{n}") for n in range(4))
TWO = Approval(quorum=2, refusing=("no",))


def asked(*labels: str) -> Interview:
    options = tuple(Option(value=label.lower(), label=label) for label in labels)
    return start(Form(questions=(Question(id="q", prompt="Deploy?", options=options, allow_custom=False),)))


def after(approval: Approval, *chosen: int, labels: tuple[str, ...] = ("Yes", "No")) -> Interview:
    interview = asked(*labels)
    for person, index in zip(PEOPLE, chosen, strict=False):
        deed = Choose(index=index, reason="because")
        interview = vote(interview, approval, Action(ask_id="A", actor=person, at=NOW, turn=0, deed=deed))
    return interview


def drawn(interview: Interview, approval: Approval) -> tuple[Card, Tally]:
    card = draw("A", interview, Policy(who=Who.only(*PEOPLE), approval=approval))
    assert card.tally is not None
    return card, card.tally


@pytest.mark.parametrize(
    ("more", "labels", "said"),
    [
        ({}, ("Yes", "No"), "2 have to agree; one “No” ends it."),
        ({"quorum": 1}, ("Yes", "No"), "One has to agree; one “No” ends it."),
        ({"refusals": 2}, ("Yes", "No"), "2 have to agree; 2 “No” end it."),
        ({"reasons": "no"}, ("Yes", "No"), "2 have to agree; one “No” ends it. “No” needs a reason."),
        ({"reasons": "both"}, ("Yes", "No"), "2 have to agree; one “No” ends it. Everybody says why."),
        ({"refusing": ()}, ("Here", "There"), "2 have to choose the same."),
        ({}, ("Here", "There", "No"), "2 have to choose the same; one “No” ends it."),
        ({"refusing": ("no", "never")}, ("Yes", "No", "Never"), "2 have to agree; one “No” or “Never” ends it."),
    ],
)
def test_what_is_needed_is_one_sentence(more: dict[str, Any], labels: tuple[str, ...], said: str) -> None:
    approval = TWO.evolve(**more)
    assert standing.rule(*drawn(asked(*labels), approval)) == said


def test_it_tells_how_far_it_has_come() -> None:
    assert standing.progress(*drawn(asked("Yes", "No"), TWO)) is None
    assert standing.progress(*drawn(after(TWO, 0), TWO)) == "1 of 2 agree"
    twice = TWO.evolve(refusals=2)
    assert standing.progress(*drawn(after(twice, 0, 1), twice)) == "1 of 2 agree, 1 of 2 “No”"
    labels = ("Here", "There", "No")
    assert standing.progress(*drawn(after(TWO, 0, 1, labels=labels), TWO)) == "1 of 2 “Here”, 1 of 2 “There”"


def test_approved_refused_and_undecided_are_told_apart() -> None:
    for chosen, said, verdict in (
        ((0, 0), "Approved", "approved"),
        ((0, 1), "Refused", "refused"),
    ):
        found = drawn(after(TWO, *chosen), TWO)
        assert standing.ended(*found) == said
        assert standing.verdict(*found) == verdict
    which = drawn(after(TWO, 1, 1, labels=("Here", "There", "No")), TWO)
    assert standing.ended(*which) == "Approved: “There”", "of several that are no “no”, the one is named"
    free = Approval(quorum=2)
    assert standing.ended(*drawn(after(free, 0, 0, labels=("Here", "There")), free)) == "Decided: “Here”"
    late = drawn(settle(after(TWO, 0), Outcome(status="timed_out", at=NOW)), TWO)
    assert standing.ended(*late) == "Not decided in time: 1 of 2 agreed"
    assert standing.verdict(*late) is None
