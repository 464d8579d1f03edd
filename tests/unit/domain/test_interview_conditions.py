"""Questions that depend on earlier answers, and defaults."""

from __future__ import annotations

import pytest

from askback.domain.actions import Choose, ClearText, GoTo, Next, Review, Select, Submit, SubmitText
from askback.domain.apply_action import Incomplete, NotPossible
from askback.domain.form import Condition
from support.cases import Story, question
from unit.domain.interview_questions import COLOUR, EXTRAS, NAME, SIZE


def test_a_question_is_shown_only_after_the_answers_it_depends_on():
    why = question("why", show_if=Condition(question="colour", any_of=("red", "blue")))
    story = Story(COLOUR, why, SIZE)
    assert story.card.position == (1, 2)
    story.does(Choose(index=0))
    assert story.card.prompt == why.prompt
    assert story.card.position == (2, 3)
    story.does(SubmitText(text="It is warm."))
    story.does(Choose(index=0))
    story.does(GoTo(index=0))
    story.does(Choose(index=1))
    assert story.card.view == "review"
    assert [line.prompt for line in story.card.lines] == [COLOUR.prompt, SIZE.prompt]
    with pytest.raises(NotPossible, match="no such question"):
        story.does(GoTo(index=1))
    story.does(Submit())
    assert story.answers == {"colour": ("Green",), "size": ("Small",)}


def test_what_was_written_for_a_hidden_question_is_there_again_when_it_comes_back():
    why = question("why", show_if=Condition(question="colour", any_of=("red",)))
    story = Story(COLOUR, why)
    story.does(Choose(index=0))
    story.does(SubmitText(text="It is warm."))
    story.does(GoTo(index=0))
    story.does(Choose(index=1))
    story.does(GoTo(index=0))
    story.does(Choose(index=0))
    assert story.now.answer(1).text == "It is warm."


def test_a_condition_without_values_is_met_by_any_answer_and_a_chain_is_hidden_whole():
    second = question("second", show_if=Condition(question="name"))
    third = question("third", show_if=Condition(question="second"))
    story = Story(NAME, second, third)
    assert story.now.visible == (0,)
    story.does(SubmitText(text="Zoë"))
    assert story.now.visible == (0, 1)
    story.does(SubmitText(text="two"))
    assert story.now.visible == (0, 1, 2)
    story.does(GoTo(index=0))
    story.does(ClearText())
    assert story.now.visible == (0,)


def test_a_new_question_that_an_answer_calls_for_has_to_be_answered_before_the_submit():
    why = question("why", show_if=Condition(question="colour", any_of=("red",)))
    story = Story(COLOUR, why)
    story.does(Choose(index=1))
    assert story.card.view == "review"
    story.does(GoTo(index=0))
    story.does(Choose(index=0))
    assert story.card.prompt == why.prompt
    story.does(Review())
    with pytest.raises(Incomplete, match="Q2"):
        story.does(Submit())


def test_defaults_are_chosen_to_begin_with_and_can_be_submitted_as_they_are():
    story = Story(EXTRAS.evolve(default=("salt", "garlic")))
    assert [item.chosen for item in story.card.items] == [True, False, True]
    story.does(Submit())
    assert story.answers == {"extras": ("Salt", "Garlic")}


def test_a_default_can_be_unticked():
    story = Story(EXTRAS.evolve(default=("salt", "garlic")))
    story.does(Select(chosen=(2,), base=(0, 2), revision=0))
    story.does(Submit())
    assert story.answers == {"extras": ("Garlic",)}


def test_a_question_that_only_its_default_answers_is_not_passed_over():
    story = Story(COLOUR, SIZE.evolve(default=("large",)), EXTRAS.evolve(default=("salt",)))
    story.does(Choose(index=0))
    assert story.card.prompt == SIZE.prompt
    assert [item.chosen for item in story.card.items] == [False, True]
    story.does(Next())
    assert story.card.prompt == EXTRAS.prompt
    story.does(Next())
    assert story.card.view == "review"
    story.does(Submit())
    assert story.answers == {"colour": ("Red",), "size": ("Large",), "extras": ("Salt",)}


def test_a_default_of_a_single_choice_settles_nothing_by_itself():
    story = Story(COLOUR.evolve(default=("blue",)))
    assert story.now.phase == "asking"
    story.does(Choose(index=2))
    assert story.answers == {"colour": ("Blue",)}
