"""The bodies of `askback serve`: which question each asks, and the answers to Claude Code's hooks."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from askback.doors.claude_hooks import HookBody, answer_hook, build_call_id
from askback.doors.http_bodies import AskBody, build_question
from askback.doors.permission import allow, deny
from askback.errors import CallerError

OPTIONS = ["Ship", "Keep"]
SCHEMA = {"type": "object", "properties": {"version": {"type": "string"}}}
QUESTIONS = [{"id": "a", "prompt": "A?"}, {"id": "b", "prompt": "B?"}]


def read(**given: Any) -> Any:
    return build_question(AskBody.model_validate(given))


def test_a_question_with_options_is_a_vote_if_something_says_so() -> None:
    kind, form, vote = read(question="Ship it?", options=OPTIONS)
    assert (kind, form.questions[0].allow_custom, vote) == ("ask", True, None)
    kind, form, vote = read(question="Ship it?", options=OPTIONS, no=["Keep"], quorum=2)
    assert (kind, form.questions[0].allow_custom) == ("ask", False)
    assert (vote.quorum, vote.refusing, vote.approving) == (2, ("Keep",), ("Ship",))
    _, _, vote = read(question="Ship it?", options=["Yes", "No"])
    assert vote.refusing == ("No",)


def test_forms_of_both_kinds_are_read() -> None:
    kind, form, vote = read(question="About it", form=SCHEMA)
    assert (kind, [one.id for one in form.questions], vote) == ("form", ["version"], None)
    kind, form, vote = read(questions=QUESTIONS)
    assert (kind, [one.id for one in form.questions], vote) == ("askback_form", ["a", "b"], None)
    _, form, _ = read(questions=[{"id": "who", "prompt": "Who?", "picks": "people"}])
    assert form.questions[0].picks == "people"


def test_what_models_and_programs_often_write_is_understood() -> None:
    usual = read(question="Which?", options=[{"label": "Blue", "description": "As the sky."}, "Red"])
    for given in (
        {"prompt": "Which?", "choices": [{"title": "Blue", "desc": "As the sky."}, {"name": "Red"}]},
        {
            "Question": "Which?",
            "options": [{"label": "Blue", "value": "b", "description": "As the sky."}, {"value": "Red"}],
        },
        {
            "question": "Which?", "options": [{"label": "Blue", "explanation": "As the sky."}, {"text": "Red"}],
            "multiSelect": False, "onTimeout": "report", "details": None,
        },
    ):  # fmt: skip
        assert read(**given) == usual
    _, form, vote = read(question="Which?", options=["Blue", "Red"], allowCustom=False)
    assert (form.questions[0].allow_custom, vote) == (False, None)
    _, form, vote = read(question="Which?", options=["Blue", "Red"], multiSelect=True)
    assert (form.questions[0].multi_select, vote) == (True, None)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"question": "A?", "options": ["Yes", "No"], "several": True}, "choose one option"),
        ({"question": "A?", "options": OPTIONS, "several": True, "allow_note": True}, "`several` and `allow_note`"),
        ({"question": "A?", "options": ["Yes", "No"], "allow_custom": True}, "choose an option"),
        ({"question": "A?", "allow_custom": True}, "is for `options`"),
        ({"question": "A?", "several": True}, "is for `picks` and `options`"),
        ({}, "`question` is missing"),
        ({"question": " "}, "`question` is missing"),
        ({"question": "A?", "questions": QUESTIONS}, "is the whole form"),
        ({"options": OPTIONS, "questions": QUESTIONS}, "is the whole form"),
        ({"details": "x", "questions": QUESTIONS}, "is the whole form"),
        ({"questions": [{"id": "a"}]}, "cannot be asked"),
        ({"questions": [{"id": "a", "prompt": "A?", "rules": {"pattern": "(a+)+$"}}]}, "could take hours"),
        ({"question": "A?", "quorum": 2}, "need `options`"),
        ({"question": "A?", "form": SCHEMA, "reasons": "no"}, "need `options`"),
        ({"question": "A?", "options": OPTIONS, "form": SCHEMA}, "`options` and a `form`"),
        ({"question": "A?", "options": ["x", "x"]}, "more than once"),
        ({"question": "A?", "options": OPTIONS, "yes": ["Ship"], "no": ["Ship"]}, "both a “yes” and a “no”"),
    ],
)
def test_a_contradiction_is_refused_with_the_next_step(given: dict[str, Any], words: str) -> None:
    with pytest.raises(CallerError, match=words):
        read(**given)


@pytest.mark.parametrize("field", ["who", "approvers", "wait", "requestedBy", "own"])
def test_what_the_operator_decides_is_not_a_field(field: str) -> None:
    with pytest.raises(ValidationError):
        AskBody.model_validate({"question": "A?", field: "anyone"})


@pytest.mark.parametrize("timeout", [0, -1, "nan", "inf", 1e12])
def test_a_time_that_nobody_can_wait_is_refused(timeout: object) -> None:
    with pytest.raises(ValidationError):
        AskBody.model_validate({"question": "A?", "timeout": timeout})


def test_hooks_get_the_answer_in_their_own_format() -> None:
    given = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": "/", "new": 1}
    asked = HookBody.model_validate({**given, "hook_event_name": "PermissionRequest"})
    allowed = allow({"command": "ls"})
    assert answer_hook(asked, allowed) == {
        "hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": allowed}
    }
    before = HookBody.model_validate({**given, "hook_event_name": "PreToolUse", "tool_use_id": "t"})
    assert answer_hook(before, deny("Not now.")) == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "Not now.",
        }
    }  # fmt: skip
    assert answer_hook(before, allowed) == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": "ls"},
        }
    }  # fmt: skip
    assert (build_call_id(asked), build_call_id(before)) == (None, "s:t")
    with pytest.raises(ValidationError):
        HookBody.model_validate({**given, "hook_event_name": "Stop"})
