"""Decisions about the tool calls of an agent framework: approve, reject with a reason, or answer in the tool's place.

Pure. If the framework allows it, people can change the arguments before they approve the call. That removes all votes,
since what several people vote on must be the same.
"""

from __future__ import annotations

__all__ = ["build_call_question", "describe_rejection", "read_decision"]

from collections.abc import Collection, Mapping

from pydantic import JsonValue

from askback.domain import approval
from askback.domain.ask import Ask
from askback.domain.edit_rules import EditRules, build_edit_rules, build_partial_rules, infer_schema
from askback.domain.form import Form, Question
from askback.domain.outcome import Outcome
from askback.domain.schema_choices import UnsupportedSchema
from askback.doors.call_question import CallQuestion, Unanswered
from askback.doors.results import format_name
from askback.errors import CallerError
from askback.text.literal import quote_line
from askback.tools.base import describe_unanswered
from askback.translations.catalogue import _

RESPONSE = "response"
"""The id of the question whose answer replaces the tool's result."""


def build_call_question(
    tool: str,
    given: Mapping[str, JsonValue],
    allowed: Collection[str],
    description: str | None,
    *,
    parameters: Mapping[str, JsonValue] | None = None,
) -> CallQuestion:
    """Return the question about a call. `description` is the developer's own text for people.

    `parameters` is the JSON Schema of the tool's arguments, if the framework publishes it. Raises `CallerError` if the
    allowed decisions cannot be asked, or the arguments are too long to show.
    """
    data = dict(given)
    digest = approval.compute_digest(tool, data)
    form = approval.build_form(tool, data, description=description)
    (question,) = form.questions
    if {"approve", "reject"} <= set(allowed):
        if "edit" not in allowed:
            return CallQuestion("permit", form, digest)
        edits, notes = _build_edit_rules(tool, data, parameters, description)
        return CallQuestion("permit", form, digest, edits=edits, notes=notes)
    if "respond" in allowed and "approve" not in allowed:
        run, answer = _("Run {tool}?").format(tool=tool), _("Answer for {tool}:").format(tool=tool)
        text = question.prompt.replace(run, answer, 1)
        written = Question(id=RESPONSE, header=tool, prompt=text, details=question.details)
        return CallQuestion("ask", Form(questions=(written,)), digest)
    raise CallerError(
        f"The decisions allowed for {tool} are {', '.join(sorted(allowed)) or 'none'}. askback asks people to approve "
        "or reject a call, or to answer for the tool: allow “approve” and “reject”, or “respond” without “approve”."
    )


def _build_edit_rules(
    tool: str, data: Mapping[str, JsonValue], parameters: Mapping[str, JsonValue] | None, description: str | None
) -> tuple[EditRules, tuple[str, ...]]:
    """Return what people may change, and why not more. Without a schema, that is each text, number, boolean and list.

    What does not fit into a form stays as it is, and the card says so.
    """
    try:
        rules, fixed = build_partial_rules(infer_schema(data) if parameters is None else parameters, data)
    except UnsupportedSchema as error:
        notes = (f"Nobody can change the arguments of {tool}: {error}",)
        return build_edit_rules(data, None, description=description), notes
    notes = tuple(f"Nobody can change {quote_line(one.name)} of {tool}: {one.why}" for one in fixed)
    return build_edit_rules(data, rules, description=description), notes


def read_decision(
    tool: str, given: Mapping[str, JsonValue], allowed: Collection[str], ask: Ask
) -> dict[str, JsonValue]:
    """Return the decision about a call. The message for the model says who rejected it, or that nobody decided.

    Raises `Unanswered` if nobody answered, and a rejection is not allowed.
    """
    outcome = ask.outcome
    assert outcome is not None
    if not approval.is_approval(ask):
        if outcome.status == "answered":
            return {"type": "respond", "message": "\n".join(outcome.answers[0].labels)}
        if "reject" not in allowed:
            raise Unanswered(ask, outcome)
        return {"type": "reject", "message": describe_unanswered(outcome)}
    data = approval.get_approved_arguments(ask, tool, given)
    if data is not None and ask.interview.changes:
        return {"type": "edit", "edited_action": {"name": tool, "args": data}}
    if data is not None:
        return {"type": "approve"}
    return {"type": "reject", "message": describe_rejection(tool, outcome)}


def describe_rejection(tool: str, outcome: Outcome) -> str:
    """Return the reason why a call does not run, in words for a model. Each way to end has its own."""
    match outcome.status:
        case "answered":
            return approval.describe_unapproved(tool, outcome, format_name)
        case "declined":  # withdrawn by nobody, so this is not the sentence for a cancellation
            return f"{describe_unanswered(outcome)} {tool} was not run. Nobody denied it."
        case _:
            return f"{approval.describe_unapproved(tool, outcome, format_name)} Nobody denied it."
