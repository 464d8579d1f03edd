"""People and channels as answers: what a question may say, what a pick changes, and names that come later."""

from __future__ import annotations

from typing import Any

import pytest

from askback.domain.actions import Choose, Next, Operation, Pick, Select, Submit, SubmitText
from askback.domain.answer_values import list_answer_values
from askback.domain.apply_action import Incomplete, NotPossible
from askback.domain.form import Form, Question
from askback.domain.form_limits import MAX_PICKED, MAX_PICKED_NAME
from askback.domain.interview import Interview
from askback.domain.outcome import Answer, Picked
from askback.domain.picked_names import add_names, list_unnamed
from askback.errors import InvalidValue
from support.cases import BEN, HOSTILE, Story, form, question

ADA, CY = Picked(id="U1", name="Ada"), Picked(id="U3", name="cy")
GENERAL = Picked(id="C1", name="#general")


def people(**more: Any) -> Question:
    return Question(id="who", prompt="Who?", picks="people", **more)


def channels(**more: Any) -> Question:
    return Question(id="where", prompt="Where?", picks="channels", **more)


def test_such_a_question_takes_no_text_unless_it_says_so() -> None:
    assert not people().allow_custom
    assert people(allow_custom=True).allow_custom
    assert not Question.model_validate_json('{"id": "a", "prompt": "?", "picks": "people"}').allow_custom
    assert people(allow_custom=True).evolve(prompt="Who else?").allow_custom
    assert question("a").allow_custom


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"picks": "roles"}, "'people' or 'channels'"),
        ({"picks": "people", "options": question("a", "X").options}, "leave out one of the two"),
        ({"picks": "people", "default": ("U1",)}, "is not the value of an option"),
        ({"picks": "people", "min_choices": 2}, "needs a question with multi_select"),
        ({"picks": "people", "multi_select": True, "max_choices": MAX_PICKED + 1}, "at most 25 people"),
        ({"picks": "channels", "multi_select": True, "min_choices": MAX_PICKED + 1}, "at most 25 channels"),
    ],
)
def test_what_does_not_go_together_is_refused_with_advice(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        Question(id="a", prompt="?", **fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, None),
        ({"min_choices": 2}, "choose at least 2 people"),
        ({"max_choices": 1}, "choose exactly 1 person"),
        ({"max_choices": 3}, "choose 1 to 3 people"),
    ],
)
def test_the_rule_names_people(fields: dict[str, Any], words: str | None) -> None:
    assert people(multi_select=True, **fields).describe_count() == words


def test_one_pick_settles_a_single_question() -> None:
    story = Story(people())
    outcome = story.does(Pick(picked=(ADA,))).outcome
    assert outcome is not None
    assert outcome["who"] == Answer(question_id="who", picked=(ADA,))
    assert (outcome["who"].labels, outcome["who"].is_custom) == (("Ada",), False)
    assert list_answer_values(story.now.form, outcome) == {"who": {"id": "U1", "name": "Ada"}}


def test_several_wait_for_submit_and_a_text_is_added_to_them() -> None:
    story = Story(people(multi_select=True, allow_custom=True))
    with pytest.raises(Incomplete, match="choose at least one person, or write an answer"):
        story.does(Submit())
    story.does(Pick(picked=(CY, ADA)))
    story.does(SubmitText(text="and a guest"))
    outcome = story.does(Submit()).outcome
    assert outcome is not None
    assert outcome["who"].labels == ("Ada", "cy", "and a guest"), "by name"
    assert list_answer_values(story.now.form, outcome)["who"] == [
        {"id": "U1", "name": "Ada"},
        {"id": "U3", "name": "cy"},
        {"written": "and a guest"},
    ]


def test_a_text_replaces_one_pick_and_a_pick_replaces_the_text() -> None:
    story = Story(people(allow_custom=True), channels())
    story.does(Pick(picked=(ADA,)))
    story.does(Pick(picked=(GENERAL,)))
    assert story.now.phase == "reviewing"
    story.now = story.now.evolve(phase="asking", current=0)
    story.does(SubmitText(text="nobody yet"))
    assert (story.now.drafts[0].picked, story.now.drafts[0].text) == ((), "nobody yet")
    story.now = story.now.evolve(phase="asking", current=0)
    story.does(Pick(picked=(CY,)))
    assert (story.now.drafts[0].picked, story.now.drafts[0].text) == ((CY,), None)


@pytest.mark.parametrize(
    ("asked", "operation"),
    [
        (people(), Pick(picked=())),
        (people(), Pick(picked=(ADA, CY))),
        (people(), Choose(index=0)),
        (people(multi_select=True), Select(chosen=(0,))),
        (people(), SubmitText(text="Ada")),
        (question("a", "X"), Pick(picked=(ADA,))),
        (question("a", "X", multi_select=True), Pick(picked=(ADA,))),
        (question("a"), Pick(picked=(ADA,))),
    ],
)
def test_what_the_card_does_not_offer_changes_nothing(asked: Question, operation: Operation) -> None:
    story = Story(asked)
    with pytest.raises(NotPossible):
        story.does(operation)


def test_one_answer_holds_at_most_25_people_whoever_picked_them() -> None:
    story = Story(people(multi_select=True))
    everybody = tuple(Picked(id=f"U{number}") for number in range(MAX_PICKED + 1))
    story.does(Pick(picked=everybody[:-1], base=()))
    with pytest.raises(NotPossible, match="at most 25 people"):
        story.does(Pick(picked=everybody[-1:], base=()), by=BEN)
    assert len(story.now.draft.picked) == MAX_PICKED


def test_ticks_that_a_button_brings_count_first() -> None:
    story = Story(people(multi_select=True), channels())
    story.does(Next(), ticks=Pick(picked=(ADA,), base=()))
    assert story.now.drafts[0].picked == (ADA,)
    assert story.now.current == 1


def test_a_condition_may_ask_whether_anybody_was_picked() -> None:
    last = Question.parse({"id": "why", "prompt": "Why?", "show_if": {"question": "who"}})
    assert Story(people(), last).does(Pick(picked=(ADA,))).visible == (0, 1)
    with pytest.raises(InvalidValue, match="has no option"):
        Form(questions=(people(), last.evolve(show_if={"question": "who", "any_of": ("U1",)})))


@pytest.mark.parametrize("name", [*HOSTILE.values(), "x" * 5000, "two\nlines", " \t "])
def test_a_name_is_one_line_of_limited_length(name: str) -> None:
    picked = Picked(id="U1", name=name)
    assert len(picked.name) <= MAX_PICKED_NAME
    assert picked.name == " ".join(picked.name.split())
    assert picked.label
    assert Picked.model_validate_json(picked.model_dump_json()) == picked


@pytest.mark.parametrize("picked", ["", "U" * 65])
def test_an_id_is_never_empty_nor_long(picked: str) -> None:
    with pytest.raises(InvalidValue):
        Picked(id=picked)


def test_a_name_that_comes_later_is_added_to_the_draft_and_to_the_outcome() -> None:
    story = Story(people(multi_select=True))
    story.does(Pick(picked=(Picked(id="U9"), ADA)))
    settled = story.does(Submit())
    assert list_unnamed(settled) == ("U9",)
    named = add_names(settled, {"U9": "Zoë", "U1": "Mallory", "U7": "Nobody"})
    assert named.outcome is not None
    assert named.outcome["who"].labels == ("Ada", "Zoë"), "a known name stays"
    assert (named.step, named.revision) == (settled.step, settled.revision + 1)
    assert list_unnamed(named) == ()
    assert add_names(named, {"U9": "Other"}) == named


def test_a_later_pick_without_a_name_keeps_the_name_that_is_known() -> None:
    story = Story(people(multi_select=True))
    story.does(Pick(picked=(ADA,), base=()))
    story.does(Pick(picked=(Picked(id="U1"), CY), base=("U1",)))
    assert story.now.draft.picked == (ADA, CY)


def test_what_has_no_people_is_stored_as_before_so_that_an_older_process_can_read_it() -> None:
    story = Story(question("a", "X", "Y", multi_select=True))
    story.does(Select(chosen=(0,), base=(), revision=0))
    assert '"pick' not in story.now.model_dump_json()
    assert '"pick' not in story.does(Submit()).model_dump_json()


def test_people_survive_json() -> None:
    story = Story(people(multi_select=True), channels())
    story.does(Pick(picked=(ADA, CY), base=(), revision=0, order=1.0))
    assert Interview.model_validate_json(story.now.model_dump_json()) == story.now
    assert form(people()) == Form.model_validate_json(form(people()).model_dump_json())
