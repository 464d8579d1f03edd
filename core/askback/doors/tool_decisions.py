"""Decisions about the tool calls of an agent framework: approve, reject with a reason, or answer in the tool's place.

Pure. People never edit arguments here, since what several people vote on must not change meanwhile. They reject the
call with a reason instead, and the model calls the tool again.
"""

from __future__ import annotations

__all__ = ["build_call_question", "describe_rejection", "read_decision"]

from collections.abc import Collection, Mapping

from pydantic import JsonValue

from askback.domain import approval
from askback.domain.approval_title import escape_unseen
from askback.domain.ask import Ask
from askback.domain.form import Form, Question
from askback.domain.form_limits import MAX_PROMPT
from askback.domain.outcome import Outcome
from askback.doors.call_question import CallQuestion, Unanswered
from askback.doors.results import format_name
from askback.errors import CallerError
from askback.tools.base import describe_unanswered
from askback.translations.catalogue import _

RESPONSE = "response"
"""The id of the question whose answer replaces the tool's result."""


def build_call_question(
    tool: str, given: Mapping[str, JsonValue], allowed: Collection[str], description: str | None
) -> CallQuestion:
    """Return the question about a call. `description` is the developer's own text for people.

    Raises `CallerError` if the allowed decisions cannot be asked, or the arguments are too long to show.
    """
    data = dict(given)
    digest = approval.compute_digest(tool, data)
    (question,) = approval.build_form(tool, data).questions
    prompt = question.prompt if not description else f"{escape_unseen(description)}\n\n{question.prompt}"
    if len(prompt) > MAX_PROMPT:
        raise CallerError(f"The description of {tool} is too long for a card: shorten it.")
    if {"approve", "reject"} <= set(allowed):
        return CallQuestion("permit", Form(questions=(question.evolve(prompt=prompt),)), digest)
    if "respond" in allowed and "approve" not in allowed:
        run, answer = _("Run {tool}?").format(tool=tool), _("Answer for {tool}:").format(tool=tool)
        text = prompt.replace(run, answer, 1)
        written = Question(id=RESPONSE, header=tool, prompt=text, details=question.details)
        return CallQuestion("ask", Form(questions=(written,)), digest)
    raise CallerError(
        f"The decisions allowed for {tool} are {', '.join(sorted(allowed)) or 'none'}. askback asks people to approve "
        "or reject a call, or to answer for the tool, and cannot let them edit its arguments: allow “approve” and "
        "“reject”, or “respond” without “approve”."
    )


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
    if approval.is_allowed(ask, tool, dict(given), own=True):
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
