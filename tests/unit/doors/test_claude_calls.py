"""The permission results of a Claude agent: each way to end tells the model something else."""

from __future__ import annotations

from typing import Any

import pytest

from askback.domain.approval import build_form, compute_digest
from askback.domain.form import Form
from askback.domain.outcome import Answer, Choice, Outcome, Vote
from askback.doors.call_question import CallQuestion
from askback.errors import ModelError
from support.optional import optional
from support.settled_asks import ADA, AT, ask_for

sdk = optional("claude_agent_sdk")

from askback.doors.claude_calls import GatedTools, build_result  # noqa: E402

CALL: dict[str, Any] = {"command": "rm -r build"}
OPTIONS = [{"label": "Blue", "description": "The sky"}, {"label": "Red", "description": "A rose"}]
ASKED: dict[str, Any] = {
    "questions": [{"question": "Which?", "header": "H", "multiSelect": False, "options": OPTIONS}],
    "answers": {"Which?": "Red"},
}


def chosen(form: Form, index: int, **more: Any) -> Outcome:
    question = form.questions[0]
    choice = Choice(index=index, value=question.options[index].value, label=question.options[index].label)
    vote = Vote(by=ADA, choice=choice, reason=more.pop("reason", None), at=AT)
    answer = Answer(question_id=question.id, choices=(choice,))
    return Outcome(status="answered", at=AT, by=ADA, answers=(answer,), votes=(vote,), **more)


def decide(outcome: Outcome) -> Any:
    question = CallQuestion("permit", build_form("Bash", CALL), compute_digest("Bash", CALL))
    return build_result("Bash", CALL, ask_for(question, outcome))


def test_a_no_a_timeout_a_decline_and_a_cancellation_are_told_apart() -> None:
    form = build_form("Bash", CALL)
    assert decide(chosen(form, 0)) == sdk.PermissionResultAllow(updated_input=CALL)
    denied = decide(chosen(form, 1, refused=True, reason="Not today"))
    assert isinstance(denied, sdk.PermissionResultDeny)
    assert denied.message.startswith("Bash was denied by Ada (U1): Not today.")
    others = [decide(Outcome(status=status, at=AT)) for status in ("timed_out", "declined", "cancelled")]
    assert len({denied.message, *(one.message for one in others)}) == 4
    assert all(one.message.endswith("Nobody denied it.") for one in others)


def test_an_answer_goes_into_the_input_and_replaces_what_the_model_brought() -> None:
    question = GatedTools(()).build_question("AskUserQuestion", ASKED)
    answered = build_result("AskUserQuestion", ASKED, ask_for(question, chosen(question.form, 0)))
    assert answered == sdk.PermissionResultAllow(updated_input={**ASKED, "answers": {"Which?": "Blue"}})
    others = [
        build_result("AskUserQuestion", ASKED, ask_for(question, Outcome(status=status, at=AT)))
        for status in ("timed_out", "declined", "cancelled")
    ]
    assert all(isinstance(one, sdk.PermissionResultDeny) for one in others)
    assert len({str(one) for one in others}) == 3


def test_a_question_that_people_cannot_be_asked_is_the_models_error() -> None:
    with pytest.raises(ModelError):
        GatedTools(()).build_question("AskUserQuestion", {"questions": []})
