"""The questions of `ask_user_question` become one form, and their answers its result."""

from __future__ import annotations

from typing import Any

import pytest

from askback.domain.outcome import Answer, Choice, Outcome
from askback.doors.ask_user import read_questions
from support.settled_asks import ADA, AT, ask_for

OPTIONS = [{"label": "Blue", "description": "As the sky."}, {"label": "Red, or so"}]
QUESTION: dict[str, Any] = {"header": "Colours", "question": "Which?", "options": OPTIONS, "multi_select": True}


def test_each_question_has_its_header_its_options_and_their_descriptions() -> None:
    found = read_questions({"questions": [QUESTION, QUESTION | {"header": "Edge", "multi_select": False}]})
    assert found is not None
    first, second = found[0].form.questions
    assert (first.header, first.prompt, first.multi_select) == ("Colours", "Which?", True)
    assert [(one.label, one.description) for one in first.options] == [("Blue", "As the sky."), ("Red, or so", None)]
    assert (second.header, second.multi_select) == ("Edge", False)


@pytest.mark.parametrize(
    "given",
    [
        {"question": "Which region?"},
        {"questions": []},
        {"questions": "Which region?"},
        {"questions": [QUESTION, QUESTION]},
        {"questions": [QUESTION | {"options": OPTIONS[:1]}]},
    ],
)
def test_the_arguments_of_another_tool_with_this_name_are_not_read_so(given: dict[str, Any]) -> None:
    assert read_questions(given) is None


def test_several_labels_stay_several() -> None:
    found = read_questions({"questions": [QUESTION]})
    assert found is not None
    question, read = found
    choices = tuple(Choice(index=index, value=one["label"], label=one["label"]) for index, one in enumerate(OPTIONS))
    outcome = Outcome(status="answered", at=AT, by=ADA, answers=(Answer(question_id="q1", choices=choices),))
    assert read(ask_for(question, outcome)) == {"Colours": ["Blue", "Red, or so"]}
