"""A list is written with one item per line, and a sentence names the line that is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from askback.domain.answer_values import list_answer_values
from askback.domain.form import Form, Question
from askback.domain.interview import start_interview
from askback.domain.json_answers import build_instance
from askback.domain.json_schema import read_form
from askback.domain.line_rules import LineRules
from askback.domain.list_text import write_list
from askback.domain.outcome import Answer
from askback.domain.reserved_options import NO_ANSWER, NONE_OF_THESE
from askback.domain.schema_writer import write_schema
from askback.domain.text_rules import TextRules
from askback.errors import InvalidValue
from askback.translations.catalogue import LANGUAGES, use_language
from unit.domain.form_schemas import answered

TEXT: dict[str, Any] = {"type": "string"}


def ask(items: dict[str, Any], *, required: bool = True, **limits: Any) -> Question:
    """Return the question for a list in a form."""
    found = {"type": "array", "items": items, **limits}
    (question,) = read_form({"properties": {"x": found}, "required": ["x"] if required else []}).questions
    return question


def write(question: Question, text: str) -> Any:
    """Return the value that a program gets for a written answer."""
    assert question.rules.find_problem(text) is None
    answer = Answer(question_id="x", text=question.rules.normalize(text))
    form = Form(questions=(question,))
    value = build_instance(form, (answer,))["x"]
    assert value == question.rules.to_json_value(text)
    return value


@pytest.mark.parametrize(
    ("items", "text", "value"),
    [
        (TEXT, "ada@example.com\nben@example.com", ["ada@example.com", "ben@example.com"]),
        (TEXT, "\n  a \r\n\r\n\tb, c\n\n", ["a", "b, c"]),
        (TEXT, "1", ["1"]),
        (TEXT, "b\na\nb", ["b", "a", "b"]),
        ({"type": "integer"}, "1\n+2\n-3", [1, 2, -3]),
        ({"type": "number"}, "1,5\n2.0\n1e3", [1.5, 2.0, 1000.0]),
    ],
)
def test_each_line_is_an_item_and_empty_lines_are_none(items: dict[str, Any], text: str, value: list[object]) -> None:
    assert write(ask(items), text) == value


@pytest.mark.parametrize(
    ("items", "limits", "text", "problem"),
    [
        (TEXT, {}, " \n\n", "Please write an answer: it is empty."),
        (
            {"type": "integer"}, {}, "1\n\ntwo",
            "Line 3, “two”: Please write a whole number, such as 42.",
        ),
        (
            {"type": "integer", "maximum": 9}, {}, "1\n12",
            "Line 2, “12”: Please write a number of at most 9.",
        ),
        (
            {"type": "string", "format": "email"}, {}, "ada@example.com\nben",
            "Line 2, “ben”: Please write an email address, such as ada@example.com.",
        ),
        (
            {"type": "string", "maxLength": 3}, {}, "abcd",
            "Line 1, “abcd”: Please shorten it to 3 characters; it has 4.",
        ),
        (
            {"type": "string", "minLength": 3}, {}, "abc\nab",
            "Line 2, “ab”: Please write at least 3 characters; it has 2.",
        ),
        (
            {"type": "string", "pattern": "^[a-z]+$"}, {}, "a\nB",
            "Line 2, “B”: This does not have the requested format. Pattern: ^[a-z]+$",
        ),
        (TEXT, {"minItems": 2}, "a\n\n", "Please write at least 2 items, one per line; you wrote 1."),
        (TEXT, {"maxItems": 1}, "a\nb", "Please write at most 1 item, one per line; you wrote 2."),
        (TEXT, {"uniqueItems": True}, "a\n\nb\na", "Line 4 repeats line 1. Please write each item only once."),
        (
            {"type": "number"}, {"uniqueItems": True}, "1\n1.0",
            "Line 2 repeats line 1. Please write each item only once.",
        ),
        (TEXT, {}, "\n".join("x" * 1_000 for _ in range(3)), "Please shorten it to 3,000 characters; it has 3,002."),
    ],
)  # fmt: skip
def test_a_problem_names_the_line(items: dict[str, Any], limits: dict[str, Any], text: str, problem: str) -> None:
    assert ask(items, **limits).rules.find_problem(text) == problem


@pytest.mark.parametrize(
    ("items", "limits", "words"),
    [
        (TEXT, {}, "One item per line."),
        ({**TEXT, "maxLength": 3_000}, {}, "One item per line."),
        ({**TEXT, "maxLength": 9}, {}, "One item per line. Each item: Up to 9 characters."),
        (TEXT, {"minItems": 1}, "One item per line."),
        (TEXT, {"minItems": 2}, "One item per line. At least 2 items."),
        (TEXT, {"maxItems": 1}, "One item per line. At most 1 item."),
        (TEXT, {"maxItems": 10**9}, "One item per line."),
        (TEXT, {"minItems": 1, "maxItems": 3}, "One item per line. At most 3 items."),
        (TEXT, {"minItems": 2, "maxItems": 2}, "One item per line. Exactly 2 items."),
        (TEXT, {"minItems": 2, "maxItems": 5}, "One item per line. From 2 to 5 items."),
        (
            {"type": "integer", "minimum": 1, "maximum": 9},
            {"uniqueItems": True},
            "One item per line. No item twice. Each item: A whole number from 1 to 9.",
        ),
        (
            {"type": "string", "format": "email"},
            {},
            "One item per line. Each item: An email address, such as ada@example.com.",
        ),
    ],
)
def test_the_field_says_how_to_write_the_list(items: dict[str, Any], limits: dict[str, Any], words: str) -> None:
    assert ask(items, **limits).rules.describe() == words


def test_every_language_says_it_in_its_own_words() -> None:
    rules = ask(TEXT, minItems=2, maxItems=9, uniqueItems=True).rules
    said: set[str] = set()
    for language in LANGUAGES:
        with use_language(language):
            said.add(f"{rules.describe()} {rules.find_problem('1')} {rules.find_problem(chr(10).join('11'))}")
    assert len(said) == len(LANGUAGES)


def test_an_empty_list_a_default_and_no_answer_are_options() -> None:
    def list_options(*, required: bool, **limits: Any) -> tuple[list[str], tuple[str, ...]]:
        question = ask(TEXT, required=required, **limits)
        return [option.value for option in question.options], question.default

    assert list_options(required=True) == ([NONE_OF_THESE], ())
    assert list_options(required=True, minItems=1) == ([], ())
    assert list_options(required=True, default=[]) == ([NONE_OF_THESE], (NONE_OF_THESE,))
    assert list_options(required=True, default=["a", "b"]) == (["a\nb", NONE_OF_THESE], ("a\nb",))
    assert list_options(required=False, minItems=3) == ([NO_ANSWER], ())
    assert list_options(required=False, default=["a"]) == (["a", NO_ANSWER], ("a",))


@pytest.mark.parametrize("default", [[], ["a"], ["b", "a, c"]])
def test_the_default_of_a_list_is_the_answer_if_nobody_changes_it(default: list[str]) -> None:
    question = ask(TEXT, default=default)
    form = Form(questions=(question,))
    answers = start_interview(form).answers
    assert build_instance(form, answers) == {"x": default}


class Mail(BaseModel):
    """A mail, as real tools declare it."""

    to: list[str] = Field(min_length=1)
    cc: list[str] | None = None
    labels: set[str] = Field(default_factory=set)
    sizes: list[int] = []


def test_the_lists_of_a_pydantic_model_are_questions_whose_answers_it_accepts() -> None:
    form = read_form(Mail.model_json_schema())
    texts = {"to": "ada@example.com\nben@example.com", "cc": "cy@example.com", "labels": "a\nb", "sizes": "1\n2"}
    made = [Answer(question_id=name, text=text) for name, text in texts.items()]
    mail = Mail.model_validate(build_instance(form, made))
    assert (mail.to, mail.cc) == (["ada@example.com", "ben@example.com"], ["cy@example.com"])
    assert (mail.labels, mail.sizes) == ({"a", "b"}, [1, 2])


def test_a_program_that_asks_with_lines_gets_a_list() -> None:
    rules = TextRules(kind="integer", lines=LineRules(max=3))
    form = Form(questions=(Question(id="x", prompt="Which ports?", rules=rules),))
    assert list_answer_values(form, answered(Answer(question_id="x", text="80\n443"))) == {"x": [80, 443]}


@given(st.lists(st.text(max_size=8) | st.integers() | st.floats() | st.none(), max_size=5))
def test_a_list_that_is_shown_as_lines_is_read_back_as_it_is(values: list[Any]) -> None:
    for rules in (TextRules(lines=LineRules()), TextRules(kind="number", lines=LineRules())):
        text = write_list(rules.kind, values)
        if text is not None:
            assert rules.to_json_value(text) == values


@given(st.integers(0, 9), st.none() | st.integers(1, 9), st.booleans())
def test_the_rules_of_a_list_survive_the_way_to_a_schema_and_to_a_database(
    least: int, most: int | None, unique: bool
) -> None:
    if most is not None and least > most:
        with pytest.raises(InvalidValue, match=r"is smaller than min \(\d\): swap the two"):
            LineRules(min=least, max=most)
        return
    rules = TextRules(kind="integer", minimum=1, lines=LineRules(min=least, max=most, unique=unique))
    assert TextRules.model_validate_json(rules.model_dump_json()) == rules
    form = Form(questions=(Question(id="x", prompt="?", rules=rules),))
    assert read_form(write_schema(form)).questions[0].rules == rules


def test_options_that_people_tick_take_no_list_beside_them() -> None:
    options = [{"value": "a", "label": "A"}]
    with pytest.raises(InvalidValue, match="does not go together with multi_select"):
        Question.parse(
            {"id": "x", "prompt": "?", "options": options, "multi_select": True, "rules": {"lines": {"max": 2}}}
        )
