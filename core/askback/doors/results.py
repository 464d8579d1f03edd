"""The result of a door's call for a model or a program, as data and in words: who answered, where, and when. Pure.

A timeout, a refusal, “not now” and a cancellation are four different results.
"""

from __future__ import annotations

__all__ = ["QUESTIONS", "CallKind", "describe_open", "format_name", "to_result"]

import json
from typing import Final, Literal

from pydantic import JsonValue

from askback.client.ask_result import AskResult
from askback.domain.answer_values import list_answer_values, list_fallback_values, list_notes
from askback.domain.ask import Ask
from askback.domain.form import Form
from askback.domain.identity import Actor
from askback.domain.json_answers import build_instance
from askback.domain.outcome import Outcome
from askback.internal.clock import to_iso
from askback.text.bodies import indent_body
from askback.tools import get_tool
from askback.tools.ask_user_question import join_labels
from askback.tools.base import describe_unanswered

PATIENCE = (
    "People often take hours. Nothing is gained by asking again, or by waiting again at once. Tell your user, end your "
    "turn, and call `wait` with this id later."
)

QUESTIONS: Final = "AskUserQuestion"
"""The tool with several questions. Its calls are answered, and never approved."""

CallKind = Literal["ask", "form", "askback_form", "questions", "permit"]
"""The kinds of calls that ask people. A `form` is a JSON Schema, and `questions` are those of `AskUserQuestion`."""


def format_name(person: Actor) -> str:
    """Return a person's name with their id, since anybody can take another's name."""
    return f"{person.display_name} ({person.id})"


def describe_open(ask: Ask, asked: str, where: str, *, for_model: bool = True) -> AskResult:
    """Return the result for an open question. `asked` names the people."""
    deadline = ask.policy.deadline
    until = "" if deadline is None else f" until {deadline:%Y-%m-%d %H:%M} UTC"
    then = PATIENCE if for_model else f"GET /v1/asks/{ask.id} waits for the outcome."
    return AskResult(
        status="open",
        id=ask.id,
        question=ask.interview.form.summary,
        where=where,
        deadline=deadline,
        message=f"Nobody has answered yet. The question stays open for {asked} in {where}{until}. "
        f"Its id is {ask.id}. {then}",
    )


def to_result(ask: Ask, outcome: Outcome, kind: CallKind, where: str, *, for_model: bool = True) -> AskResult:
    """Return the outcome of an ask as data. Its `message` says the same in words.

    A model gets names in which nothing can be taken for an instruction, and is told what not to assume. Programs get
    plain names, and sentences for their users.
    """

    def name(person: Actor) -> str:
        return person.display_name if for_model else person.name or person.id

    form = ask.interview.form
    found: dict[str, JsonValue] = {"status": outcome.state, "id": ask.id}
    if outcome.status == "answered":
        if kind == "form":
            found["values"] = build_instance(form, outcome.answers)
        elif kind == "askback_form":
            found["answers"] = list_answer_values(form, outcome)
        elif kind == "questions":
            found["answers"] = dict(get_tool(QUESTIONS).build_result(_rebuild_input(form), outcome).data)
        else:
            (answer,) = outcome.answers
            found["answer"] = ", ".join(answer.labels) if answer.picked else join_labels(answer, multi_select=True)
            if answer.text is not None:
                found["written"] = True
            if form.questions[0].picks is not None:
                found["picked"] = [{"id": one.id, "name": one.label} for one in outcome.answers[0].picked]
        notes = list_notes(outcome)
        if notes and kind == "ask":
            found["note"] = outcome.answers[0].note
        elif notes:
            found["notes"] = notes
    if outcome.fallback:
        found["fallback"] = (
            build_instance(form, outcome.fallback) if kind == "form" else list_fallback_values(form, outcome)
        )
    if outcome.halted:
        found["halted"] = True
    if outcome.by is not None:
        found |= {"by": name(outcome.by), "by_id": outcome.by.id}
    if outcome.votes:
        found["votes"] = [
            {
                "by": name(vote.by),
                "by_id": vote.by.id,
                "choice": vote.choice.label,
                "reason": vote.reason,
                "at": to_iso(vote.at),
            }
            for vote in outcome.votes
        ]
    found |= {"where": where, "at": to_iso(outcome.at)}
    if outcome.reason is not None:
        found["reason"] = outcome.reason
    found["message"] = _describe(ask, outcome, found, kind, where, for_model=for_model)
    return AskResult.model_validate(found)


def _describe(
    ask: Ask, outcome: Outcome, found: dict[str, JsonValue], kind: CallKind, where: str, *, for_model: bool
) -> str:
    by = "" if outcome.by is None else f" by {format_name(outcome.by)}"
    stamp = f"{by} in {where} at {outcome.at:%Y-%m-%d %H:%M} UTC"
    if outcome.status != "answered":
        ended = {"declined": "Put off", "cancelled": "Cancelled"}.get(outcome.status)
        is_vote = ask.policy.approval is not None
        why = describe_unanswered(outcome, is_vote=is_vote) if for_model else _describe_end(outcome, is_vote=is_vote)
        return why if ended is None else f"{ended}{stamp}. {why}"
    if kind == "questions":
        text = get_tool(QUESTIONS).build_result(_rebuild_input(ask.interview.form), outcome).text
        return f"{text} Answered{stamp}."
    if kind in ("form", "askback_form"):
        answers = found["values" if kind == "form" else "answers"]
        notes = f" Notes: {json.dumps(found['notes'], ensure_ascii=False)}" if "notes" in found else ""
        return f"Answered{stamp}: {json.dumps(answers, ensure_ascii=False)}{notes}"
    reasons = "".join(
        f" {vote.by.display_name} wrote: {indent_body(vote.reason)}" for vote in outcome.votes if vote.reason
    )
    answer = indent_body(_list_picked(outcome) or str(found["answer"]))
    if "written" in found:
        return f"Answered{stamp}, in their own words: {answer}"
    if "note" in found:
        return f"Answered{stamp}: {answer}. They noted: {indent_body(str(found['note']))}"
    return f"{'Refused' if outcome.refused else 'Answered'}{stamp}: {answer}{'.' if reasons else ''}{reasons}"


def _describe_end(outcome: Outcome, *, is_vote: bool) -> str:
    """Return the way an unanswered ask ended, in words for the user of a program."""
    match outcome.status:
        case "timed_out":
            why = f": {outcome.reason}" if outcome.reason else ""
            end = f"Nobody answered in time{why}."
        case "undeliverable":
            reason = (outcome.reason or "the platform cannot reach anybody here").rstrip(". ")
            end = f"The question could not be delivered: {reason}. Nobody saw it."
        case "cancelled":
            end = f"The question was cancelled without an answer.{_quote_reason(outcome)}"
        case _:
            wish = "wants to discuss it first" if outcome.discuss else "did not answer for now"
            end = f"The person {wish}.{_quote_reason(outcome)}"
    if outcome.halted:
        end += " The work stops here, as the card says."
    elif outcome.fallback:
        end += " The default applies, as the card announced. Nobody chose it."
    return f"{end} Nobody approved it." if is_vote else end


def _quote_reason(outcome: Outcome) -> str:
    return f" The reason: {indent_body(outcome.reason)}" if outcome.reason else ""


def _list_picked(outcome: Outcome) -> str:
    """Return the people or channels of an answer, each with its id: anybody can choose a name."""
    return ", ".join(f"{one.label} ({one.id})" for answer in outcome.answers for one in answer.picked)


def _rebuild_input(form: Form) -> dict[str, object]:
    """Return the input of `AskUserQuestion` that asks this form."""
    return {
        "questions": [
            {
                "question": question.prompt,
                "header": question.header or "",
                "multiSelect": question.multi_select,
                "options": [
                    {"label": option.label, "description": option.description or ""} for option in question.options
                ],
            }
            for question in form.questions
        ]
    }
