"""Answering a form, step by step."""

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
from askback.domain.apply_action import Closed, Incomplete, NotPossible, Stale, apply_action
from askback.domain.form import Condition, TextRules
from askback.domain.interview import Interview, settle, start_interview
from askback.domain.outcome import Choice, OutcomeStatus, Vote
from askback.errors import PersonError
from support.cases import ANN, BEN, NOON, Story, ended, form, question

COLOUR = question("colour", "Red", "Green", "Blue")
SIZE = question("size", "Small", "Large")
EXTRAS = question("extras", "Salt", "Pepper", "Garlic", multi_select=True)
NAME = question("name")


# One question


def test_choosing_settles_a_single_question():
    story = Story(COLOUR)
    assert story.card.view == "question"
    story.does(Choose(index=1))
    assert story.now.phase == "closed"
    assert story.answers == {"colour": ("Green",)}
    outcome = story.now.outcome
    assert outcome is not None
    assert (outcome.status, outcome.by) == ("answered", ANN)
    chosen = outcome["colour"].choices[0]
    assert (chosen.index, chosen.value, chosen.label) == (1, "green", "Green")
    assert not outcome["colour"].is_custom


def test_writing_something_else_settles_a_single_question_too():
    story = Story(COLOUR)
    before = story.now
    assert story.does(OpenTextField()) == before
    story.does(SubmitText(text="  Ultramarine \n"))
    assert story.answers == {"colour": ("Ultramarine",)}
    assert story.now.outcome is not None
    assert story.now.outcome["colour"].is_custom


def test_a_question_without_options_takes_a_text_only():
    story = Story(NAME)
    with pytest.raises(NotPossible):
        story.does(Choose(index=0))
    story.does(SubmitText(text="Zoë"))
    assert story.answers == {"name": ("Zoë",)}


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000", "x" * 1001])
def test_an_invalid_text_is_kept_as_a_draft_and_settles_nothing(text: str):
    story = Story(COLOUR)
    story.does(SubmitText(text=text))
    assert story.now.phase == "asking"
    assert story.now.draft.unsent == text
    assert story.card.unsent == bool(text.strip()), "a blank one is nothing to mend"
    assert COLOUR.rules.find_problem(story.now.draft.unsent) is not None
    story.does(SubmitText(text="mended"))
    assert story.answers == {"colour": ("mended",)}


def test_a_text_that_is_far_too_long_is_kept_whole_all_the_same():
    text = "a" * 10 + " " * 4100 + "b"
    story = Story(NAME)
    story.does(SubmitText(text=text))
    assert story.now.draft.unsent == text


@pytest.mark.parametrize("text", ["x", "x" * 1000, f" {'x' * 1000} "])
def test_one_to_a_thousand_characters_are_an_answer(text: str):
    story = Story(NAME)
    story.does(SubmitText(text=text))
    assert story.answers == {"name": (text.strip(),)}


def test_a_text_has_to_keep_the_rules_of_its_question():
    story = Story(question("age", rules=TextRules(pattern=r"\d+", hint="Digits only.")))
    story.does(SubmitText(text="old"))
    assert story.now.phase == "asking"
    story.does(SubmitText(text=" 42 "))
    assert story.answers == {"age": ("42",)}


def test_where_writing_is_not_allowed_nothing_can_be_written():
    story = Story(question("colour", "Red", "Green", allow_custom=False))
    assert not story.card.custom
    for operation in (SubmitText(text="Blue"), OpenTextField()):
        with pytest.raises(NotPossible, match="choose one of the options"):
            story.does(operation)
    story.does(Choose(index=0))
    assert story.answers == {"colour": ("Red",)}


@pytest.mark.parametrize("index", [-1, 3, 10**9])
def test_an_option_that_is_not_there_cannot_be_chosen(index: int):
    story = Story(COLOUR)
    before = story.now
    with pytest.raises(NotPossible, match="no such option"):
        story.does(Choose(index=index))
    assert story.now == before


@pytest.mark.parametrize("operation", [Next(), Back(), Review(), GoTo(index=1), Submit(), Select(chosen=(0,))])
def test_a_single_choice_offers_no_moves_and_refuses_them(operation: Next | Back | Review | GoTo | Submit | Select):
    story = Story(COLOUR)
    card = story.card
    assert (card.can_submit, card.can_go_back, card.can_go_on, card.can_review) == (False, False, False, False)
    before = story.now
    with pytest.raises(PersonError):
        story.does(operation)
    assert story.now == before


# Several choices


def test_several_choices_are_ticked_and_then_submitted():
    story = Story(EXTRAS)
    assert story.card.several
    assert story.card.can_submit
    story.does(Select(chosen=(0,), base=(), revision=0))
    story.does(Select(chosen=(0, 2), base=(0,), revision=1))
    assert story.now.phase == "asking"
    story.does(Submit())
    assert story.answers == {"extras": ("Salt", "Garlic")}


def test_an_order_of_ticking_does_not_matter_the_answer_has_the_order_of_the_options():
    story = Story(EXTRAS)
    story.does(Select(chosen=(2, 1, 1, 2), base=()))
    story.does(Submit())
    assert story.answers == {"extras": ("Pepper", "Garlic")}


def test_submitting_nothing_is_refused_and_says_what_to_do():
    story = Story(EXTRAS)
    with pytest.raises(Incomplete, match="at least one option, or write an answer"):
        story.does(Submit())
    story.does(Select(chosen=(1,), base=()))
    story.does(Submit())
    assert story.answers == {"extras": ("Pepper",)}


def test_a_text_stands_beside_the_choices():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0,), base=()))
    story.does(SubmitText(text=" Basil "))
    assert story.now.phase == "asking"
    assert story.card.written == "Basil"
    assert [item.chosen for item in story.card.items] == [True, False, False]
    story.does(Select(chosen=(0, 1), base=(0,)))
    story.does(Submit())
    assert story.answers == {"extras": ("Salt", "Pepper", "Basil")}


def test_a_text_alone_is_an_answer_to_a_multiple_choice():
    story = Story(EXTRAS)
    story.does(SubmitText(text="Basil"))
    story.does(Submit())
    assert story.answers == {"extras": ("Basil",)}
    assert story.now.outcome is not None
    assert story.now.outcome["extras"].is_custom


def test_a_written_text_can_be_taken_back():
    story = Story(EXTRAS)
    story.does(Select(chosen=(1,), base=()))
    story.does(SubmitText(text="Basil"))
    story.does(ClearText())
    story.does(Submit())
    assert story.answers == {"extras": ("Pepper",)}


def test_an_invalid_text_leaves_the_choices_and_the_text_before_it_alone():
    story = Story(EXTRAS)
    story.does(Select(chosen=(1,), base=()))
    story.does(SubmitText(text="Basil"))
    story.does(SubmitText(text="  "))
    assert (story.now.draft.chosen, story.now.draft.text, story.now.draft.unsent) == ((1,), "Basil", "  ")
    story.does(Submit())
    assert story.answers == {"extras": ("Pepper", "Basil")}


def test_what_is_ticked_when_a_button_is_pressed_counts():
    story = Story(EXTRAS)
    story.does(Submit(), ticks=Select(chosen=(0, 1), base=(), revision=0))
    assert story.answers == {"extras": ("Salt", "Pepper")}


def test_one_of_several_cannot_be_chosen_by_a_single_choice():
    story = Story(EXTRAS)
    with pytest.raises(NotPossible):
        story.does(Choose(index=0))


@pytest.mark.parametrize("ticks", [Select(chosen=(3,)), Select(chosen=(-1,)), Select(chosen=(), base=(7,))])
def test_an_option_that_is_not_there_cannot_be_ticked(ticks: Select):
    story = Story(EXTRAS)
    before = story.now
    for operation in (ticks, Submit()):
        with pytest.raises(NotPossible, match="no such option"):
            story.does(operation, ticks=ticks)
    assert story.now == before


# Ticks of several people


def test_ticks_of_two_people_who_look_at_the_same_card_both_count():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0,), base=(), revision=0), by=ANN)
    story.does(Select(chosen=(2,), base=(), revision=0), by=BEN)
    assert story.now.draft.chosen == (0, 2)


def test_somebody_unticks_what_they_saw_ticked_and_nothing_else():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0, 1), base=(), revision=0), by=ANN)
    story.does(Select(chosen=(0, 1, 2), base=(0, 1), revision=1), by=ANN)
    story.does(Select(chosen=(1,), base=(0, 1), revision=1), by=BEN)
    assert story.now.draft.chosen == (1, 2)


def test_quick_clicks_before_the_card_is_drawn_anew_all_count():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0,), base=(), revision=0, order=1.0))
    story.does(Select(chosen=(0, 1), base=(), revision=0, order=2.0))
    story.does(Select(chosen=(1,), base=(), revision=0, order=3.0))
    assert story.now.draft.chosen == (1,)


def test_a_click_that_is_overtaken_by_a_later_one_of_the_same_person_changes_nothing():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0, 1), base=(), revision=0, order=2.0))
    before = story.now
    story.does(Select(chosen=(0,), base=(), revision=0, order=1.0))
    assert story.now == before
    assert story.now.draft.chosen == (0, 1)


def test_without_a_revision_an_older_click_of_the_same_person_changes_nothing():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0, 1), base=(), order=2.0))
    before = story.now
    for order in (1.0, 2.0):
        story.does(Select(chosen=(0,), base=(0, 1), order=order))
        assert story.now == before


def test_of_two_clicks_at_one_moment_neither_is_lost():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0,), base=(), revision=0, order=1.0))
    story.does(Select(chosen=(0, 1), base=(), revision=0, order=1.0))
    assert story.now.draft.chosen == (0, 1)


def test_a_click_that_is_delivered_twice_changes_nothing_the_second_time():
    story = Story(EXTRAS)
    first = Select(chosen=(0,), base=(), revision=0, order=1.0)
    story.does(first, by=ANN)
    story.does(Select(chosen=(2,), base=(), revision=0, order=2.0), by=BEN)
    before = story.now
    assert story.does(first, by=ANN) == before
    story.does(Select(chosen=(2,), base=(0, 2), revision=2, order=3.0), by=ANN)
    before = story.now
    assert story.does(first, by=ANN) == before
    assert story.now.draft.chosen == (2,)


def test_without_the_drawing_the_time_tells_what_came_already():
    story = Story(EXTRAS)
    first = Select(chosen=(0,), base=(), order=1.0)
    story.does(first)
    story.does(Select(chosen=(), base=(0,), order=2.0))
    before = story.now
    assert story.does(first) == before
    assert story.now.draft.chosen == ()


def test_without_the_drawing_a_click_that_comes_twice_does_not_undo_what_another_person_did_meanwhile():
    story = Story(EXTRAS)
    ticked = Select(chosen=(0,), base=(), order=1.0)
    story.does(ticked, by=ANN)
    story.does(Select(chosen=(), base=(0,), order=2.0), by=BEN)
    before = story.now
    assert story.does(ticked, by=ANN) == before
    assert story.now.draft.chosen == ()


def test_without_the_drawing_a_click_that_arrives_after_a_later_one_of_somebody_else_counts():
    story = Story(EXTRAS)
    story.does(Select(chosen=(2,), base=(), order=2.0), by=BEN)
    story.does(Select(chosen=(0,), base=(), order=1.0), by=ANN)
    assert story.now.draft.chosen == (0, 2)


def test_a_tick_that_is_there_already_is_nothing_to_draw():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0,), base=(), revision=0), by=ANN)
    revision = story.now.revision
    story.does(Select(chosen=(0,), base=(), revision=0), by=BEN)
    assert (story.now.draft.chosen, story.now.revision) == ((0,), revision)
    story.does(Select(chosen=(), base=(), revision=0), by=BEN)
    assert (story.now.draft.chosen, story.now.revision) == ((), revision + 1)


def test_a_long_day_of_ticking_does_not_fill_the_store():
    story = Story(EXTRAS)
    for _ in range(200):
        shown = story.now.draft.chosen
        chosen = () if shown else (0,)
        story.does(Select(chosen=chosen, base=shown, revision=story.now.revision))
    assert len(story.now.draft.marks) == 50
    assert story.now.draft.chosen == ()


def test_what_screens_showed_is_forgotten_with_the_step_and_what_was_ticked_is_not():
    story = Story(EXTRAS, NAME)
    story.does(Select(chosen=(0,), base=(), revision=0))
    assert story.now.draft.marks
    story.does(Next())
    assert (story.now.drafts[0].marks, story.now.drafts[0].chosen) == ((), (0,))


# Several questions


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


# Questions that depend on others, and defaults


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


# Endings


@pytest.mark.parametrize("moves", [(), (Choose(index=0),), (Review(),)], ids=["at once", "midway", "in the review"])
def test_cancel_ends_the_ask_from_everywhere_without_answers(moves: tuple[Choose | Review, ...]):
    story = Story(COLOUR, SIZE)
    for operation in moves:
        story.does(operation)
    story.does(Cancel(), by=BEN)
    outcome = story.now.outcome
    assert outcome is not None
    assert (outcome.status, outcome.by, outcome.answers, story.now.phase) == ("cancelled", BEN, (), "closed")


def test_cancel_and_decline_count_from_an_older_card_too_since_they_end_the_whole_ask():
    for operation, status in ((Cancel(), "cancelled"), (Decline(), "declined")):
        story = Story(COLOUR, SIZE)
        story.does(Choose(index=0))
        story.does(operation, step=0)
        assert story.now.outcome is not None
        assert story.now.outcome.status == status


@pytest.mark.parametrize(("reason", "kept"), [(None, None), ("  ", None), (" Later, please. ", "Later, please.")])
def test_declining_may_say_why(reason: str | None, kept: str | None):
    story = Story(COLOUR)
    story.does(Decline(reason=reason))
    assert story.now.outcome is not None
    assert (story.now.outcome.status, story.now.outcome.reason) == ("declined", kept)


def test_a_reason_to_decline_has_a_thousand_characters_at_most():
    story = Story(COLOUR)
    with pytest.raises(NotPossible, match=r"shorten it to 1,000 characters; it has 1,001\."):
        story.does(Decline(reason="x" * 1001))
    assert story.now.phase == "asking"
    story.does(Decline(reason=f" {'x' * 1000} "))
    assert story.now.outcome is not None
    assert story.now.outcome.reason == "x" * 1000


@pytest.mark.parametrize("status", ["cancelled", "timed_out", "undeliverable"])
def test_what_was_voted_is_told_however_it_ends(status: OutcomeStatus):
    vote = Vote(by=BEN, choice=Choice(index=0, value="red", label="Red"), at=NOON)
    over = settle(start_interview(form(COLOUR)).evolve(votes=(vote,)), ended(status))
    assert over.outcome == ended(status, votes=(vote,))


@pytest.mark.parametrize("how", ["answered", "cancelled", "timed_out"])
def test_what_is_over_stays_as_it_ended_whatever_is_clicked(how: str):
    story = Story(COLOUR)
    if how == "answered":
        story.does(Choose(index=0))
    elif how == "cancelled":
        story.does(Cancel())
    else:
        story.now = settle(story.now, ended("timed_out"))
    before = story.now
    operations = (
        Choose(index=1),
        SubmitText(text="x"),
        Submit(),
        Cancel(),
        Decline(),
        OpenTextField(),
        Select(chosen=()),
        Next(),
    )
    for operation in operations:
        for step in (0, before.step):
            with pytest.raises(Closed):
                story.does(operation, step=step)
    assert settle(story.now, ended("timed_out")) == before
    assert story.now == before


def test_a_timeout_ends_typed_without_answers_and_keeps_what_people_had_put_down():
    story = Story(COLOUR, NAME)
    story.does(Choose(index=0))
    story.does(SubmitText(text=" "))
    ended_now = settle(story.now, ended("timed_out"))
    assert ended_now.outcome is not None
    assert (ended_now.phase, ended_now.outcome.status, ended_now.outcome.answers) == ("closed", "timed_out", ())
    assert [draft.is_answer for draft in ended_now.drafts] == [True, False]
    assert ended_now.drafts[1].unsent == " "
    assert (ended_now.step, ended_now.revision) == (story.now.step + 1, story.now.revision + 1)


def test_an_interview_survives_a_round_trip_through_json_at_every_step():
    story = Story(EXTRAS, NAME)
    ticks = Select(chosen=(1,), base=(), revision=0, order=1.5)
    operations = (ticks, Next(), SubmitText(text=" "), SubmitText(text="Zoë"), Submit())
    for interview in (story.now, *(story.does(operation) for operation in operations)):
        assert Interview.model_validate_json(interview.model_dump_json()) == interview


def test_a_new_interview_stands_at_the_first_question_with_nothing_put_down():
    interview = start_interview(form(COLOUR, NAME))
    assert (interview.phase, interview.current, interview.step, interview.revision) == ("asking", 0, 0, 0)
    assert interview.missing == (0, 1)
    assert interview.answers == ()
    assert interview.outcome is None


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
