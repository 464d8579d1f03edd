"""Forms from JSON Schemas, and instances from their answers, compared with a validator of JSON Schema."""

from __future__ import annotations

import string
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.domain.form import Form, Question
from askback.domain.form_limits import MAX_QUESTIONS
from askback.domain.json_answers import build_instance
from askback.domain.json_schema import UnsupportedSchema, read_form, write_schema
from askback.domain.outcome import Answer, Choice, Outcome
from askback.domain.reserved_options import NO_ANSWER
from askback.errors import CallerError
from askback.internal.clock import utc_now

NOW = utc_now()
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("C",)), min_size=1, max_size=12).filter(str.strip)
NUMBERS = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6, allow_nan=False)
FORMATS = {
    "email": ["ada@example.com", "a.b+c@x-1.example.org", "ada@@example.com", "ada", "a@b..c"],
    "uri": ["https://example.com", "https://example.com:8080/a%20b?x=1#y", "mailto:ada@example.com", "/a", "x y"],
    "date": ["2026-11-24", "2024-02-29", "2026-02-30", "24.11.2026", "2026-1-1"],
    "date-time": ["2026-11-24T16:30:00Z", "2026-11-24T16:30:00.25+01:00", "2026-11-24", "2026-11-24T25:00:00Z"],
}


def titled(values: list[Any], titles: list[str]) -> list[dict[str, Any]]:
    return [{"const": value, "title": title} for value, title in zip(values, titles, strict=True)]


@st.composite
def choices(draw: st.DrawFn, alternatives: str) -> tuple[dict[str, Any], list[Any]]:
    values = draw(
        st.lists(WORDS, min_size=1, max_size=5, unique=True)
        | st.lists(st.integers(-50, 50), min_size=1, max_size=5, unique=True)
    )
    kind = "string" if isinstance(values[0], str) else "integer"
    if draw(st.booleans()):
        return {"type": kind, "enum": values}, values
    titles = draw(st.lists(WORDS, min_size=len(values), max_size=len(values)))
    return {"type": kind, alternatives: titled(values, titles)}, values


@st.composite
def properties(draw: st.DrawFn, required: bool) -> dict[str, Any]:
    notes: dict[str, Any] = {}
    if draw(st.booleans()):
        notes["title"] = draw(WORDS)
    if draw(st.booleans()):
        notes["description"] = draw(WORDS)
    kind = draw(st.sampled_from(["text", "format", "integer", "number", "boolean", "one", "several"]))
    match kind:
        case "text":
            least, most = sorted((draw(st.integers(1, 12)), draw(st.integers(1, 12))))
            found: dict[str, Any] = {"type": "string", "minLength": least, "maxLength": most}
        case "format":
            found = {"type": "string", "format": draw(st.sampled_from(sorted(FORMATS)))}
        case "integer" | "number":
            low, high = sorted((draw(st.integers(-100, 100)), draw(st.integers(-100, 100))))
            found = {"type": kind, "minimum": low, "maximum": high}
        case "boolean":
            found = {"type": "boolean"}
        case "one":
            found, values = draw(choices("oneOf"))
            if draw(st.booleans()):
                found["default"] = draw(st.sampled_from(values))
        case _:
            items, values = draw(choices("anyOf"))
            least = draw(st.integers(0, len(values) if required else 1))
            found = {"type": "array", "items": items, "minItems": least, "uniqueItems": True}
            if draw(st.booleans()):
                found["maxItems"] = draw(st.integers(max(least, 1), len(values) + 1))
    return notes | found


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(WORDS, min_size=1, max_size=5, unique=True))
    required = [name for name in names if draw(st.booleans())]
    found = {name: draw(properties(name in required)) for name in names}
    return {"type": "object", "properties": found, "required": required}


def texts_for(question: Question) -> st.SearchStrategy[str]:
    kind = question.rules.kind
    if kind in ("integer", "number"):
        return NUMBERS.map(str) | st.text(string.digits + "+-.eE", max_size=8)
    return st.sampled_from(FORMATS[kind]) if kind in FORMATS else st.text(max_size=14)


@st.composite
def answers(draw: st.DrawFn, question: Question) -> Answer | None:
    """Return an answer that the card would accept. None if none of the first texts is one."""
    if question.allow_custom and draw(st.booleans()):
        text = draw(texts_for(question)).strip()
        return None if question.rules.find_problem(text) else Answer(question_id=question.id, text=text)
    if not question.options:
        return None
    indexes = st.integers(0, len(question.options) - 1)
    chosen = draw(st.lists(indexes, min_size=1, unique=True) if question.multi_select else st.tuples(indexes))
    if question.find_count_problem(len(chosen)):
        return None
    made = [Choice(index=i, value=question.options[i].value, label=question.options[i].label) for i in sorted(chosen)]
    return Answer(question_id=question.id, choices=tuple(made))


def answered(*given: Answer) -> Outcome:
    return Outcome(status="answered", at=NOW, answers=given)


def validator(schema: dict[str, Any]) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(schema, validate_formats=True)


@given(schemas(), st.data())
def test_every_answer_becomes_an_instance_that_the_schema_accepts(schema: dict[str, Any], data: st.DataObject) -> None:
    form = read_form(schema)
    made = [data.draw(answers(question)) for question in form.questions]
    if None in made:
        return
    instance = build_instance(form, answered(*[one for one in made if one is not None]).answers)
    problems = list(validator(schema).iter_errors(instance))
    assert not problems, (instance, problems)


@given(schemas(), st.data())
def test_the_schema_of_a_form_from_a_schema_accepts_the_same(schema: dict[str, Any], data: st.DataObject) -> None:
    again = write_schema(read_form(schema))
    assert list(again["properties"]) == list(schema["properties"])  # pyright: ignore
    assert set(again.get("required", ())) == set(schema["required"])  # pyright: ignore
    values = st.booleans() | NUMBERS | WORDS | st.sampled_from([text for those in FORMATS.values() for text in those])
    known: list[Any] = []
    for one in schema["properties"].values():
        inside = one.get("items", one)
        known += inside.get("enum", [entry["const"] for entry in inside.get("oneOf", inside.get("anyOf", []))])
    values |= st.sampled_from(known) if known else st.nothing()
    values |= st.lists(values, max_size=4, unique_by=repr)
    names = sorted(schema["properties"])
    instance = data.draw(st.dictionaries(st.sampled_from(names), values))
    assert validator(schema).is_valid(instance) == validator(again).is_valid(instance) or has_repeats(instance)
    assert write_schema(read_form(again)) == again


def has_repeats(instance: dict[str, Any]) -> bool:
    """Return True for a list with equal values, such as 1 and 1.0: people cannot choose an option twice."""
    return any(
        isinstance(one, list) and len({str(v) for v in one}) != len({hash(v) for v in one}) for one in instance.values()
    )


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
    assert (name.header, name.prompt, name.details) == ("Name", "A new service.\n\nWho asks?", "All.")
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


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"type": "object", "properties": {}}, "is an object, and a form is flat"),
        ({"type": "string", "pattern": "(a+)+$"}, "askback does not run patterns from outside"),
        ({"$ref": "#/$defs/x"}, "has no type: give string"),
        ({"type": "string", "$ref": "#/$defs/x"}, "follows no references: write the schema out here"),
        ({"type": ["string", "null"]}, "has several types, and an answer has one"),
        ({"type": "null"}, "has the type “null”: give string"),
        ({"type": "array", "items": {"type": "string"}}, "is an array without a fixed list of values"),
        ({"type": "array", "items": {"enum": ["a"]}, "maxItems": 0}, "permits no item"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2}, "cannot say “several or nothing”"),
        ({"type": "string", "format": "password"}, "has the format “password”, which askback does not check"),
        ({"type": "string", "minLength": 5000}, "people write 1 to 4,000 characters"),
        ({"type": "string", "minLength": 9, "maxLength": 3}, "max_length: is smaller than min_length (9)"),
        ({"type": "number", "exclusiveMinimum": 0}, "the keyword “exclusiveMinimum”"),
        ({"type": "number", "minimum": "0"}, "`minimum` that is not a number"),
        ({"type": "integer", "multipleOf": 5}, "people are not told of it"),
        ({"enum": []}, "permits no value at all"),
        ({"enum": ["a", 1]}, "not all texts or all numbers"),
        ({"enum": ["a", "a"]}, "is used more than once"),
        ({"enum": [" "]}, "which is not a text that is not empty"),
        ({"enum": [NO_ANSWER]}, "which askback uses itself"),
        ({"enum": ["a"], "default": "b"}, "a default that is none of its values"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "people choose only between fixed ones"),
        ({"type": "string", "enum": ["a"], "not": {}}, "the keyword “not”, but a form cannot keep to it"),
        ({"type": "integer", "default": 1.5}, "a default that breaks its own rules"),
        ({"type": "string", "title": 1}, "a `title` that is not a text"),
        ("string", "is not a schema"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_what_to_do(given: object, words: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        read_form({"type": "object", "properties": {"x": given}})
    assert words in str(caught.value)
    assert str(caught.value).startswith("The property “x” ")


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("nothing", "is not an object with properties"),
        ({"type": "object"}, "is not an object with properties"),
        ({"type": "object", "properties": {}}, "has 0 properties"),
        ({"properties": {str(i): {"type": "string"} for i in range(MAX_QUESTIONS + 1)}}, "ask for fewer at a time"),
        (
            {"properties": {"a": {"type": "string"}}, "required": ["b"]},
            "but no property has that name",
        ),
        ({"properties": {"a": {"type": "string"}}, "allOf": []}, "has the keyword “allOf”"),
    ],
)
def test_a_schema_that_is_no_form_is_refused(schema: object, words: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        read_form(schema)
    assert words in str(caught.value)


def test_every_wrong_property_is_named_at_once() -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        read_form({"properties": {"a": {"type": "x"}, "b": {"type": "string"}, "c": 1}})
    assert [line.split("”")[0] for line in str(caught.value).splitlines()] == ["The property “a", "The property “c"]


def test_a_default_text_is_one_click_away_and_another_text_can_be_written() -> None:
    (question,) = read_form({"properties": {"n": {"type": "integer", "default": 5}}, "required": ["n"]}).questions
    assert ([option.label for option in question.options], question.allow_custom) == (["5"], True)
    form = Form(questions=(question,))
    chosen = Answer(question_id="n", choices=(Choice(index=0, value="5", label="5"),))
    assert build_instance(form, answered(chosen).answers) == {"n": 5}
    assert build_instance(form, answered(Answer(question_id="n", text="7")).answers) == {"n": 7}
    assert write_schema(form)["properties"] == {"n": {"description": "n", "type": "integer", "default": 5}}


def test_a_question_that_depends_on_another_has_no_flat_schema() -> None:
    first = Question(id="a", prompt="?")
    form = Form(questions=(first, Question.parse({"id": "b", "prompt": "?", "show_if": {"question": "a"}})))
    with pytest.raises(CallerError, match="asked only after certain answers"):
        write_schema(form)


def test_people_and_channels_have_no_schema() -> None:
    with pytest.raises(CallerError, match="asks for people of the chat, which a schema cannot say"):
        write_schema(Form(questions=(Question(id="a", prompt="?", picks="people"),)))


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
