"""Clicks on an older card, and clicks that are delivered twice."""

from __future__ import annotations

import pytest

from askback.domain.actions import (
    Back,
    Cancel,
    Choose,
    ClearText,
    Decline,
    GoTo,
    Next,
    OpenTextField,
    Operation,
    Review,
    Select,
    Submit,
    SubmitText,
)
from askback.domain.apply_action import Incomplete, Stale, apply_action
from askback.domain.outcome import Choice, Vote
from support.cases import ANN, BEN, NOON, Story
from unit.domain.interview_questions import COLOUR, EXTRAS, NAME, SIZE

# Steps that have passed


def test_a_click_on_a_card_whose_step_has_passed_changes_nothing_and_is_told():
    story = Story(COLOUR, SIZE, NAME)
    story.does(Choose(index=0), by=ANN)
    before = story.now
    for operation in (
        Choose(index=1),
        SubmitText(text="x"),
        OpenTextField(),
        Next(),
        Back(),
        GoTo(index=2),
        Review(),
        Submit(),
        ClearText(),
    ):
        with pytest.raises(Stale, match="changed nothing"):
            story.does(operation, by=BEN, step=0)
    assert story.now == before


def test_every_move_makes_older_cards_stale_even_when_it_leads_back_to_the_same_question():
    story = Story(COLOUR, SIZE)
    step = story.now.step
    story.does(Next())
    story.does(Back())
    with pytest.raises(Stale):
        story.does(Choose(index=0), step=step)
    with pytest.raises(Stale):
        story.does(Choose(index=0), step=story.now.step + 1)


def test_ticks_on_a_card_whose_step_has_passed_do_not_count_for_the_next_question():
    story = Story(EXTRAS, EXTRAS.evolve(id="more"))
    old = story.now.step
    story.does(Next(), ticks=Select(chosen=(0,), base=(), revision=0))
    with pytest.raises(Stale):
        story.does(Select(chosen=(0, 1), base=(), revision=0), step=old)
    with pytest.raises(Stale):
        story.does(Next(), step=old, ticks=Select(chosen=(0,), base=(), revision=0))
    assert [draft.chosen for draft in story.now.drafts] == [(0,), ()]


# One click that is delivered twice


@pytest.mark.parametrize(
    "operation",
    [
        Choose(index=1),
        SubmitText(text="Ultramarine"),
        SubmitText(text=" "),
        Next(),
        Review(),
        GoTo(index=1),
        Cancel(),
        Decline(),
    ],
)
def test_the_very_same_click_counts_once_and_is_no_error(operation: Operation):
    story = Story(COLOUR, SIZE)
    action = story.action(operation).evolve(delivery="1")
    once = apply_action(story.now, action)
    assert once != story.now
    assert apply_action(once, action) == once
    moved = once if once.phase == "closed" else apply_action(once, story.action(Review(), step=once.step))
    assert apply_action(moved, action) == moved, "also when others have gone on meanwhile"


def test_another_click_on_a_step_that_has_passed_is_told_so():
    story = Story(COLOUR, SIZE)
    once = apply_action(story.now, story.action(Choose(index=1)).evolve(delivery="1"))
    with pytest.raises(Stale):
        apply_action(once, story.action(Choose(index=1)).evolve(delivery="2"))


def test_a_click_that_was_refused_is_refused_again():
    story = Story(EXTRAS)
    action = story.action(Submit()).evolve(delivery="1")
    for _ in range(2):
        with pytest.raises(Incomplete):
            apply_action(story.now, action)


def test_opening_a_field_changes_nothing_however_often():
    story = Story(COLOUR)
    action = story.action(OpenTextField()).evolve(delivery="1")
    assert apply_action(story.now, action) == story.now


@pytest.mark.parametrize(("voters", "kept"), [(0, 20), (5, 20), (6, 24), (50, 200)])
def test_the_last_twenty_clicks_that_counted_are_kept_or_four_for_each_who_voted(voters: int, kept: int):
    red = Choice(index=0, value="red", label="Red")
    votes = tuple(Vote(by=ANN.evolve(id=f"U{number}"), choice=red, at=NOON) for number in range(voters))
    story = Story(COLOUR, SIZE)
    first, *others, last = map(str, range(kept + 1))
    full = apply_action(
        story.now.evolve(votes=votes, deliveries=(first, *others[:-1])),
        story.action(Next()).evolve(delivery=others[-1]),
    )
    assert full.deliveries == (first, *others)
    assert apply_action(full, story.action(Back(), step=full.step).evolve(delivery=first)) == full
    later = apply_action(full, story.action(Back(), step=full.step).evolve(delivery=last))
    assert later.deliveries == (*others, last)
