"""The status of a decision, in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from askback.domain import vote_summary
from askback.domain.actions import Action, Choose
from askback.domain.ask_policy import Approval, Policy
from askback.domain.card import Card, build_card
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor
from askback.domain.interview import Interview, settle, start_interview
from askback.domain.outcome import Outcome
from askback.domain.voting import VoteCount, apply_vote
from askback.domain.who import Who

NOW = datetime(2026, 11, 20, 15, 2, tzinfo=UTC)
PEOPLE = tuple(Actor(platform="slack", id=f"U{n}", name=f"p{n}") for n in range(4))
TWO = Approval(quorum=2, refusing=("no",))
WIDER = {"approving": ("yes", "always"), "wider": (("always", "yes"),)}


def asked(*labels: str) -> Interview:
    options = tuple(Option(value=label.lower(), label=label) for label in labels)
    return start_interview(Form(questions=(Question(id="q", prompt="Deploy?", options=options, allow_custom=False),)))


def after(approval: Approval, *chosen: int, labels: tuple[str, ...] = ("Yes", "No")) -> Interview:
    interview = asked(*labels)
    for person, index in zip(PEOPLE, chosen, strict=False):
        operation = Choose(index=index, reason="because")
        interview = apply_vote(
            interview, approval, Action(ask_id="A", actor=person, at=NOW, step=0, operation=operation)
        )
    return interview


def drawn(interview: Interview, approval: Approval) -> tuple[Card, VoteCount]:
    card = build_card("A", interview, Policy(who=Who.from_people(*PEOPLE), approval=approval))
    assert card.tally is not None
    return card, card.tally


@pytest.mark.parametrize(
    ("more", "labels", "said"),
    [
        ({}, ("Yes", "No"), "Needs 2 approvals. One denial stops it."),
        ({"quorum": 1}, ("Yes", "No"), "Needs 1 approval. One denial stops it."),
        ({"refusals": 2}, ("Yes", "No"), "Needs 2 approvals. 2 denials stop it."),
        ({"reasons": "no"}, ("Yes", "No"), "Needs 2 approvals. One denial stops it. “No” needs a reason."),
        ({"reasons": "both"}, ("Yes", "No"), "Needs 2 approvals. One denial stops it. Every choice needs a reason."),
        ({"refusing": ()}, ("Here", "There"), "Needs 2 votes for the same option."),
        ({}, ("Here", "There", "No"), "Needs 2 votes for the same option. One denial stops it."),
        ({"quorum": 1}, ("Yes", "No", "Later"), "Needs 1 vote. One denial stops it."),
        (WIDER, ("Yes", "No", "Always"), "Needs 2 approvals. “Always” applies if 2 choose it. One denial stops it."),
        ({**WIDER, "quorum": 1}, ("Yes", "No", "Always"), "Needs 1 approval. One denial stops it."),
        ({"refusing": ("no", "never")}, ("Yes", "No", "Never"), "Needs 2 approvals. One “No” or “Never” stops it."),
    ],
)
def test_what_is_needed_is_one_sentence(more: dict[str, Any], labels: tuple[str, ...], said: str) -> None:
    approval = TWO.evolve(**more)
    assert vote_summary.describe_rule(*drawn(asked(*labels), approval)) == said


def test_it_tells_how_far_it_has_come() -> None:
    assert vote_summary.describe_progress(*drawn(asked("Yes", "No"), TWO)) is None
    assert vote_summary.describe_progress(*drawn(after(TWO, 0), TWO)) == "1 of 2 agree"
    twice = TWO.evolve(refusals=2)
    assert vote_summary.describe_progress(*drawn(after(twice, 0, 1), twice)) == "1 of 2 agree, 1 of 2 “No”"
    labels = ("Here", "There", "No")
    assert (
        vote_summary.describe_progress(*drawn(after(TWO, 0, 1, labels=labels), TWO)) == "1 of 2 “Here”, 1 of 2 “There”"
    )


def test_approved_refused_and_undecided_are_told_apart() -> None:
    for chosen, said, verdict in (
        ((0, 0), "Approved", "approved"),
        ((0, 1), "Refused", "refused"),
    ):
        found = drawn(after(TWO, *chosen), TWO)
        assert vote_summary.describe_result(*found) == said
        assert vote_summary.get_verdict(*found) == verdict
    both = TWO.evolve(approving=("here", "there"))
    which = drawn(after(both, 1, 1, labels=("Here", "There", "No")), both)
    assert vote_summary.describe_result(*which) == "Approved: “There”", "of several that are a “yes”, the one is named"
    free = Approval(quorum=2)
    assert vote_summary.describe_result(*drawn(after(free, 0, 0, labels=("Here", "There")), free)) == "Decided: “Here”"
    late = drawn(settle(after(TWO, 0), Outcome(status="timed_out", at=NOW)), TWO)
    assert vote_summary.describe_result(*late) == "Not decided in time: 1 of 2 agreed"
    assert vote_summary.get_verdict(*late) is None


@pytest.mark.parametrize("approving", [(), ("yes",)])
def test_what_is_neither_a_yes_nor_a_no_is_decided_and_not_approved(approving: tuple[str, ...]) -> None:
    approval = TWO.evolve(approving=approving)
    found = drawn(after(approval, 2, 2, labels=("Yes", "No", "Later")), approval)
    assert vote_summary.describe_result(*found) == "Decided: “Later”"
    assert vote_summary.get_verdict(*found) == "decided"
    assert [vote_summary.get_option_verdict(found[1], index) for index in range(3)] == [
        "approved" if approving else "decided", "refused", "decided",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ((0, 0), "Approved"),
        ((0, 2), "Approved, but not “Always”"),
        ((2, 0), "Approved, but not “Always”"),
        ((2, 2), "Approved: “Always”"),
        ((2, 1), "Refused"),
    ],
)
def test_a_yes_that_holds_for_more_counts_as_one_and_is_told_where_too_few_said_it(
    chosen: tuple[int, ...], said: str
) -> None:
    approval = TWO.evolve(**WIDER)
    labels = ("Yes", "No", "Always")
    begun = drawn(after(approval, *chosen[:1], labels=labels), approval)
    assert vote_summary.describe_progress(*begun) == "1 of 2 agree"
    assert vote_summary.get_agreeing_option(begun[0]) == 1
    found = drawn(after(approval, *chosen, labels=labels), approval)
    assert vote_summary.describe_result(*found) == said
