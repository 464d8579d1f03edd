"""Moving through the questions of a form, and its review."""

from __future__ import annotations

import pytest

from askback.domain.actions import (
    Back,
    Choose,
    ClearText,
    GoTo,
    Next,
    OpenTextField,
    Review,
    Select,
    Submit,
    SubmitText,
)
from askback.domain.apply_action import Incomplete, NotPossible
from support.cases import Story
from unit.domain.interview_questions import COLOUR, EXTRAS, NAME, SIZE


def test_several_questions_come_one_at_a_time_and_end_in_a_review_with_one_submit():
    story = Story(COLOUR, EXTRAS, NAME)
    assert (story.card.prompt, story.card.position) == (COLOUR.prompt, (1, 3))
    story.does(Choose(index=0))
    assert (story.card.prompt, story.card.position) == (EXTRAS.prompt, (2, 3))
    story.does(Select(chosen=(1, 2), base=()))
    story.does(Next())
    assert (story.card.prompt, story.card.position) == (NAME.prompt, (3, 3))
    story.does(SubmitText(text="Zoë"))
    card = story.card
    assert card.view == "review"
    assert [(line.header, line.prompt, line.answer) for line in card.lines] == [
        ("Q1", COLOUR.prompt, ("Red",)),
        ("Q2", EXTRAS.prompt, ("Pepper", "Garlic")),
        ("Q3", NAME.prompt, ("Zoë",)),
    ]
    assert card.can_submit
    story.does(Submit())
    assert story.answers == {"colour": ("Red",), "extras": ("Pepper", "Garlic"), "name": ("Zoë",)}


def test_only_the_review_submits_a_form_of_several_questions():
    story = Story(COLOUR, SIZE)
    assert not story.card.can_submit
    with pytest.raises(NotPossible, match=r"The Submit button is on the review\."):
        story.does(Submit())


def test_back_and_next_lead_through_the_questions_and_keep_what_was_put_down():
    story = Story(COLOUR, SIZE, NAME)
    story.does(Choose(index=2))
    story.does(Choose(index=0))
    story.does(Back())
    assert story.card.prompt == SIZE.prompt
    assert [item.chosen for item in story.card.items] == [True, False]
    story.does(Back())
    assert story.card.prompt == COLOUR.prompt
    assert not story.card.can_go_back
    with pytest.raises(NotPossible, match="first question"):
        story.does(Back())
    story.does(Next())
    story.does(Next())
    assert story.card.prompt == NAME.prompt
    story.does(Next())
    assert story.card.view == "review"
    story.does(Back())
    assert story.card.prompt == NAME.prompt


def test_any_question_can_be_gone_to_at_any_time():
    story = Story(COLOUR, SIZE, NAME)
    story.does(GoTo(index=2))
    assert story.card.prompt == NAME.prompt
    story.does(GoTo(index=0))
    assert story.card.prompt == COLOUR.prompt
    for index in (-1, 3):
        with pytest.raises(NotPossible, match="no such question"):
            story.does(GoTo(index=index))


def test_an_answer_is_changed_from_the_review_which_comes_back_at_once():
    story = Story(COLOUR, SIZE)
    story.does(Choose(index=0))
    story.does(Choose(index=0))
    assert story.card.view == "review"
    story.does(GoTo(index=0))
    story.does(Choose(index=1))
    assert story.card.view == "review"
    story.does(Submit())
    assert story.answers == {"colour": ("Green",), "size": ("Small",)}


def test_an_answer_between_others_is_changed_from_the_review_which_comes_back_at_once():
    story = Story(COLOUR, SIZE, NAME)
    story.does(Choose(index=0))
    story.does(Choose(index=0))
    story.does(SubmitText(text="Zoë"))
    assert story.card.view == "review"
    story.does(GoTo(index=1))
    story.does(Choose(index=1))
    assert story.card.view == "review", "nothing else has to be looked at once more"


def test_choosing_takes_the_place_of_a_written_answer_and_writing_of_a_choice():
    story = Story(COLOUR, SIZE)
    story.does(SubmitText(text="Ochre"))
    story.does(GoTo(index=0))
    story.does(Choose(index=1))
    assert story.now.answer(0).labels == ("Green",)
    story.does(GoTo(index=0))
    story.does(SubmitText(text="Ochre"))
    assert story.now.answer(0).labels == ("Ochre",)


def test_the_review_can_be_looked_at_early_and_says_what_is_missing():
    story = Story(COLOUR, SIZE.evolve(header="How big"), NAME)
    story.does(Choose(index=0))
    story.does(Review())
    assert [line.answer for line in story.card.lines] == [("Red",), (), ()]
    with pytest.raises(Incomplete, match="Not answered yet: How big, Q3"):
        story.does(Submit())
    story.does(GoTo(index=1))
    story.does(Choose(index=0))
    story.does(SubmitText(text="Zoë"))
    story.does(Submit())
    assert story.answers == {"colour": ("Red",), "size": ("Small",), "name": ("Zoë",)}


def test_an_invalid_text_waits_while_people_look_at_other_questions():
    story = Story(NAME, COLOUR)
    story.does(SubmitText(text="x" * 1200))
    story.does(Next())
    story.does(Choose(index=0))
    assert story.now.missing == (0,)
    story.does(GoTo(index=0))
    assert story.now.draft.unsent == "x" * 1200
    story.does(ClearText())
    assert story.now.draft.unsent is None


def test_what_was_ticked_counts_when_moving_on_and_is_still_there_on_the_way_back():
    story = Story(EXTRAS, NAME)
    story.does(Next(), ticks=Select(chosen=(1,), base=(), revision=0))
    story.does(Back())
    assert [item.chosen for item in story.card.items] == [False, True, False]


@pytest.mark.parametrize(
    "operation", [OpenTextField(), SubmitText(text="x"), Choose(index=0), Select(chosen=(0,)), ClearText(), Next()]
)
def test_the_review_takes_no_answers(operation: OpenTextField | SubmitText | Choose | Select | ClearText | Next):
    story = Story(COLOUR, EXTRAS)
    story.does(Review())
    before = story.now
    with pytest.raises(NotPossible):
        story.does(operation, ticks=Select(chosen=(0,), base=()))
    assert story.now == before
