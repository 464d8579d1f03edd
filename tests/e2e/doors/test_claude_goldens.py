"""The recorded sentences of Claude Code, against the installed one and against our own tool."""

from __future__ import annotations

import json
from typing import Any

import pytest

from askback.domain.outcome import Answer, Choice
from askback.errors import ModelError
from askback.tools import get_tool
from support.claude_code import find_claude
from support.claude_goldens import CASES, CHOICES, FILE, WHERE, WHICH, record
from support.tool_calls import answered, chose

GOLDENS: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
RESULTS: dict[str, str] = GOLDENS["results"]
TOOL = get_tool("AskUserQuestion")
LENIENT = {"equal questions", "no options"}
"""Inputs that Claude Code refuses and our own tool can ask: it tells equal questions apart, and asks for a text."""
BLANK = {"a blank label"}
"""Inputs that Claude Code accepts and no platform can show."""


async def test_the_installed_claude_code_still_says_these_sentences() -> None:
    find_claude()
    recorded = await record()
    assert recorded["results"] == RESULTS, f"Claude Code {recorded['version']}; recorded: {GOLDENS['version']}"


@pytest.mark.parametrize("name", [name for name in CASES if name not in LENIENT | BLANK])
def test_our_tool_accepts_and_refuses_what_claude_code_does(name: str) -> None:
    given = {"questions": list(CASES[name].questions)}
    if "InputValidationError" not in RESULTS[name]:
        assert TOOL.parse(given).questions[0].prompt == CASES[name].questions[0]["question"]
        return
    with pytest.raises(ModelError, match="so nobody was asked"):
        TOOL.parse(given)


@pytest.mark.parametrize(
    ("name", "questions", "answers"),
    [
        ("one label", [WHERE], [(0,)]),
        ("labels of two questions", [WHERE, WHICH], [(1,), (0,)]),
        ("one label of several", [WHICH], [(1,)]),
        ("several labels", [WHICH], [(0, 1, 2)]),
    ],
)
def test_our_result_has_the_older_frame_around_the_same_answers(
    name: str, questions: list[dict[str, Any]], answers: list[tuple[int, ...]]
) -> None:
    outcome = answered(
        *(chose(f"q{number}", *((at, CHOICES[at]) for at in chosen)) for number, chosen in enumerate(answers, 1))
    )
    text = TOOL.build_result({"questions": questions}, outcome).text
    today = RESULTS[name].replace("Your questions have been answered:", "User has answered your questions:")
    assert text == today.replace("these answers in mind", "the user's answers in mind")


def test_a_written_answer_beside_labels_is_quoted_as_claude_code_quotes_labels() -> None:
    labels = (Choice(index=0, value=CHOICES[0], label=CHOICES[0]),)
    outcome = answered(Answer(question_id="q1", choices=labels, text="Mine, and yours"))
    assert '"Which?"="Staging, "Mine, and yours""' in TOOL.build_result({"questions": [WHICH]}, outcome).text
