"""The card of an interview: all its text, complete, and only the controls that work."""

from __future__ import annotations

import pytest

from askback.domain.actions import Cancel, Choose, Decline, GoTo, Next, Review, Select, Submit, SubmitText
from askback.domain.ask_policy import Policy
from askback.domain.card import Card, build_card
from askback.domain.click_response import AskText, FieldErrors, Notice, Redraw
from askback.domain.form import Option, Question, TextRules
from askback.domain.interview import settle, start_interview
from askback.domain.outcome import OutcomeStatus
from askback.domain.settled_title import get_form_title
from askback.domain.text_field import build_text_field
from askback.domain.who import Who
from support.cases import ANN, BEN, EVERYBODY, HOSTILE, NOON, Story, ended, form, question

COLOUR = question("colour", "Red", "Green")
EXTRAS = question("extras", "Salt", "Pepper", multi_select=True)
NAME = question("name", header="Name")


def test_a_question_shows_every_option_whole_and_numbered():
    asked = Question(
        id="db",
        prompt="Which one? " * 500,
        header="Database",
        options=(
            Option(value="pg", label="PostgreSQL (Recommended)", description="long " * 400, preview="x\n" * 400),
            Option(value="lite", label="SQLite " * 200, image="https://a.example/i.png"),
        ),
        default=("lite",),
    )
    card = Story(asked).card
    assert (card.view, card.header, card.prompt) == ("question", "Database", "Which one? " * 500)
    first, second = card.items
    assert (first.number, first.label, first.description, first.preview, first.recommended, first.chosen) == (
        1,
        "PostgreSQL (Recommended)",
        "long " * 400,
        "x\n" * 400,
        True,
        False,
    )
    assert (second.number, second.label, second.image, second.recommended, second.chosen) == (
        2,
        "SQLite " * 200,
        "https://a.example/i.png",
        False,
        True,
    )


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_stands_on_the_card_as_it_was_written(text: str):
    asked = Question(id="q", prompt=text, header=text, options=(Option(value=text, label=text, description=text),))
    story = Story(asked, question("next"))
    card = story.card
    assert (card.header, card.prompt, card.items[0].label, card.items[0].description) == (text, text, text, text)
    story.does(SubmitText(text=f"> {text} <"))
    story.does(Review())
    assert story.card.lines[0].answer == (f"> {text} <",)
    assert Card.model_validate_json(story.card.model_dump_json()) == story.card


@pytest.mark.parametrize(
    ("prompt", "is_heading"),
    [
        ("Which one?", True),
        ("x" * 150, True),
        ("x" * 151, False),
        ("\U0001f469" * 76, False),  # two units each
        ("Two\nlines?", False),
        ("Two  spaces?", False),
    ],
)
def test_a_question_of_one_short_line_is_a_heading(prompt: str, is_heading: bool):
    card = Story(Question(id="q", prompt=prompt)).card
    assert card.heading == (prompt if is_heading else None)


def test_the_card_says_who_is_asked_and_until_when():
    policy = Policy(who=Who.from_people(ANN), deadline=NOON)
    card = build_card("ask", start_interview(form(COLOUR)), policy)
    assert (card.ask_id, card.who, card.deadline) == ("ask", Who.from_people(ANN), NOON)


def test_a_single_choice_has_no_controls_but_its_options_and_the_text():
    card = Story(COLOUR).card
    assert (card.several, card.custom) == (False, True)
    assert (card.can_submit, card.can_go_back, card.can_go_on, card.can_review) == (False, False, False, False)
    assert card.lines == ()
    assert (card.header, card.position) == (None, None)


def test_several_choices_have_a_submit_only_where_the_question_stands_alone():
    assert Story(EXTRAS).card.can_submit
    assert not Story(EXTRAS, NAME).card.can_submit
    assert Story(EXTRAS, NAME).card.can_go_on
    assert not Story(NAME.evolve(multi_select=True)).card.can_submit


def test_a_form_shows_where_one_is_and_offers_the_review_once_there_is_an_answer():
    story = Story(COLOUR, EXTRAS, NAME)
    assert (story.card.position, story.card.is_answered, story.card.can_review) == ((1, 3), False, False)
    story.does(Choose(index=0))
    card = story.card
    assert (card.header, card.position, card.can_go_back, card.can_go_on) == (None, (2, 3), True, True)
    assert (card.is_answered, card.can_review) == (False, True)
    story.does(GoTo(index=0))
    assert (story.card.position, story.card.is_answered, story.card.can_review) == ((1, 3), True, True)


def test_a_review_leads_to_what_is_missing_and_submits_only_a_whole_form():
    story = Story(COLOUR, EXTRAS.evolve(min_choices=2), NAME)
    story.does(Choose(index=0))
    story.does(Select(chosen=(0,)))
    story.does(Review())
    card = story.card
    assert (card.can_submit, card.next_missing) == (False, 1)
    assert [line.missing for line in card.lines] == [
        None,
        "Not answered yet: choose at least 2 options",
        "Not answered yet",
    ]
    story.does(GoTo(index=1))
    story.does(Select(chosen=(0, 1)))
    story.does(Next())
    story.does(SubmitText(text="Zoë"))
    assert (story.card.view, story.card.can_submit, story.card.next_missing) == ("review", True, None)


def test_the_first_question_offers_no_way_back():
    assert not Story(COLOUR, NAME).card.can_go_back


def test_the_written_text_and_one_that_waits_to_be_mended_are_shown():
    story = Story(EXTRAS)
    story.does(SubmitText(text="Basil"))
    assert (story.card.written, story.card.unsent) == ("Basil", False)
    story.does(SubmitText(text="x" * 1001))
    assert (story.card.written, story.card.unsent) == ("Basil", True)


def test_a_blank_text_is_nothing_that_waits_to_be_mended():
    story = Story(EXTRAS)
    story.does(SubmitText(text="Basil"))
    story.does(SubmitText(text=" "))
    assert (story.card.written, story.card.unsent) == ("Basil", False)


def test_the_review_lists_every_question_with_its_answer_and_no_option():
    story = Story(COLOUR, EXTRAS, NAME)
    story.does(Next())
    story.does(Select(chosen=(0, 1), base=()))
    story.does(SubmitText(text="Basil"))
    story.does(Review())
    card = story.card
    assert card.view == "review"
    assert [(line.index, line.header, line.prompt, line.answer) for line in card.lines] == [
        (0, "Q1", COLOUR.prompt, ()),
        (1, "Q2", EXTRAS.prompt, ("Salt", "Pepper", "Basil")),
        (2, "Name", NAME.prompt, ()),
    ]
    assert (card.items, card.prompt, card.header, card.custom, card.several, card.written) == (
        (),
        "",
        None,
        False,
        False,
        None,
    )
    assert (card.can_submit, card.can_go_back, card.can_go_on, card.position) == (False, True, False, None)


def test_a_settled_question_shows_the_same_text_the_answer_who_and_when_and_no_controls():
    story = Story(COLOUR)
    before = story.card
    story.does(Choose(index=1), by=BEN)
    card = story.card
    assert (card.view, card.prompt) == ("ended", before.prompt)
    assert [item.label for item in card.items] == [item.label for item in before.items]
    assert [item.chosen for item in card.items] == [False, True]
    assert card.ending is not None
    assert (card.ending.status, card.ending.by, card.ending.at) == ("answered", BEN, NOON)
    assert [line.answer for line in card.lines] == [("Green",)]
    assert controls(card) == (False, False, False, False)


def test_a_short_answer_is_the_first_line_of_a_settled_card():
    story = Story(COLOUR)
    assert story.card.result is None
    story.does(Choose(index=1), by=BEN)
    assert story.card.result == "Green"


@pytest.mark.parametrize("text", ["two\nlines", "x" * 151])
def test_an_answer_that_is_long_or_of_several_lines_is_not_the_first_line(text: str):
    story = Story(question("name"))
    story.does(SubmitText(text=text))
    assert story.card.result is None


def test_several_answers_are_not_the_first_line():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0, 1)))
    story.does(Submit())
    assert story.card.result is None


@pytest.mark.parametrize(
    ("asked", "is_folded"),
    [
        (question("colour", "Red", "Green"), False),
        (question("colour", "Red", "Green").evolve(prompt="Which?\nThink first."), True),
        (question("colour", "Red", "Green").evolve(prompt="Which colour " * 20), True),
        (question("colour", "Red", "Green", details="All of them"), True),
        (question("name"), False),
    ],
)
def test_a_settled_card_is_folded_if_it_leaves_out_a_part_of_its_question(asked: Question, is_folded: bool):
    story = Story(asked)
    assert not story.card.is_folded(buttons_enough=False)
    story.does(Cancel())
    assert story.card.is_folded(buttons_enough=True) is is_folded
    assert story.card.is_folded(buttons_enough=False) is (is_folded or bool(asked.options))


def test_a_settled_form_is_folded_and_names_its_questions_in_one_line():
    story = Story(COLOUR, NAME)
    story.does(Cancel())
    assert story.card.is_folded(buttons_enough=True)
    assert get_form_title(story.card) == "What about colour? and 1 more"
    answered = Story(COLOUR, NAME)
    answered.does(Choose(index=0))
    answered.does(SubmitText(text="Zoë"))
    answered.does(Submit())
    assert get_form_title(answered.card) == "2 questions"


def test_a_settled_form_lists_all_answers():
    story = Story(COLOUR, NAME)
    story.does(Choose(index=0))
    story.does(SubmitText(text="Zoë"))
    story.does(Submit())
    card = story.card
    assert [(line.header, line.answer) for line in card.lines] == [("Q1", ("Red",)), ("Name", ("Zoë",))]
    assert controls(card) == (False, False, False, False)


def controls(card: Card) -> tuple[bool, bool, bool, bool]:
    return card.can_submit, card.can_go_back, card.can_go_on, card.custom


@pytest.mark.parametrize("status", ["cancelled", "declined", "timed_out", "undeliverable"])
@pytest.mark.parametrize("at", ["question", "last question", "review"])
def test_an_ask_that_ended_otherwise_has_no_controls_either_and_says_how_it_ended(status: OutcomeStatus, at: str):
    story = Story(EXTRAS, NAME)
    if at == "last question":
        story.does(GoTo(index=1))
        story.does(SubmitText(text=" "))
    elif at == "review":
        story.does(Review())
    if status == "cancelled":
        story.does(Cancel())
    elif status == "declined":
        story.does(Decline(reason="Later"))
    else:
        story.now = settle(story.now, ended(status, reason="Why"))
    card = story.card
    assert card.view == "ended"
    assert controls(card) == (False, False, False, False)
    assert not card.unsent
    assert (card.position, card.is_answered, card.can_review, card.next_missing) == (None, False, False, None)
    assert card.ending is not None
    assert card.ending.status == status
    assert card.ending.reason == {"cancelled": None, "declined": "Later"}.get(status, "Why")


def test_the_text_field_holds_what_was_written_before():
    asked = question("q", "A", "B", multi_select=True, placeholder="Say it", rules=TextRules(max_length=40))
    story = Story(asked)
    field = build_text_field("ask", story.now)
    assert (field.ask_id, field.step, field.prompt, field.header) == ("ask", 0, asked.prompt, "")
    assert (field.placeholder, field.value, field.rules.max_length, field.multi) == ("Say it", "", 40, True)
    story.does(SubmitText(text="Basil"))
    assert build_text_field("ask", story.now).value == "Basil"
    story.does(SubmitText(text="x" * 41))
    assert build_text_field("ask", story.now).value == "x" * 41


def test_the_text_field_of_a_form_names_its_question_and_its_step():
    story = Story(COLOUR, NAME)
    story.does(Next())
    field = build_text_field("ask", story.now)
    assert (field.header, field.step, field.multi) == ("Name", story.now.step, False)


def test_responses_survive_a_round_trip_through_json():
    story = Story(COLOUR)
    field = build_text_field("ask", story.now)
    for response in (
        Redraw(),
        AskText(field=field),
        FieldErrors(message="No.", field=field),
        Notice(text="Too late.", card=story.card),
        Notice(text="Unknown."),
    ):
        assert type(response).model_validate_json(response.model_dump_json()) == response


def test_drawing_changes_nothing():
    story = Story(COLOUR, EXTRAS)
    before = story.now.model_dump_json()
    assert build_card("ask", story.now, EVERYBODY) == build_card("ask", story.now, EVERYBODY)
    assert story.now.model_dump_json() == before
