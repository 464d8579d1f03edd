"""Answering one question, and the ends of an interview."""

from __future__ import annotations

import pytest

from askback.domain.actions import (
    Back,
    Cancel,
    Choose,
    Decline,
    GoTo,
    Next,
    OpenTextField,
    Review,
    Select,
    Submit,
    SubmitText,
)
from askback.domain.apply_action import Closed, NotPossible
from askback.domain.form import TextRules
from askback.domain.interview import Interview, settle, start_interview
from askback.domain.outcome import Choice, OutcomeStatus, Vote
from askback.errors import PersonError
from support.cases import ANN, BEN, NOON, Story, ended, form, question
from unit.domain.interview_questions import COLOUR, EXTRAS, NAME, SIZE

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
