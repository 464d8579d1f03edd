"""The permission results of a Claude agent: each way to end tells the model something else."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from askback.domain.approval import build_form, compute_digest
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Policy
from askback.domain.form import Form
from askback.domain.identity import Actor, Place
from askback.domain.interview import settle, start_interview
from askback.domain.outcome import Answer, Choice, Outcome, Vote
from askback.domain.who import Who
from askback.errors import ModelError
from support.optional import optional

sdk = optional("claude_agent_sdk")

from askback.doors.claude_calls import GatedTools, build_result  # noqa: E402

AT = datetime(2026, 11, 24, 16, 30, tzinfo=UTC)
ADA = Actor(platform="chat", id="U1", name="Ada")
CALL: dict[str, Any] = {"command": "rm -r build"}
OPTIONS = [{"label": "Blue", "description": "The sky"}, {"label": "Red", "description": "A rose"}]
ASKED: dict[str, Any] = {
    "questions": [{"question": "Which?", "header": "H", "multiSelect": False, "options": OPTIONS}],
    "answers": {"Which?": "Red"},
}


def settled(form: Form, outcome: Outcome, approval: Approval | None = None) -> Ask:
    return Ask(
        id="q" * 22,
        place=Place(platform="chat", channel="C1"),
        policy=Policy(who=Who(anyone=True), approval=approval),
        interview=settle(start_interview(form), outcome),
        created_at=AT,
        post_after=AT,
    )


def chosen(form: Form, index: int, **more: Any) -> Outcome:
    question = form.questions[0]
    choice = Choice(index=index, value=question.options[index].value, label=question.options[index].label)
    vote = Vote(by=ADA, choice=choice, reason=more.pop("reason", None), at=AT)
    answer = Answer(question_id=question.id, choices=(choice,))
    return Outcome(status="answered", at=AT, by=ADA, answers=(answer,), votes=(vote,), **more)


def decide(outcome: Outcome) -> Any:
    approval = Approval(refusing=("deny",), approving=("approve",), subject=compute_digest("Bash", CALL))
    return build_result("Bash", CALL, settled(build_form("Bash", CALL), outcome, approval))


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
    form = GatedTools(()).build_question("AskUserQuestion", ASKED).form
    answered = build_result("AskUserQuestion", ASKED, settled(form, chosen(form, 0)))
    assert answered == sdk.PermissionResultAllow(updated_input={**ASKED, "answers": {"Which?": "Blue"}})
    others = [
        build_result("AskUserQuestion", ASKED, settled(form, Outcome(status=status, at=AT)))
        for status in ("timed_out", "declined", "cancelled")
    ]
    assert all(isinstance(one, sdk.PermissionResultDeny) for one in others)
    assert len({str(one) for one in others}) == 3


def test_a_question_that_people_cannot_be_asked_is_the_models_error() -> None:
    with pytest.raises(ModelError):
        GatedTools(()).build_question("AskUserQuestion", {"questions": []})
