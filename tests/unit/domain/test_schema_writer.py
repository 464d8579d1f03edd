"""The schema of a form accepts what the form accepts, and is read back as the same form."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.domain.form import Form, Question
from askback.domain.json_schema import read_form
from askback.domain.schema_writer import write_schema
from askback.errors import CallerError
from unit.domain.form_schemas import FORMATS, LINES, NUMBERS, WORDS, schemas, validator


@given(schemas(), st.data())
def test_the_schema_of_a_form_from_a_schema_accepts_the_same(schema: dict[str, Any], data: st.DataObject) -> None:
    form = read_form(schema, titled=True)
    again = write_schema(form)
    assert again.get("title") == schema.get("title")
    assert [without_null(one).get("x-unit") for one in schema["properties"].values()] == [
        question.rules.unit for question in form.questions
    ]
    assert list(again["properties"]) == list(schema["properties"])  # pyright: ignore
    assert set(again.get("required", ())) == set(schema["required"])  # pyright: ignore
    values = (
        st.none()
        | st.booleans()
        | NUMBERS
        | WORDS
        | st.sampled_from([text for those in FORMATS.values() for text in those])
    )
    known: list[Any] = []
    for one in schema["properties"].values():
        inside = without_null(one)
        inside = inside.get("items", inside)
        known += inside.get("enum", [entry["const"] for entry in inside.get("oneOf", inside.get("anyOf", []))])
    values |= st.sampled_from(known) if known else st.nothing()
    values |= st.lists(values, max_size=4, unique_by=repr)
    names = sorted(schema["properties"])
    instance = data.draw(st.dictionaries(st.sampled_from(names), values))
    assert validator(schema).is_valid(instance) == validator(again).is_valid(instance) or has_repeats(instance)
    assert write_schema(read_form(again, titled=True)) == again


@st.composite
def numbers(draw: st.DrawFn, name: str) -> Question:
    """Return a question about a number, with a text that helps."""
    step = draw(st.none() | st.sampled_from([1.0, 3.0, 0.5, 0.1]))
    least = draw(st.none() | st.integers(-20, 20))
    rules = {
        "kind": draw(st.sampled_from(["integer", "number"])),
        "minimum": None if least is None else float(least * Fraction(repr(step or 1))),
        "maximum": draw(st.none() | st.integers(100, 200)),
        "step": step,
        "unit": draw(st.none() | LINES),
    }
    header, text = draw(st.none() | WORDS), draw(st.none() | WORDS)
    return Question.parse({"id": name, "header": header, "prompt": draw(WORDS), "help_text": text, "rules": rules})


@given(st.data())
def test_a_form_is_read_back_from_its_schema_with_all_that_people_see(data: st.DataObject) -> None:
    names = data.draw(st.lists(WORDS, min_size=1, max_size=4, unique=True))
    questions = tuple(data.draw(numbers(name)) for name in names)
    form = Form(questions=questions, title=data.draw(st.none() | LINES))
    again = read_form(write_schema(form), titled=True)
    assert again.title == form.title
    for one, read in zip(questions, again.questions, strict=True):
        assert (read.id, read.header, read.whole_prompt, read.rules) == (
            one.id, one.header, one.whole_prompt, one.rules
        )  # fmt: skip


def test_steps_that_are_no_multiples_have_no_schema() -> None:
    rules: Any = {"kind": "integer", "minimum": 1, "step": 5}
    with pytest.raises(CallerError, match="steps of 5 from 1, which a schema cannot say"):
        write_schema(Form(questions=(Question.parse({"id": "a", "prompt": "?", "rules": rules}),)))


def without_null(schema: dict[str, Any]) -> dict[str, Any]:
    return schema["anyOf"][0] if {"type": "null"} in schema.get("anyOf", ()) else schema


def has_repeats(instance: dict[str, Any]) -> bool:
    """Return True for a list with equal values, such as 1 and 1.0: people cannot choose an option twice."""
    return any(
        isinstance(one, list) and len({str(v) for v in one}) != len({hash(v) for v in one}) for one in instance.values()
    )


def test_a_question_that_depends_on_another_has_no_flat_schema() -> None:
    first = Question(id="a", prompt="?")
    form = Form(questions=(first, Question.parse({"id": "b", "prompt": "?", "show_if": {"question": "a"}})))
    with pytest.raises(CallerError, match="asked only after certain answers"):
        write_schema(form)


def test_people_and_channels_have_no_schema() -> None:
    with pytest.raises(CallerError, match="asks for people of the chat, which a schema cannot say"):
        write_schema(Form(questions=(Question(id="a", prompt="?", picks="people"),)))
