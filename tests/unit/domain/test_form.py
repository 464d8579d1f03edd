"""Forms, answers and outcomes: an invalid one cannot be built, and the error lists all problems at once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from askback.domain.actions import Action, Choose, OpenTextField, Select
from askback.domain.ask_policy import Policy
from askback.domain.form import Condition, Form, Option, Question, TextRules
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.open_ask_limits import Limits
from askback.domain.outcome import Answer, Choice, Outcome
from askback.domain.who import Who
from askback.errors import AskbackError, CallerError, InvalidValue
from askback.internal.values import Value
from askback.text.unseen import has_visible_text, normalize_look
from support.cases import ANN, NOON, form, question
from unit.domain.plain_values import PLAIN

ONE_OPTION = [{"value": "v", "label": "L"}]


@pytest.mark.parametrize("kind", PLAIN, ids=lambda kind: kind.__name__)
def test_the_plain_example_of_each_value_can_be_built(kind: type[Value]):
    assert isinstance(kind.parse(PLAIN[kind]), kind)


WRONG: list[tuple[type[Value], dict[str, Any], str, str]] = [
    (Option, {"label": ""}, "label", "is empty: write the label"),
    (Option, {"label": " \n\t\u2003"}, "label", "is empty"),
    (Option, {"label": "x" * 2001}, "label", "has 2,001 characters: shorten the label that people read to 2,000"),
    (Option, {"label": 5}, "label", "valid string"),
    (Option, {"label": None}, "label", "valid string"),
    (Option, {"label": "a\ud800"}, "label", "an unpaired surrogate"),
    (Option, {"value": ""}, "value", "is empty: write a value"),
    (Option, {"value": "x" * 2001}, "value", "shorten"),
    (Option, {"description": " "}, "description", "is empty"),
    (Option, {"description": "x" * 4001}, "description", "shorten"),
    (Option, {"preview": ""}, "preview", "is empty"),
    (Option, {"preview": "x" * 10_001}, "preview", "shorten"),
    (Option, {"image": "http://a.example/i.png"}, "image", "give a full https:// URL"),
    (Option, {"image": "https://a.example/i .png"}, "image", "https"),
    (Option, {"image": "https://a.example/i.png>"}, "image", "https"),
    (Option, {"image": "https://a.example/i.png\n"}, "image", "https"),
    (Option, {"image": "https://"}, "image", "https"),
    (Option, {"image": "https://a/" + "x" * 3000}, "image", "at most 3,000"),
    (Option, {"colour": "red"}, "colour", "is an unknown field: leave it out"),
    (TextRules, {"min_length": 0}, "min_length", "at least 1"),
    (TextRules, {"max_length": 4001}, "max_length", "at most 4000"),
    (Question, {"allow_note": True}, "allow_note", "needs options of which one can be chosen"),
    (Question, {"allow_note": True, "picks": "people"}, "allow_note", "needs options of which one can be chosen"),
    (
        Question,
        {"allow_note": True, "options": ONE_OPTION, "multi_select": True},
        "allow_note",
        "needs options of which one can be chosen",
    ),
    (
        Question,
        {"allow_note": True, "options": [{"value": str(i), "label": "L"} for i in range(26)]},
        "allow_note",
        "goes with at most 25 options",
    ),
    (Answer, {"text": "x", "note": "y"}, "", "has a note without a choice"),
    (Answer, {"choices": [{"index": 0, "value": "v", "label": "V"}], "note": " "}, "note", "is blank: write a note"),
    (TextRules, {"max_length": 0}, "max_length", "at least 1"),
    (TextRules, {"min_length": 9, "max_length": 3}, "max_length", "is smaller than min_length (9): swap the two"),
    (TextRules, {"pattern": "("}, "pattern", "is not a regular expression"),
    (TextRules, {"pattern": "a{99999999999999999999}"}, "pattern", "is not a regular expression"),
    (TextRules, {"pattern": ""}, "pattern", "is too short: give at least 1"),
    (Question, {"id": ""}, "id", "is empty: write an id"),
    (Question, {"id": "x" * 201}, "id", "shorten"),
    (Question, {"prompt": "\u200a"}, "prompt", "is empty: write the question"),
    (Question, {"prompt": "x" * 10_001}, "prompt", "shorten"),
    (Question, {"header": ""}, "header", "is empty"),
    (Question, {"header": "x" * 201}, "header", "shorten"),
    (Question, {"placeholder": ""}, "placeholder", "is empty"),
    (Question, {"placeholder": "x" * 151}, "placeholder", "shorten"),
    (Question, {"options": [{"value": str(i), "label": "L"} for i in range(1001)]}, "options", "give at most 1,000"),
    (Question, {"options": ONE_OPTION * 2}, "options", "the value 'v' is used more than once: each must be different"),
    (
        Question,
        {"allow_custom": False},
        "allow_custom",
        "is False, but the question has no options: add options, or leave it True",
    ),
    (
        Question,
        {"options": ONE_OPTION, "default": ["w"]},
        "default",
        "'w' is not the value of an option: use one of them",
    ),
    (Question, {"default": ["w"]}, "default", "is not the value of an option"),
    (
        Question,
        {"options": [*ONE_OPTION, {"value": "w", "label": "L"}], "default": ["v", "w"]},
        "default",
        "has several values: give one, or set multi_select",
    ),
    (Form, {"questions": []}, "questions", "has 0 questions: give 1 to 20"),
    (
        Form,
        {"questions": [{"id": str(i), "prompt": "?"} for i in range(21)]},
        "questions",
        "has 21 questions: give 1 to 20",
    ),
    (Form, {"questions": None}, "questions", "valid tuple"),
    (
        Form,
        {"questions": [{"id": "a", "prompt": "?"}] * 2},
        "questions",
        "the id 'a' is used more than once: each must be different",
    ),
    (
        Form,
        {"questions": [{"id": "a", "prompt": "?", "show_if": {"question": "a"}}]},
        "questions[0].show_if.question",
        "'a' is not an earlier question: put it before this one",
    ),
    (
        Form,
        {"questions": [{"id": "a", "prompt": "?", "show_if": {"question": "b"}}, {"id": "b", "prompt": "?"}]},
        "questions[0].show_if.question",
        "'b' is not an earlier question",
    ),
    (
        Form,
        {
            "questions": [
                {"id": "a", "prompt": "?", "options": ONE_OPTION},
                {"id": "b", "prompt": "?", "show_if": {"question": "a", "any_of": ["v", "w"]}},
            ]
        },
        "questions[1].show_if.any_of",
        "'a' has no option 'w': use its values",
    ),
    (Choice, {"index": -1}, "index", "at least 0"),
    (Answer, {"text": " \n"}, "text", "is blank: write an answer"),
    (Answer, {"text": None}, "", "is empty: give choices or a text"),
    (Outcome, {"status": "done"}, "status", "'answered'"),
    (Outcome, {"status": "answered"}, "answers", "must be given if the status is 'answered'"),
    (Outcome, {"answers": [{"question_id": "a", "text": "x"}]}, "answers", "must be given if the status is 'answered'"),
    (Outcome, {"status": "timed_out", "answers": [{"question_id": "a", "text": "x"}]}, "answers", "and only then"),
    (
        Outcome,
        {"status": "answered", "answers": [{"question_id": "a", "text": "x"}, {"question_id": "a", "text": "y"}]},
        "answers",
        "the question 'a' is used more than once",
    ),
    (Outcome, {"at": datetime(2026, 11, 20)}, "at", "timezone"),  # noqa: DTZ001
    (Actor, {"id": ""}, "id", "is too short: give at least 1"),
    (Actor, {"platform": ""}, "platform", "is too short: give at least 1"),
    (Actor, {"groups": ["G", ""]}, "groups[1]", "is too short: give at least 1"),
    (Place, {"channel": ""}, "channel", "is too short: give at least 1"),
    (MessageRef, {"id": ""}, "id", "is too short: give at least 1"),
    (Who, {"anyone": False}, "", "is empty: give people or groups, or set anyone=True"),
    (Who, {"anyone": False, "groups": [""]}, "groups[0]", "is too short: give at least 1"),
    (Policy, {"deadline": datetime(2026, 11, 20)}, "deadline", "timezone"),  # noqa: DTZ001
    (Policy, {"who": None}, "who", "object"),
    (Limits, {"pending_per_place": 0}, "pending_per_place", "at least 1"),
    (Limits, {"timeout": 0}, "timeout", "greater than 0"),
    (Limits, {"timeout": float("inf")}, "timeout", "finite"),
    (Limits, {"seconds_between_asks": -1}, "seconds_between_asks", "at least 0"),
    (Select, {"order": float("nan")}, "order", "finite"),
    (Action, {"operation": {"kind": "explode"}}, "operation", "'explode'"),
    (Action, {"at": datetime(2026, 11, 20)}, "at", "timezone"),  # noqa: DTZ001
]


@pytest.mark.parametrize(
    ("kind", "wrong", "field", "advice"),
    WRONG,
    ids=[f"{kind.__name__}-{'-'.join(wrong)}-{number}" for number, (kind, wrong, _, _) in enumerate(WRONG)],
)
def test_what_is_wrong_is_refused_by_the_name_of_its_field_and_with_advice(
    kind: type[Value], wrong: dict[str, Any], field: str, advice: str
):
    with pytest.raises(InvalidValue) as refused:
        kind.parse(PLAIN[kind] | wrong)
    assert [problem.field for problem in refused.value.problems] == [field]
    assert advice in refused.value.problems[0].message
    assert str(refused.value).startswith(f"{kind.__name__} is invalid: ")
    assert isinstance(refused.value, CallerError)
    assert isinstance(refused.value, AskbackError)


@pytest.mark.parametrize(
    "kind", [kind for kind in PLAIN if kind not in {Who, Limits, TextRules}], ids=lambda kind: kind.__name__
)
def test_a_missing_field_is_named(kind: type[Value]):
    with pytest.raises(InvalidValue) as refused:
        kind.parse({})
    needed = {name for name, field in kind.model_fields.items() if field.is_required()}
    assert {problem.field for problem in refused.value.problems} == needed
    assert all(problem.message == "is missing: give it" for problem in refused.value.problems)


def test_one_error_names_every_wrong_field_at_every_depth():
    with pytest.raises(InvalidValue) as refused:
        Form.parse(
            {
                "heading": "unknown",
                "questions": [
                    {
                        "id": "a",
                        "prompt": "",
                        "options": [
                            {"value": "v", "label": " "},
                            {"value": "w", "label": "fine", "image": "ftp://x"},
                            {"label": "no value"},
                        ],
                        "rules": {"min_length": 7, "max_length": 2, "pattern": "["},
                    },
                    {"id": "a", "prompt": "twice?", "options": ONE_OPTION, "default": ["x"]},
                    {"id": "b", "prompt": "after?", "allow_custom": False, "show_if": {"question": "later"}},
                    {"id": "c", "prompt": "after?", "show_if": {"question": "a", "any_of": "v"}},
                ],
            }
        )
    named = {problem.field for problem in refused.value.problems}
    assert named == {
        "heading",
        "questions",
        "questions[0].prompt",
        "questions[0].options[0].label",
        "questions[0].options[1].image",
        "questions[0].options[2].value",
        "questions[0].rules.max_length",
        "questions[0].rules.pattern",
        "questions[1].default",
        "questions[2].allow_custom",
        "questions[2].show_if.question",
        "questions[3].show_if.any_of",
    }
    assert all(field in str(refused.value) for field in named)
    assert "the id 'a' is used more than once" in str(refused.value)


def test_a_value_built_in_code_is_refused_like_one_built_from_data():
    with pytest.raises(InvalidValue) as refused:
        Question(id="", prompt="", options=(), allow_custom=False)
    assert {problem.field for problem in refused.value.problems} == {"id", "prompt", "allow_custom"}
    with pytest.raises(InvalidValue, match="the id 'a' is used more than once"):
        Form(questions=(question("a"), question("a")))


def test_a_value_cannot_be_changed_afterwards_and_evolve_checks_anew():
    asked = question("a", "Yes", "No")
    with pytest.raises(ValueError, match="frozen"):
        asked.prompt = "Another?"
    assert asked.evolve(prompt="Another?").prompt == "Another?"
    assert asked.prompt == "What about a?"
    with pytest.raises(InvalidValue, match="prompt: is empty"):
        asked.evolve(prompt=" ")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
readable = texts.filter(has_visible_text)


def _look(label: str) -> str:
    return " ".join(normalize_look(label).split())


@st.composite
def forms(draw: st.DrawFn) -> Form:
    questions: list[Question] = []
    for name in draw(st.lists(readable, min_size=1, max_size=4, unique=True)):
        values = draw(st.lists(readable, max_size=4, unique=True))
        labels = draw(st.lists(readable, min_size=len(values), max_size=len(values), unique_by=_look))
        multi = draw(st.booleans())
        questions.append(
            Question(
                id=name,
                prompt=draw(readable),
                header=draw(st.none() | readable),
                options=tuple(
                    Option(value=v, label=label, description=draw(st.none() | readable))
                    for v, label in zip(values, labels, strict=True)
                ),
                multi_select=multi,
                allow_custom=not values or draw(st.booleans()),
                default=tuple(values[: 2 if multi else 1]) if draw(st.booleans()) else (),
                show_if=Condition(question=questions[0].id) if questions and draw(st.booleans()) else None,
            )
        )
    return Form(questions=tuple(questions))


@settings(deadline=None, max_examples=60)
@given(forms())
def test_every_form_survives_a_round_trip_through_json(asked: Form):
    assert Form.model_validate_json(asked.model_dump_json()) == asked
    assert Form.parse(asked.model_dump(mode="json")) == asked
    assert TypeAdapter(Form).validate_python(asked) is asked


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
question_like = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(Question.model_fields, json_values | readable)
    | {"options": st.lists(st.fixed_dictionaries({"value": json_values | texts, "label": json_values | texts}))},
)


@settings(deadline=None, max_examples=100)
@given(st.fixed_dictionaries({"questions": st.lists(question_like, max_size=4) | json_values}))
def test_whatever_is_given_a_form_is_built_or_refused_in_words(data: dict[str, Any]):
    try:
        asked = Form.parse(data)
    except InvalidValue as error:
        problems = error.problems
    else:
        problems = None
        assert Form.model_validate_json(asked.model_dump_json()) == asked
    assert problems is None or (problems and all(problem.message and problem.field for problem in problems))


def test_a_recommended_option_is_told_by_its_label():
    assert Option(value="a", label="Postgres (Recommended)").recommended
    assert Option(value="a", label="(recommended) Postgres").recommended
    assert not Option(value="a", label="Recommended reading").recommended


def test_a_question_without_a_header_is_named_by_its_place():
    asked = form(question("a"), question("b", header="Database"), question("c"))
    assert [asked.get_header(index) for index in range(3)] == ["Q1", "Database", "Q3"]
    assert (asked.find_index("c"), asked.find_index("nobody")) == (2, None)
    assert not asked.is_single
    assert form(question("a")).is_single


def test_an_outcome_gives_the_answer_by_the_question_and_says_when_there_is_none():
    outcome = Outcome(status="answered", at=NOON, answers=(Answer(question_id="a", text="yes"),))
    assert outcome["a"].text == "yes"
    assert outcome["a"].is_custom
    assert outcome.get("b") is None
    with pytest.raises(KeyError, match="b"):
        outcome["b"]


def test_choices_and_a_text_beside_them_are_read_in_that_order_and_are_not_custom():
    choices = (Choice(index=0, value="a", label="A"), Choice(index=2, value="c", label="C"))
    answer = Answer(question_id="q", choices=choices, text="and this")
    assert answer.labels == ("A", "C", "and this")
    assert not answer.is_custom


def test_operations_are_told_apart_by_their_kind_in_json():
    for operation in (Choose(index=1), OpenTextField(), Select(chosen=(2, 1), base=(), revision=4, order=1.5)):
        action = Action(ask_id="x", actor=ANN, at=NOON, step=0, operation=operation)
        assert Action.model_validate_json(action.model_dump_json()).operation == operation


def test_equal_places_have_equal_keys_and_others_have_not():
    place = Place(platform="local", tenant="T", channel="C", thread="1.5")
    assert place.key == "local:T:C:1.5"
    assert Place(platform="local", tenant="T", channel="C", thread="1.5").key == place.key
    others = [place.evolve(**{name: "T:C"}) for name in ("platform", "tenant", "channel", "thread")]
    assert len({place.key, *(other.key for other in others)}) == 5
    assert Place(platform="a", channel="b:c").key != Place(platform="a", channel="b", thread="c:").key
