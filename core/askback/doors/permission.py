"""Answers of `permit`, the tool that Claude Code asks before it runs another tool. Pure.

A denial by people and the lack of a decision both stop the call, so the message says which of them it was.
"""

from __future__ import annotations

__all__ = [
    "PermissionAnswer",
    "allow",
    "answer_questions",
    "answer_request",
    "build_questions",
    "deny",
    "deny_undecided",
]

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from askback.domain import approval
from askback.domain.ask import Ask
from askback.domain.form import Form, Question
from askback.domain.outcome import Answer, Outcome
from askback.domain.schema_choices import format_number
from askback.domain.text_kinds import is_checked, is_numeric, parse_number
from askback.doors.results import QUESTIONS, format_name
from askback.tools import get_tool
from askback.tools.ask_user_question import join_labels
from askback.tools.base import describe_unanswered

PermissionAnswer = dict[str, JsonValue]
"""The answer in the format of Claude Code: `behavior`, with `updatedInput` or a `message`."""

_OF_PEOPLE: Final = frozenset({"answers", "annotations", "response", "followUp"})
"""The fields of `AskUserQuestion` that only people fill. A model may send the first two, and then they are dropped."""


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


def build_questions(given: Mapping[str, JsonValue]) -> Form:
    """Return the form of a call of `AskUserQuestion`, with notes, which Claude Code passes on. Raises `ModelError`."""
    form = get_tool(QUESTIONS).parse(given)
    return form.evolve(
        questions=tuple(
            question.evolve(
                allow_note=bool(question.options) and not question.multi_select and not is_checked(question.rules.kind)
            )
            for question in form.questions
        )
    )


def answer_questions(given: dict[str, JsonValue], ask: Ask, outcome: Outcome) -> PermissionAnswer:
    """Return the answers to the questions of `AskUserQuestion`, keyed by the question's text.

    A note to discuss the questions first is a response to all of them. Claude Code then tells the model what the person
    wrote. Its `followUp` is never set: the model would read that the person wants further questions in place of these.
    """
    asked = {name: value for name, value in given.items() if name not in _OF_PEOPLE}
    questions = ask.interview.form.questions
    if outcome.discuss and outcome.reason is not None:
        replied: dict[str, JsonValue] = {question.prompt: {"unanswered": "replied_in_chat"} for question in questions}
        return allow({**asked, "answers": {}, "annotations": replied, "response": outcome.reason})
    if outcome.status != "answered":
        return deny(describe_unanswered(outcome))
    found = {question.prompt: (question, outcome.get(question.id)) for question in questions}
    answers: dict[str, JsonValue] = {
        prompt: _format_answer(question, answer) for prompt, (question, answer) in found.items() if answer is not None
    }
    annotations: dict[str, JsonValue] = {
        prompt: annotation
        for prompt, (question, answer) in found.items()
        if (annotation := _build_annotation(question, answer))
    }
    return allow({**asked, "answers": answers, **({"annotations": annotations} if annotations else {})})


def _format_answer(question: Question, answer: Answer) -> str:
    """Return an answer as Claude Code writes it. It takes no other notation of a number for one, such as +4 or 1e3."""
    text = join_labels(answer, multi_select=question.multi_select)
    number = parse_number(question.rules.kind, text) if is_numeric(question.rules.kind) else None
    return text if number is None else format_number(number)


def _build_annotation(question: Question, answer: Answer | None) -> dict[str, JsonValue]:
    """Return the annotation of an answer: the preview of the chosen option, and a person's note."""
    if answer is None:
        return {"unanswered": "skipped"}
    found: dict[str, JsonValue] = {} if answer.note is None else {"notes": answer.note}
    if answer.choices and not question.multi_select:
        preview = question.options[answer.choices[0].index].preview
        return found if preview is None else found | {"preview": preview}
    return found
