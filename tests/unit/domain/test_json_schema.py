"""Forms from JSON Schemas, and instances from their answers, compared with a validator of JSON Schema."""

from __future__ import annotations

import json
import time
from enum import Enum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from askback.domain.answer_values import list_answer_values
from askback.domain.form import Form
from askback.domain.interview import start_interview
from askback.domain.json_answers import build_instance
from askback.domain.json_schema import read_form
from askback.domain.outcome import Answer, Choice
from askback.domain.reserved_options import NO_ANSWER
from askback.domain.schema_text import FORMAT_EXAMPLES
from askback.domain.schema_writer import write_schema
from unit.domain.form_schemas import answered, answers, schemas, validator


@given(schemas(), st.data())
def test_every_answer_becomes_an_instance_that_the_schema_accepts(schema: dict[str, Any], data: st.DataObject) -> None:
    form = read_form(schema)
    made = [data.draw(answers(question)) for question in form.questions]
    if None in made:
        return
    instance = build_instance(form, answered(*[one for one in made if one is not None]).answers)
    problems = list(validator(schema).iter_errors(instance))
    assert not problems, (instance, problems)


@pytest.mark.parametrize(
    ("given", "least"), [({"minimum": 1}, 5), ({"minimum": -7}, -5), ({"minimum": 10}, 10), ({}, None)]
)
def test_multiples_are_steps_that_people_are_told_of(given: dict[str, object], least: float | None) -> None:
    (question,) = read_form({"properties": {"n": {"type": "integer", "multipleOf": 5, **given}}}).questions
    assert (question.rules.minimum, question.rules.step) == (least, 5)
    assert "In steps of 5" in question.rules.describe()
    assert question.rules.find_problem("12") is not None
    assert question.rules.find_problem("15") is None


TEXTS = {
    "name": {"type": "string", "title": "Name", "description": "Who asks?", "minLength": 2, "maxLength": 40},
    "colour": {"type": "string", "enum": ["red", "green"], "default": "green"},
    "count": {"type": "integer", "minimum": 1, "maximum": 9},
    "sure": {"type": "boolean"},
    "regions": {
        "type": "array", "minItems": 1,
        "items": {"anyOf": [{"const": "eu", "title": "Europe"}, {"const": "us", "title": "United States"}]},
    },
}  # fmt: skip


def test_a_form_shows_titles_limits_and_defaults() -> None:
    form = read_form(
        {"type": "object", "properties": TEXTS, "required": [*TEXTS]}, message="A new service.", details="All."
    )
    name, colour, count, sure, regions = form.questions
    assert (form.title, name.header, name.prompt, name.details) == ("A new service.", "Name", "Who asks?", "All.")
    assert (colour.default, colour.allow_custom, colour.prompt) == (("green",), False, "colour")
    assert (count.placeholder, count.rules.find_problem("12")) == (
        "A whole number",
        "Please write a number of at most 9.",
    )
    assert count.rules.find_problem("two") == "Please write a whole number, such as 42."
    assert [option.label for option in sure.options] == ["Yes", "No"]
    assert [(option.value, option.label) for option in regions.options] == [("eu", "Europe"), ("us", "United States")]


def test_what_is_not_required_can_be_left_out() -> None:
    form = read_form({"type": "object", "properties": TEXTS})
    made = [
        Answer(question_id=q.id, choices=(Choice(index=i, value=option.value, label=option.label),))
        for q in form.questions
        for i, option in enumerate(q.options)
        if option.value == NO_ANSWER
    ]
    assert len(made) == len(TEXTS)
    assert build_instance(form, answered(*made).answers) == {}


class Place(Enum):
    """A place to deploy to."""

    STAGING = "staging"
    PRODUCTION = "production"


class Release(BaseModel):
    """What people decide about a release."""

    source: Place
    target: Place = Place.STAGING
    again: Place | None = None
    count: int | None = Field(default=None, ge=1, description="How many machines?")
    needed: int | None
    channels: list[Place] = []
    speed: Literal["slow", "fast"] | None = None
    kind: Literal["release"]
    accepted: Literal[True]


def test_the_schema_of_an_ordinary_pydantic_model_is_a_form_whose_answers_it_accepts() -> None:
    schema = Release.model_json_schema()
    form = read_form(schema)
    by_id = {question.id: question for question in form.questions}
    assert [*by_id] == [*Release.model_fields]
    # Both have the same type, so only their names tell them apart.
    assert [(by_id[name].header, by_id[name].prompt) for name in ("source", "target")] == [
        ("source", "A place to deploy to."), ("target", "A place to deploy to."),
    ]  # fmt: skip
    assert (by_id["target"].default, by_id["count"].prompt) == (("staging",), "How many machines?")
    assert [option.label for option in by_id["accepted"].options] == ["Yes"]
    chosen = {"source": "production", "needed": "3", "kind": "release", "accepted": "true"}
    answers = [
        Answer(question_id=question.id, text=chosen[question.id])
        if question.allow_custom and question.id in chosen
        else Answer(
            question_id=question.id,
            choices=tuple(
                Choice(index=i, value=option.value, label=option.label)
                for i, option in enumerate(question.options)
                if option.value == chosen.get(question.id, NO_ANSWER)
            ),
        )
        for question in form.questions
    ]
    instance = build_instance(form, answered(*answers).answers)
    assert instance == {"source": "production", "needed": 3, "kind": "release", "accepted": True}
    assert Release.model_validate_json(json.dumps(instance)).source is Place.PRODUCTION


@pytest.mark.parametrize(
    ("given", "told", "good", "bad"),
    [
        (
            {"type": "string", "pattern": r"^v\d+\.\d+$"},
            r"Pattern: ^v\d+\.\d+$", ["v1.20"], ["1.20", "v1.x", "v١.٢", "xv1.2\nv1.2"],
        ),
        ({"type": "string", "pattern": "^(a+)+$"}, "Pattern: ^(a+)+$", ["aa"], ["a" * 900 + "b"]),
        ({"type": "string", "pattern": "^(?:a|b|c){1,3}$" * 5}, "Up to 1,000 characters.", [], ["a"]),
        (
            {"type": "string", "format": "uuid"},
            "Format: uuid, such as 123e4567-e89b-42d3-a456-426614174000",
            ["123e4567-e89b-42d3-a456-426614174000"], ["123"],
        ),
        ({"type": "string", "format": "uuid", "pattern": "-7[0-9a-f]{3}-"}, "Format: uuid", [], ["123"]),
        ({"type": "string", "format": "uuid", "maxLength": 9}, "Format: uuid", [], ["123"]),
        *(
            ({"type": "string", "format": name}, f"Format: {name}, such as {example}", [example], ["16:30"])
            for name, example in FORMAT_EXAMPLES.items() if name not in ("uuid", "hostname")
        ),
        ({"type": "string", "format": "phone"}, "Format: phone", ["+49 30 1234"], []),
        ({"type": "number", "exclusiveMinimum": 0}, "A number greater than 0.", ["0.001"], ["0", "-1"]),
        ({"type": "number", "exclusiveMaximum": 2.5}, "A number less than 2.5.", ["2.4"], ["2.5"]),
        (
            {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            "A number from 0 to 1, without 0.", ["1", "0.5"], ["0", "1.1"],
        ),
        ({"type": "number", "exclusiveMinimum": 1, "minimum": 1}, "A number greater than 1.", ["1.1"], ["1"]),
        ({"type": "number", "minimum": 1, "exclusiveMinimum": True}, "A number greater than 1.", ["1.1"], ["1"]),
        ({"type": "number", "maximum": 1, "exclusiveMaximum": True}, "A number less than 1.", ["0.9"], ["1"]),
        ({"type": "number", "minimum": 1, "exclusiveMinimum": False}, "A number of at least 1.", ["1"], ["0.9"]),
        ({"type": "number", "exclusiveMinimum": True}, "A number, such as 4.2.", ["1"], []),
        ({"type": "number", "minimum": 1, "maximum": 1}, "A number from 1 to 1.", ["1"], ["1.1"]),
        ({"type": "number", "minimum": -(10**400), "maximum": 10**400}, "A number, such as 4.2.", ["1"], []),
        ({"type": "integer", "minimum": 1.2, "maximum": 3.8}, "A whole number from 2 to 3.", ["2", "3"], ["1", "4"]),
        (
            {"type": "integer", "minimum": -(2**53 - 1), "maximum": 2**53 - 1},
            "A whole number, such as 42.", ["0", str(2**53 - 1)], [str(2**53)],
        ),
        ({"type": "integer", "exclusiveMinimum": 0, "maximum": 2**63}, "A whole number of at least 1.", ["1"], ["0"]),
        ({"type": "integer", "format": "uint8"}, "A whole number from 0 to 255.", ["255"], ["256", "-1"]),
        ({"type": "integer", "format": "int32"}, "A whole number, such as 42.", ["2147483647"], ["2147483648"]),
        ({"type": "integer", "format": "uint64", "minimum": 0}, "A whole number of at least 0.", ["7"], ["-7"]),
    ],
)  # fmt: skip
def test_the_rules_of_a_text_or_a_number_are_told_and_kept(
    given: dict[str, Any], told: str, good: list[str], bad: list[str]
) -> None:
    form = read_form({"type": "object", "properties": {"x": given}, "required": ["x"]})
    (question,) = Form.model_validate_json(form.model_dump_json()).questions
    assert question.rules.describe() == told
    assert [text for text in (*good, *bad) if question.rules.find_problem(text) is None] == good


def test_no_pattern_of_a_model_keeps_a_process_busy() -> None:
    """Each of these takes hours with Python's own regular expressions, or gigabytes in other engines."""
    began = time.process_time()
    for pattern in (r"^(\w+\s?)*$", r"(?=.*x)(.*.*.*.*)=x", r"^((?=(a*)).)*$", r"((a*)*)*\2b", r"(a?){500}a{500}"):
        (question,) = read_form({"properties": {"x": {"type": "string", "pattern": pattern}}}).questions
        question.rules.find_problem(f"{'a' * 999}!")
    assert time.process_time() - began < 5


def test_the_message_is_the_title_of_several_properties_and_not_the_name_of_the_first() -> None:
    schema = {"properties": {"name": {"type": "string"}, "email": {"type": "string"}}}
    form = read_form(schema, message="Your details")
    assert (form.title, [question.prompt for question in form.questions]) == ("Your details", ["name", "email"])
    for message in ("Your\ndetails", "x" * 151):
        form = read_form(schema, message=message)
        assert (form.title, [question.prompt for question in form.questions]) == (None, [f"{message}\n\nname", "email"])
    titled = read_form({"title": "Trip", **schema}, message="Your details", titled=True)
    assert (titled.title, titled.questions[0].prompt) == ("Trip", "Your details\n\nname")
    (only,) = read_form({"properties": {"name": {"type": "string"}}}, message="Your name").questions
    assert only.prompt == "Your name"


def test_what_limits_nothing_is_no_reason_to_refuse_a_schema() -> None:
    notes = {
        "example": "x",
        "ui:widget": "textarea",
        "propertyOrdering": ["x"],
        "x-order": 1,
        "contentEncoding": "utf-8",
    }
    schema = {"properties": {"x": {"type": "string", "nullable": True} | notes}, "required": ["x"]} | notes
    (question,) = read_form(schema).questions
    assert [option.label for option in question.options] == ["(no answer)"]
    entries = [{"const": "a", "title": "A", "icon": "a.png"}]
    (question,) = read_form({"properties": {"x": {"oneOf": entries}}, "required": ["x"]}).questions
    assert [option.label for option in question.options] == ["A"]


def test_equal_titles_are_told_apart_by_their_values() -> None:
    entries = [{"const": "a", "title": "Same"}, {"const": "b", "title": "Same"}, {"const": "c", "title": "Other"}]
    (question,) = read_form({"properties": {"x": {"oneOf": entries}}, "required": ["x"]}).questions
    assert [option.label for option in question.options] == ["Same (a)", "Same (b)", "Other"]


@pytest.mark.parametrize(
    "given",
    [
        {"type": ["string", "null"], "enum": ["C", "F", None]},
        {"anyOf": [{"type": "number"}, {"type": "null"}]},
        {"type": ["boolean", "null"]},
        {"type": "array", "items": {"enum": ["a"]}, "minItems": 1} | {"type": ["array", "null"]},
    ],
)
def test_who_does_not_answer_what_must_be_given_answers_with_null(given: dict[str, Any]) -> None:
    """OpenAI's strict schemas require each property, and mark what may be left out with null."""
    schema = {"type": "object", "properties": {"x": given}, "required": ["x"]}
    form = read_form(schema)
    (question,) = form.questions
    (index,) = [i for i, option in enumerate(question.options) if option.label == "(no answer)"]
    option = question.options[index]
    answer = Answer(question_id="x", choices=(Choice(index=index, value=option.value, label=option.label),))
    instance = build_instance(form, answered(answer).answers)
    assert instance == {"x": None}
    assert validator(schema).is_valid(instance)
    assert list_answer_values(form, answered(answer)) in ({"x": None}, {"x": []})


def test_a_default_text_is_one_click_away_and_another_text_can_be_written() -> None:
    (question,) = read_form({"properties": {"n": {"type": "integer", "default": 5}}, "required": ["n"]}).questions
    assert ([option.label for option in question.options], question.allow_custom) == (["5"], True)
    form = Form(questions=(question,))
    chosen = Answer(question_id="n", choices=(Choice(index=0, value="5", label="5"),))
    assert build_instance(form, answered(chosen).answers) == {"n": 5}
    assert build_instance(form, answered(Answer(question_id="n", text="7")).answers) == {"n": 7}
    assert write_schema(form)["properties"] == {"n": {"description": "n", "type": "integer", "default": 5}}


@pytest.mark.parametrize(
    ("given", "least", "most"),
    [
        ({}, 1, 1000),
        ({"maxLength": 4000}, 1, 4000),
        ({"maxLength": 9000}, 1, 4000),
        ({"minLength": 1500}, 1500, 4000),
        ({"minLength": 1500, "maxLength": 2000}, 1500, 2000),
    ],
)
def test_an_answer_has_up_to_1000_characters_and_up_to_4000_if_the_schema_says_so(
    given: dict[str, object], least: int, most: int
) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", **given}}, "required": ["a"]}
    form = read_form(schema)
    rules = form.questions[0].rules
    assert (rules.min_length, rules.max_length) == (least, most)
    assert read_form(write_schema(form)) == form


def test_the_title_and_the_description_of_a_schema_are_shown_if_its_author_writes_for_people() -> None:
    schema = {"title": "Your\ntrip", "description": "For the booking.", "properties": {"where": {"type": "string"}}}
    shown = read_form(schema, message="Where to?", titled=True)
    assert (shown.title, shown.questions[0].prompt) == ("Your trip", "Where to?\nFor the booking.")
    named_by_code = read_form(schema, message="Where to?")
    assert (named_by_code.title, named_by_code.questions[0].prompt) == (None, "Where to?")


def test_several_values_in_one_alternative_share_its_text_and_not_its_title() -> None:
    entries = [
        {"enum": ["a", "b"], "title": "Both", "description": "Safe"},
        {"enum": ["c"], "title": "See", "description": "Fast"},
    ]
    (question,) = read_form({"properties": {"x": {"oneOf": entries}}, "required": ["x"]}).questions
    assert [(option.value, option.label, option.description) for option in question.options] == [
        ("a", "a", "Safe"), ("b", "b", "Safe"), ("c", "See", "Fast"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "given",
    [
        {"type": "integer", "format": "int32", "enum": [0, 1]},
        {"type": "integer", "minimum": 0, "maximum": 1, "enum": [0, 1]},
        {"type": "array", "items": {"type": "string", "enum": ["0", "x" * 1500], "minLength": 1}, "minItems": 1},
        {"type": "string", "enum": ["0", "x" * 1500], "pattern": "^(0|x+)$"},
    ],
)
def test_rules_that_all_listed_values_keep_are_no_reason_to_refuse_them(given: dict[str, Any]) -> None:
    (question,) = read_form({"properties": {"x": given}, "required": ["x"]}).questions
    assert [option.value[:2] for option in question.options] in (["0", "1"], ["0", "xx"])


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"type": "string", "default": ", "}, ", "),
        ({"type": "string", "default": "a\n"}, "a\n"),
        ({"type": "string", "default": " ab ", "maxLength": 2}, "ab"),
        ({"type": "string", "default": " a@example.com ", "format": "email"}, "a@example.com"),
        ({"type": "number", "default": 1.0}, 1),
        ({"type": "number", "default": 1e30}, 1e30),
        ({"type": "integer", "default": -0.0}, 0),
        ({"type": "boolean", "default": False}, False),
    ],
)
def test_a_default_that_people_keep_is_the_value_of_the_schema(given: dict[str, Any], value: object) -> None:
    form = read_form({"properties": {"x": given}, "required": ["x"]})
    answers = start_interview(form).answers
    instance = build_instance(form, answers)
    assert json.dumps(instance) == json.dumps({"x": value})


def test_nothing_next_to_values_is_no_value() -> None:
    items = {"anyOf": [{"type": "array", "items": {"enum": ["a", "b"]}}, {"type": "null"}]}
    form = read_form({"properties": {"x": items}, "required": ["x"]})
    (question,) = form.questions
    made = [Choice(index=i, value=option.value, label=option.label) for i, option in enumerate(question.options)]
    assert build_instance(form, [Answer(question_id="x", choices=tuple(made))]) == {"x": ["a", "b"]}
    assert build_instance(form, [Answer(question_id="x", choices=tuple(made[2:]))]) == {"x": None}


@pytest.mark.parametrize("given", [{"$ref": "#/$defs/A"}, {"allOf": [{"$ref": "#/$defs/A"}], "description": "Which?"}])
def test_a_definition_that_permits_null_offers_no_answer(given: dict[str, Any]) -> None:
    kinds = {"A": {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}}
    (question,) = read_form({"properties": {"x": given}, "required": ["x"], "$defs": kinds}).questions
    assert [option.label for option in question.options] == ["a", "b", "(no answer)"]
