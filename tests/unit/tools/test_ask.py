"""`ask`: a model's input becomes a form, and the answers come back by the ids of the questions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from askback.domain.actions import Choose, Next, Submit, SubmitText
from askback.domain.answer_file import AnswerFile, FileReading
from askback.domain.outcome import Answer, Choice, Picked
from askback.domain.reserved_options import NO_ANSWER
from askback.errors import ModelError
from support.cases import Story
from support.tool_calls import ANY, DEPLOY, answered, chose, wrote

PAGE = Path(__file__).parents[3] / "docs" / "questions.md"


def one(**fields: Any) -> dict[str, Any]:
    return {"questions": [{"id": "a", "question": "A?", **fields}]}


def two(**fields: Any) -> dict[str, Any]:
    options = [{"label": "Red", "value": "r"}, {"label": "Blue", "value": "b"}]
    return {
        "questions": [
            {"id": "colour", "question": "Which?", "options": options},
            {"id": "why", "question": "Why?", "showIf": fields},
        ]
    }


def result(data: dict[str, Any], *answers: Answer) -> Any:
    return ANY.build_result(data, answered(*answers)).data["answers"]


def test_everything_that_a_model_may_ask_reaches_the_form() -> None:
    where, count, day, checks, note = ANY.parse(DEPLOY).questions
    assert (where.header, where.default, where.allow_custom) == ("Where", ("stg",), True)
    assert (count.rules.kind, count.rules.minimum, count.rules.maximum) == ("integer", 1, 9)
    assert day.show_if is not None
    assert (day.show_if.question, day.show_if.any_of, day.rules.kind) == ("where", ("prd",), "date")
    assert (checks.multi_select, checks.min_choices, checks.allow_custom) == (True, 2, False)
    assert [option.value for option in note.options] == [NO_ANSWER]
    assert note.allow_custom


@pytest.mark.parametrize(
    ("given", "condition"),
    [
        ({"question": "colour", "anyOf": ["r"]}, (("r",), (), False)),
        ({"question": "colour", "is": "Red"}, (("r",), (), False)),
        ({"question": "colour", "isNot": ["Blue"]}, ((), ("b",), False)),
        ({"question": "colour", "wasSkipped": "true"}, ((), (), True)),
        ("colour", ((), (), False)),
    ],
)
def test_conditions_are_understood_in_the_words_of_models(given: Any, condition: Any) -> None:
    data = two()
    data["questions"][1]["showIf"] = given
    found = ANY.parse(data).questions[1].show_if
    assert found is not None
    assert (found.any_of, found.none_of, found.skipped) == condition


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (one(kind="colour"), "questions[0].kind"),
        (one(options=[{"label": "A"}, {"label": "A"}]), "the value 'A' is used more than once"),
        (one(options=[{"label": "A"}], default=["B"]), "questions[0].default: 'B' is not the value of an option"),
        (one(optional=True, multiSelect=True, minChoices=2), "is optional, but needs several choices"),
        (one(minChoices=2), "questions[0].maxChoices: needs a question with multi_select"),
        (one(kind="integer", minimum=5, maximum=1), "questions[0].maximum: is smaller than minimum"),
        (one(options=[{"label": "A", "value": NO_ANSWER}]), "belongs to askback"),
        (two(question="size"), "questions[1].showIf.question: 'size' is not an earlier question"),
        (two(question="colour", anyOf=["green"]), "questions[1].showIf.anyOf: 'colour' has no option 'green'"),
        (two(question="colour", noneOf=["green"]), "questions[1].showIf.noneOf: 'colour' has no option 'green'"),
        (two(question="colour", anyOf=["r"], noneOf=["b"]), "questions[1].showIf.skipped: does not go together"),
        ({"questions": []}, "has 0 questions"),
        ({"questions": [one()["questions"][0]] * 2}, "the id 'a' is used more than once"),
    ],
)
def test_what_fits_no_form_is_refused_in_the_words_of_the_tool(data: Any, words: str) -> None:
    with pytest.raises(ModelError) as error:
        ANY.parse(data)
    assert words in str(error.value)
    assert '"showIf"' in str(error.value), "it has an example"


def test_people_and_channels_are_asked_for_and_come_back_with_id_and_name() -> None:
    several = one(picks="people", multiSelect=True, maxChoices=2)
    (asked,) = ANY.parse(several).questions
    assert (asked.picks, asked.multi_select, asked.max_choices, asked.allow_custom) == ("people", True, 2, False)
    ada, ben = Picked(id="U1", name="Ada"), Picked(id="U2")
    assert result(several, Answer(question_id="a", picked=(ada, ben))) == {
        "a": [{"id": "U1", "name": "Ada"}, {"id": "U2", "name": "U2"}]
    }
    either = one(pick="channels", allowCustom=True)
    assert ANY.parse(either).questions[0].allow_custom
    general = Picked(id="C1", name="#general")
    assert result(either, Answer(question_id="a", picked=(general,))) == {"a": {"id": "C1", "name": "#general"}}
    assert result(either, Answer(question_id="a", text="by mail")) == {"a": {"written": "by mail"}}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"picks": "roles"}, "picks: should be 'people' or 'channels'"),
        ({"picks": "people", "optional": True}, "leave out optional"),
        ({"picks": "people", "options": ["Ada"]}, "options: do not go together with picks"),
        ({"picks": "people", "multiSelect": True, "maxChoices": 26}, "maxChoices: exceeds 25"),
    ],
)
def test_what_does_not_go_with_people_is_refused_in_the_words_of_the_tool(fields: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        ANY.parse(one(**fields))


def test_a_pattern_or_a_picture_of_a_model_reaches_nobody() -> None:
    """A pattern may take hours to match, and a picture's address may carry what the model has read elsewhere."""
    (question,) = ANY.parse(
        one(pattern="(a+)+$", options=[{"label": "A", "image": "https://e.example/?secret"}])
    ).questions
    assert (question.rules.pattern, question.options[0].image) == (None, None)


def test_answers_come_back_by_id_each_in_its_kind() -> None:
    checks = chose("checks", (0, "Tests"), (2, "Lint"))
    note = Answer(question_id="note", choices=(Choice(index=0, value=NO_ANSWER, label="(no answer)"),))
    where = Answer(question_id="where", choices=(Choice(index=1, value="prd", label="Production"),))
    found = ANY.build_result(DEPLOY, answered(where, wrote("count", " 3"), wrote("day", "2026-11-30"), checks, note))
    assert found.data == {
        "status": "answered",
        "answers": {
            "where": "prd",
            "count": 3,
            "day": "2026-11-30",
            "checks": ["Tests", "Lint"],
            "note": None,
        },
    }


def read_examples() -> list[Any]:
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)]


def test_the_example_of_the_documentation_gives_the_documented_result() -> None:
    asked, noted, people, picked, files, given, expected = read_examples()
    choice = Answer(
        question_id="where", choices=(Choice(index=1, value="Production", label="Production"),), note="but after six"
    )
    only = {"questions": [{**asked["questions"][0], "allowNote": True}]}
    assert ANY.build_result(only, answered(choice)).data == noted
    jsonschema_rs.Draft202012Validator(ANY.input_schema).validate(asked)
    story = Story(*ANY.parse(asked).questions)
    assert ANY.parse_addressees(asked) == ("Ada",)
    for operation in (Next(), SubmitText(text="3"), Choose(index=0), Submit()):
        story.does(operation)
    assert story.now.outcome is not None
    assert ANY.build_result(asked, story.now.outcome).data == expected
    answers = [
        Answer(question_id=name, picked=tuple(map(Picked.parse, one if isinstance(one, list) else [one])))
        for name, one in picked.items()
    ]
    assert ANY.build_result(people, answered(*answers)).data["answers"] == picked
    assert [one.files.kinds for one in ANY.parse(files).questions if one.files] == [("pictures",), ("pdf", "text")]
    logo = AnswerFile(id=given["logo"]["id"], name="logo.png", reading=FileReading(kind="png", size=20_480))
    assert ANY.build_result(files, answered(Answer(question_id="logo", files=(logo,)))).data["answers"] == given


def test_an_answer_in_own_words_cannot_be_taken_for_an_option() -> None:
    assert result(DEPLOY, wrote("where", "prd"))["where"] == {"written": "prd"}
    several = one(options=[{"label": "A"}, {"label": "B"}], multiSelect=True)
    assert result(several, chose("a", (0, "A"), text="B"))["a"] == ["A", {"written": "B"}]


def test_questions_that_nobody_was_asked_are_reported_as_skipped() -> None:
    found = ANY.build_result(two(question="colour", anyOf=["r"]), answered(chose("colour", (1, "Blue"))))
    assert found.data["skipped"] == ["why"]


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ({"anyOf": ["r"]}, [0, 1, 2]),
        ({"noneOf": ["r"]}, [0, 2]),
        ({"noneOf": ["b"]}, [0, 1, 2]),
        ({"anyOf": ["b"]}, [0, 2]),
        ({}, [0, 1, 2]),
    ],
)
def test_a_condition_decides_which_questions_are_asked(condition: dict[str, Any], shown: list[int]) -> None:
    data = two(question="colour", **condition)
    data["questions"].append({"id": "size", "question": "Size?"})
    assert list(Story(*ANY.parse(data).questions).does(Choose(index=0)).visible) == shown


def test_a_question_may_take_the_place_of_one_that_was_skipped() -> None:
    data = two(question="colour", anyOf=["r"])
    data["questions"].append({"id": "else", "question": "What else?", "showIf": {"question": "why", "skipped": True}})
    questions = ANY.parse(data).questions
    assert list(Story(*questions).does(Choose(index=0)).visible) == [0, 1]
    assert list(Story(*questions).does(Choose(index=1)).visible) == [0, 2]


@pytest.mark.parametrize("wrong", [{}, {"questions": []}, one(kind="colour"), one(minLength=0), one(id="")])
def test_the_schema_refuses_what_the_tool_refuses(wrong: dict[str, Any]) -> None:
    assert not jsonschema_rs.Draft202012Validator(ANY.input_schema).is_valid(wrong)


@pytest.mark.parametrize("name", ["onTimeout", "on_timeout", "ON_TIMEOUT"])
def test_a_model_chooses_what_a_timeout_does(name: str) -> None:
    asked = one(options=[{"label": "Red"}, {"label": "Blue"}], default="Red")
    assert ANY.parse_timeout_action(asked) == "report"
    assert [ANY.parse_timeout_action(asked | {name: word}) for word in ("Halt", "stop", "default")] == [
        "halt",
        "halt",
        "default",
    ]
    assert ANY.input_schema["properties"]["onTimeout"]["enum"] == ["report", "halt", "default"]  # type: ignore[index, call-overload]
    with pytest.raises(ModelError, match="onTimeout"):
        ANY.parse(asked | {name: "whatever"})


def test_a_default_that_the_model_has_not_given_is_refused_with_the_way_to_ask() -> None:
    asked = one(options=[{"label": "Red"}, {"label": "Blue"}], default="Red") | {"onTimeout": "default"}
    assert ANY.parse(asked).questions[0].default == ("Red",)
    with pytest.raises(ModelError, match="nobody was asked: “A\\?” has no default"):
        ANY.parse(one(options=[{"label": "Red"}, {"label": "Blue"}]) | {"onTimeout": "default"})
