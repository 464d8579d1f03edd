"""Answers of `permit`, the tool that Claude Code asks before it runs another tool. Pure.

A denial by people and the lack of a decision both stop the call, so the message says which of them it was.
"""

from __future__ import annotations

__all__ = ["PermissionAnswer", "allow", "answer_questions", "answer_request", "deny", "deny_undecided"]

import json
from collections.abc import Mapping

from pydantic import JsonValue

from askback.domain import approval
from askback.domain.ask import Ask
from askback.domain.form import Question
from askback.domain.outcome import Answer, Outcome
from askback.doors.results import format_name
from askback.tools.base import describe_unanswered

PermissionAnswer = dict[str, JsonValue]
"""The answer in the format of Claude Code: `behavior`, with `updatedInput` or a `message`."""


def allow(given: Mapping[str, JsonValue]) -> PermissionAnswer:
    """Return the answer that lets a tool run with these arguments."""
    return {"behavior": "allow", "updatedInput": dict(given)}


def deny(message: str) -> PermissionAnswer:
    """Return the answer that stops a call. The model reads the message."""
    return {"behavior": "deny", "message": message}


def deny_undecided(tool: str, ask: Ask) -> PermissionAnswer:
    """Return the answer for a call whose approval is still open."""
    return deny(
        f"Nobody has decided yet whether {tool} may run, so it was not run. This is not a denial: the request "
        f"{ask.id} stays open. Tell your user, end your turn, and make the same call again later."
    )


def answer_request(tool: str, given: dict[str, JsonValue], ask: Ask, outcome: Outcome) -> PermissionAnswer:
    """Return the answer of people who were asked to approve a call. The call must be the one that they saw."""
    data = approval.get_approved_arguments(ask, tool, given)
    if data is not None:
        return allow(data)
    if approval.is_approved(ask):
        return deny(f"People approved {tool} with other arguments, so it was not run. Make the call again.")
    note = "" if outcome.status == "answered" else " Nobody denied it."
    return deny(approval.describe_unapproved(tool, outcome, format_name) + note)


def answer_questions(given: dict[str, JsonValue], ask: Ask, outcome: Outcome) -> PermissionAnswer:
    """Return the answers to the questions of `AskUserQuestion`, keyed by the question's text."""
    if outcome.status != "answered":
        return deny(describe_unanswered(outcome))
    answers: dict[str, JsonValue] = {
        question.prompt: _join(question, answer)
        for question in ask.interview.form.questions
        if (answer := outcome.get(question.id)) is not None
    }
    return allow({**given, "answers": answers})


def _join(question: Question, answer: Answer) -> str:
    """Return the answer as one text. Several labels are joined by commas; a label with a comma is written as JSON."""
    if not question.multi_select:
        return answer.labels[0]
    return ", ".join(
        json.dumps(label, ensure_ascii=False) if ", " in label or '"' in label else label for label in answer.labels
    )
