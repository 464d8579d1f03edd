"""Properties of every form, for all actions of people in any order of arrival.

`interview_machine.py` simulates the people; the tests here are about one property each.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from askback.domain.actions import Action, Pick, Select
from askback.domain.apply_action import apply_action
from askback.domain.ask import create_ask_id
from askback.domain.card import build_card
from askback.domain.form import Condition, Form, Question
from askback.domain.identity import Actor
from askback.domain.interview import settle, start_interview
from askback.domain.outcome import Picked
from support.cases import ANN, BEN, EVERYBODY, NOON, ended, form, options, question
from support.forms import forms
from unit.domain.interview_machine import CLEO, PEOPLE, Room, answer_by_what_the_card_offers, numbers_of, to_picked

TestRoom = Room.TestCase


@dataclass(frozen=True)
class Toggle:
    """One tick or untick by a person, on the first card that everyone saw."""

    who: Actor
    option: int


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_ticks_of_several_people_commute(data: st.DataObject):
    defaults = data.draw(st.sets(st.integers(0, 5)))
    labels = [f"Option {i}" for i in range(6)]
    asked = question("q", *labels, multi_select=True, default=tuple(f"option {i}" for i in sorted(defaults)))
    # Each option belongs to one person; the clicks of a person arrive in order.
    toggles = {
        person: [
            Toggle(person, option)
            for option in data.draw(st.lists(st.sampled_from([number, number + 3]), max_size=4), label=person.name)
        ]
        for number, person in enumerate(PEOPLE)
    }
    ends: set[tuple[int, ...]] = set()
    for _ in range(3):
        queue = {person: list(mine) for person, mine in toggles.items()}
        interview = start_interview(form(asked))
        seen = {person: set(defaults) for person in PEOPLE}
        clock = itertools.count()
        while any(queue.values()):
            person = data.draw(st.sampled_from([one for one, mine in queue.items() if mine]))
            seen[person] ^= {queue[person].pop(0).option}
            operation = Select(
                chosen=tuple(seen[person]), base=tuple(sorted(defaults)), revision=0, order=float(next(clock))
            )
            interview = apply_action(
                interview, Action(ask_id="ask", actor=person, at=NOON, step=0, operation=operation)
            )
        ends.add(interview.draft.chosen)
    expected = set(defaults)
    for mine in toggles.values():
        for toggle in mine:
            expected ^= {toggle.option}
    assert ends == {tuple(sorted(expected))}


@settings(deadline=None, max_examples=60)
@given(
    before=st.sets(st.integers(0, 5)),
    ann=st.sets(st.integers(0, 5)),
    ben=st.sets(st.integers(0, 5)),
    redrawn=st.booleans(),
)
def test_two_people_who_pick_different_people_get_the_same_in_either_order(
    before: set[int], ann: set[int], ben: set[int], redrawn: bool
):
    ben -= ann
    asked = form(Question(id="q", prompt="Who?", picks="people", multi_select=True))
    ends: list[tuple[Picked, ...]] = []
    for order in ((ANN, ann, BEN, ben), (BEN, ben, ANN, ann)):
        one, ones, other, others = order
        interview = start_interview(asked)
        first = Pick(picked=tuple(map(to_picked, before)), base=(), revision=0)
        interview = apply_action(interview, Action(ask_id="ask", actor=CLEO, at=NOON, step=0, operation=first))
        seen = interview.revision
        for who, toggled in ((one, ones), (other, others)):
            base = numbers_of(interview.draft.picked) if redrawn else frozenset(before)
            operation = Pick(
                picked=tuple(map(to_picked, base ^ toggled)),
                base=tuple(to_picked(number).id for number in base),
                revision=interview.revision if redrawn else seen,
            )
            interview = apply_action(interview, Action(ask_id="ask", actor=who, at=NOON, step=0, operation=operation))
        ends.append(interview.draft.picked)
    assert ends[0] == ends[1]
    assert numbers_of(ends[0]) == before ^ ann ^ ben


@settings(deadline=None, max_examples=60)
@given(
    first=st.sets(st.integers(0, 5)),
    ann=st.sets(st.integers(0, 5)),
    ben=st.sets(st.integers(0, 5)),
    redrawn=st.booleans(),
)
def test_two_people_who_toggle_different_options_get_the_same_in_either_order(
    first: set[int], ann: set[int], ben: set[int], redrawn: bool
):
    ben -= ann
    asked = form(question("q", *(f"o{i}" for i in range(6)), multi_select=True, default=tuple(f"o{i}" for i in first)))
    ends: list[tuple[int, ...]] = []
    for order in ((ANN, ann, BEN, ben), (BEN, ben, ANN, ann)):
        one, ones, other, others = order
        interview = start_interview(asked)
        for who, toggled in ((one, ones), (other, others)):
            base = set(interview.draft.chosen) if redrawn else first
            operation = Select(
                chosen=tuple(base ^ toggled), base=tuple(base), revision=interview.revision if redrawn else 0
            )
            interview = apply_action(interview, Action(ask_id="ask", actor=who, at=NOON, step=0, operation=operation))
        ends.append(interview.draft.chosen)
    assert ends[0] == ends[1] == tuple(sorted(first ^ ann ^ ben))


def test_ids_of_asks_are_unique_unguessable_and_short_enough_for_every_platform():
    ids = {create_ask_id() for _ in range(10_000)}
    assert len(ids) == 10_000
    assert all(len(one) == 22 for one in ids)
    assert all(one.replace("-", "").replace("_", "").isalnum() for one in ids)


@settings(deadline=None, max_examples=60)
@given(asked=forms(), status=st.sampled_from(["timed_out", "cancelled", "declined", "undeliverable"]))
def test_an_ask_that_nobody_answers_ends_typed_and_without_answers_even_with_defaults(asked: Form, status: str):
    interview = settle(start_interview(asked), ended(status))  # type: ignore[arg-type]
    assert interview.outcome is not None
    assert (interview.phase, interview.outcome.status, interview.outcome.answers) == ("closed", status, ())
    card = build_card("ask", interview, EVERYBODY)
    assert card.view == "ended"
    assert (card.can_submit, card.can_go_back, card.can_go_on, card.custom) == (False, False, False, False)


def test_the_walk_over_a_card_finds_the_end_of_a_form():
    # The properties rely on the walk; here it answers a form that a reader can check.
    asked = form(
        question("a", "One", "Two"),
        question("b", "One", "Two", multi_select=True, show_if=Condition(question="a", any_of=("two",))),
        Question(id="c", prompt="c?", options=options("X"), allow_custom=False),
        question("d"),
        Question(id="e", prompt="e?", picks="people"),
        Question(id="f", prompt="f?", picks="channels", multi_select=True),
    )
    outcome = answer_by_what_the_card_offers(start_interview(asked)).outcome
    assert outcome is not None
    assert [(answer.question_id, answer.labels) for answer in outcome.answers] == [
        ("a", ("Two",)),
        ("b", ("One", "Two")),
        ("c", ("X",)),
        ("d", ("7",)),
        ("e", ("Person 0",)),
        ("f", ("Person 0",)),
    ]
