"""Inputs that models really sent: 93 recorded inputs of `AskUserQuestion`.

The recording is not part of this repository; without it these tests are skipped.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from askback.domain.form import Question
from askback.domain.outcome import Answer, Choice, Outcome
from askback.errors import ModelError
from askback.tools import AskUserQuestion
from support.cases import NOON

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus" / "askuserquestion.jsonl"
TOOL = AskUserQuestion()

pytestmark = pytest.mark.skipif(
    not CORPUS.exists(), reason="The recorded inputs are not here: they belong in shared/corpus beside the checkout."
)


@pytest.fixture(scope="module")
def inputs() -> list[dict[str, Any]]:
    return [json.loads(line)["input"] for line in CORPUS.read_text(encoding="utf-8").splitlines()]


def is_understood(sent: object) -> bool:
    try:
        TOOL.parse(sent)
    except ModelError:
        return False
    return True


def test_of_93_inputs_92_are_understood_and_one_is_told_why_not(inputs: list[dict[str, Any]]):
    refused = [sent for sent in inputs if not is_understood(sent)]
    assert (len(inputs), len(refused)) == (93, 1)
    with pytest.raises(ModelError) as error:
        TOOL.parse(refused[0])
    assert len(refused[0]["questions"]) == 6
    assert "it has 6 questions: ask 1 to 4 at a time" in str(error.value)
    assert TOOL.example in str(error.value)


def test_every_text_of_the_model_reaches_people_as_it_is(inputs: list[dict[str, Any]]):
    checked = 0
    for sent in filter(is_understood, inputs):
        for form in (TOOL.parse(sent), TOOL.parse(json.dumps(sent))):
            for asked, question in zip(form.questions, sent["questions"], strict=True):
                assert asked.prompt == question["question"]
                assert asked.header == (question.get("header") or None)
                assert asked.multi_select == question.get("multiSelect", False)
                assert [(one.label, one.description) for one in asked.options] == [
                    (option["label"], option.get("description") or None) for option in question["options"]
                ]
                checked += 1
    assert checked > 200


def test_every_option_comes_back_by_its_exact_label(inputs: list[dict[str, Any]]):
    checked = 0
    for sent in filter(is_understood, inputs):
        form = TOOL.parse(sent)
        for turn in range(max(len(question.options) for question in form.questions)):
            picked = [turn % len(question.options) for question in form.questions]
            answers = tuple(choice(question, index) for question, index in zip(form.questions, picked, strict=True))
            result = TOOL.build_result(sent, Outcome(status="answered", at=NOON, answers=answers))
            for question, index, told in zip(sent["questions"], picked, result.data.values(), strict=True):
                label = question["options"][index]["label"]
                assert told == ([label] if question.get("multiSelect") else label)
                assert f'"{question["question"]}"="{label}"' in result.text
                checked += 1
    assert checked > 600


def test_every_call_is_summed_up_in_one_line(inputs: list[dict[str, Any]]):
    for sent in inputs:
        summary = TOOL.summarize_call(sent)
        assert len(summary.splitlines()) == 1
        assert summary.startswith("AskUserQuestion · ")
        assert len(summary) <= 200


def choice(question: Question, index: int) -> Answer:
    option = question.options[index]
    return Answer(question_id=question.id, choices=(Choice(index=index, value=option.value, label=option.label),))
