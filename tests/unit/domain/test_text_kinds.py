"""Kinds of written answers, and the number of options to choose."""

from __future__ import annotations

import time
from typing import Any

import pytest

from askback.domain.actions import Action, Next, Review, Select, Submit
from askback.domain.answer_values import list_answer_values
from askback.domain.apply_action import Incomplete, apply_action
from askback.domain.ask_policy import Policy
from askback.domain.card import build_card
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor
from askback.domain.interview import start_interview
from askback.domain.text_rules import TextRules
from askback.domain.who import Who
from askback.errors import InvalidValue
from askback.inbound.answer_parser import parse_answer
from askback.internal.clock import utc_now

ANN = Actor(platform="chat", id="U1")
NO_PAGES = [
    "javascript:alert(1)",
    "data:text/html,x",
    "JavaScript:x",
    "file:///etc/passwd",
    "ftp://example.com",
    "https:x",
]
ABC = tuple(Option(value=one, label=one) for one in "ABC")


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("integer", ["0", " -12 ", "+7"], ["", "1.0", "1e3", "٣", "9" * 17, "0x1", "1_000"]),
        (
            "number",
            ["0", "-1.5", "1e3", "1.5E-3", "1,5", "-0,125", "1000,25", " 12,3456 "],
            ["nan", "inf", "1e999", ".5", "٣", "1,500", "12,345", "1,2,3", "1.000,5", "1,000.5", ",5", "1, 5", "1,5e3"],
        ),
        ("email", ["ada@example.com"], ["ada", "@example.com", "ada@example", "a@-x.com", "a b@x.com"]),
        (
            "uri",
            ["https://example.com/a?b#c", "HTTP://example.com", "mailto:ada@example.com"],
            ["example.com", "https://", "https://a b", "javascript:", "/a", *NO_PAGES],
        ),
        ("date", ["2026-11-24"], ["2026-11-31", "20261124", "٢٠٢٦-11-24"]),
        ("time", ["00:00", " 16:30 ", "23:59"], ["24:00", "7:30", "16:30:00", "16.30", "4:30 PM", "١٦:30"]),
        ("date-time", ["2026-11-24T00:00:00Z"], ["2026-11-24T00:00:00", "2026-11-24 00:00:00Z"]),
    ],
)
def test_a_kind_accepts_its_texts_only(kind: str, good: list[str], bad: list[str]) -> None:
    rules = TextRules.parse({"kind": kind})
    assert [text for text in good if rules.find_problem(text)] == []
    assert [text for text in bad if not rules.find_problem(text)] == []


def test_a_pattern_says_which_other_addresses_are_right() -> None:
    rules = TextRules(kind="uri", pattern="s3:.*")
    assert rules.find_problem("s3://bucket/key") is None
    assert rules.find_problem("javascript:x") is not None


@pytest.mark.parametrize("text", ["1,5", " 1.5 "])
def test_a_number_with_a_comma_is_the_same_to_a_program(text: str) -> None:
    question = Question(id="q", prompt="How much?", rules=TextRules(kind="number"))
    begun = start_interview(Form(questions=(question,)))
    (write,) = parse_answer(begun, text)
    action = Action(ask_id="a", actor=ANN, operation=write, step=0, at=utc_now())
    settled = apply_action(begun, action)
    assert settled.outcome is not None
    assert settled.outcome["q"].text == "1.5"
    assert list_answer_values(settled.form, settled.outcome) == {"q": 1.5}


@pytest.mark.parametrize(("text", "is_step"), [("1,5", True), ("1.5", True), ("1,25", False), ("1.5e1", True)])
def test_a_number_with_a_comma_is_on_the_same_steps_as_with_a_point(text: str, *, is_step: bool) -> None:
    problem = TextRules(kind="number", minimum=1, step=0.5).find_problem(text)
    assert (problem is None) == is_step
    assert is_step or problem == "This number is between two steps. In steps of 0.5, beginning with 1."


def test_positions_with_a_comma_are_no_number() -> None:
    options = (*ABC, Option(value="D", label="D"))
    question = Question(id="q", prompt="Which?", options=options, multi_select=True, rules=TextRules(kind="number"))
    begun = start_interview(Form(questions=(question,)))
    assert [one.kind for one in parse_answer(begun, "1,2")] == ["select", "submit"]


@pytest.mark.parametrize("kind", ["integer", "number", "email", "uri", "date", "time", "date-time"])
def test_no_text_takes_long_to_check(kind: str) -> None:
    rules = TextRules.parse({"kind": kind})
    began = time.process_time()
    for part in ("a.", "a@a-", "1e1", "x:a%20", "a-a.a@", "//a."):
        rules.find_problem((part * 1000)[:1000])
    assert time.process_time() - began < 1.0


def test_limits_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(InvalidValue, match="maximum: is smaller than minimum"):
        TextRules(kind="integer", minimum=3, maximum=2)
    with pytest.raises(InvalidValue, match="max_choices: is smaller than min_choices"):
        Question(id="q", prompt="?", options=ABC, multi_select=True, min_choices=3, max_choices=2)
    with pytest.raises(InvalidValue, match="needs a question with multi_select"):
        Question(id="q", prompt="?", options=ABC, min_choices=2)
    with pytest.raises(InvalidValue, match="fits no answer"):
        Question(id="q", prompt="?", options=ABC, multi_select=True, min_choices=4)


def test_a_process_of_the_previous_release_reads_forms_without_limits() -> None:
    written = Form(questions=(Question(id="q", prompt="?"),)).model_dump_json()
    assert not {"kind", "minimum", "min_choices", "max_choices"} & set(written.replace('"', " ").split())


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({}, "Up to 1,000 characters."),
        ({"min_length": 20, "max_length": 300}, "From 20 to 300 characters."),
        ({"kind": "integer"}, "A whole number, such as 42."),
        ({"kind": "integer", "minimum": 1, "maximum": 9}, "A whole number from 1 to 9."),
        ({"kind": "number", "minimum": 0.5}, "A number of at least 0.5."),
        ({"kind": "number", "maximum": 1e6}, "A number of at most 1000000."),
        ({"kind": "date"}, "A date, such as 2026-11-24."),
        ({"kind": "time"}, "A time of the day, such as 16:30."),
        ({"pattern": "v[0-9]+", "hint": "Please write a version, such as v3."}, "Please write a version, such as v3."),
        ({"pattern": "v[0-9]+"}, "Up to 1,000 characters."),
    ],
)
def test_a_field_says_what_can_be_written(rules: dict[str, Any], said: str) -> None:
    assert TextRules(**rules).describe() == said


@pytest.mark.parametrize("kind", ["integer", "number", "email", "uri", "date", "time", "date-time"])
def test_the_example_that_a_field_gives_is_an_answer(kind: Any) -> None:
    rules = TextRules(kind=kind)
    example = rules.describe().partition("such as ")[2].removesuffix(".")
    assert rules.find_problem(example) is None, example


@pytest.mark.parametrize(
    ("least", "most", "said"),
    [
        (1, None, None),
        (2, None, "choose at least 2 options"),
        (1, 2, "choose 1 to 2 options"),
        (1, 1, "choose exactly 1 option"),
    ],
)
def test_a_card_says_how_many_options_to_choose(least: int, most: int | None, said: str | None) -> None:
    question = Question(id="q", prompt="?", options=ABC, multi_select=True, min_choices=least, max_choices=most)
    assert question.describe_count() == said
    begun = start_interview(Form(questions=(question,)))
    assert build_card("a", begun, Policy(who=Who(anyone=True))).count_rule == said


def act(operation: Submit | Select | Next | Review, step: int = 0) -> Action:
    return Action(ask_id="a", actor=ANN, operation=operation, step=step, at=utc_now())


def test_too_few_or_too_many_options_are_no_answer() -> None:
    question = Question(
        id="q", prompt="?", options=ABC, multi_select=True, allow_custom=False, min_choices=2, max_choices=2
    )
    begun = start_interview(Form(questions=(question,)))
    for chosen in ((), (0,), (0, 1, 2)):
        with pytest.raises(Incomplete, match=r"^Please choose exactly 2 options, then submit\.$"):
            apply_action(apply_action(begun, act(Select(chosen=chosen))), act(Submit()))
    settled = apply_action(apply_action(begun, act(Select(chosen=(0, 2)))), act(Submit()))
    assert settled.outcome is not None
    assert settled.outcome["q"].labels == ("A", "C")


def test_a_form_names_the_question_with_too_few_options() -> None:
    few = Question(id="q", prompt="?", header="Regions", options=ABC, multi_select=True, min_choices=2)
    other = Question(id="r", prompt="?", options=ABC, default=("A",))
    begun = apply_action(start_interview(Form(questions=(few, other))), act(Select(chosen=(1,))))
    reviewed = apply_action(begun, act(Review()))
    with pytest.raises(Incomplete, match=r"Not answered yet: Regions \(choose at least 2 options\)\."):
        apply_action(reviewed, act(Submit(), reviewed.step))


def test_a_typed_number_is_the_number_and_not_the_position_of_an_option() -> None:
    options = (Option(value="x", label="(no answer)"),)
    question = Question(id="q", prompt="How many?", options=options, rules=TextRules(kind="integer", maximum=9))
    begun = start_interview(Form(questions=(question,)))
    assert [one.kind for one in parse_answer(begun, "1")] == ["write"]
    assert [one.kind for one in parse_answer(begun, "(no answer)")] == ["choose"]


@pytest.mark.parametrize(
    ("rules", "text", "counts"),
    [
        (TextRules(kind="date"), "2026-11-30", True),
        (TextRules(kind="date"), "on Monday, I think", False),
        (TextRules(kind="email"), "ada@example.com", True),
        (TextRules(kind="email"), "ask ada@example.com", False),
        (TextRules(kind="integer", maximum=9), "12", False),
        (TextRules(), "2026-11-30", False),
    ],
)
def test_a_typed_text_counts_without_a_question_if_it_is_of_the_kind_that_was_asked_for(
    rules: TextRules, text: str, counts: bool
) -> None:
    begun = start_interview(Form(questions=(Question(id="q", prompt="Which?", rules=rules),)))
    assert bool(parse_answer(begun, text)) == counts
