"""Reads the deferred tool calls of Pydantic AI as questions for people, and writes their answers as its results."""

from __future__ import annotations

__all__ = ["DeferredCall", "build_results", "describe_changes", "read_calls"]

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import JsonValue
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied

from askback.domain import approval
from askback.domain.ask import Ask
from askback.doors.ask_user import ASK_USER, read_questions
from askback.doors.call_question import CallQuestion, Unanswered, get_answered
from askback.doors.interrupts import read_value
from askback.doors.results import format_name
from askback.doors.tool_decisions import build_call_question, describe_rejection

SCHEMA = "response_schema"
"""The key of a call's metadata with the JSON Schema of its answer."""


@dataclass(frozen=True, slots=True, eq=False)
class DeferredCall:
    """A deferred call, with the question about it."""

    id: str
    tool: str
    given: Mapping[str, JsonValue]
    question: CallQuestion
    read: Callable[[Ask], JsonValue] | None
    """Return the answer to a call that people answer. None for a call that they approve. Raises `Unanswered`."""


def read_calls(
    requests: DeferredToolRequests, parameters: Mapping[str, Mapping[str, JsonValue] | None] | None = None
) -> list[DeferredCall]:
    """Return the deferred calls of a turn with their questions. Raises `CallerError` if people cannot be asked that.

    `parameters` has the tools whose arguments people may change, with the JSON Schema of these if it is known.
    """
    return [
        *(_read_approval(part, parameters or {}) for part in requests.approvals),
        *(_read_call(part, requests.metadata.get(part.tool_call_id, {})) for part in requests.calls),
    ]


def _read_approval(part: ToolCallPart, parameters: Mapping[str, Mapping[str, JsonValue] | None]) -> DeferredCall:
    given, tool = _get_arguments(part), part.tool_name
    allowed = ("approve", "edit", "reject") if tool in parameters else ("approve", "reject")
    question = build_call_question(tool, given, allowed, None, parameters=parameters.get(tool))
    return DeferredCall(part.tool_call_id, part.tool_name, given, question, None)


def _read_call(part: ToolCallPart, metadata: Mapping[str, Any]) -> DeferredCall:
    given = _get_arguments(part)
    if part.tool_name == ASK_USER and (found := read_questions(given)) is not None:
        return DeferredCall(part.tool_call_id, part.tool_name, given, *found)
    schema: object = metadata.get(SCHEMA)
    if isinstance(schema, Mapping) or isinstance(given.get("question"), str):
        value = read_value(part.tool_call_id, dict(given), cast("Mapping[str, JsonValue] | None", schema))
        return DeferredCall(part.tool_call_id, part.tool_name, given, value.questions[0], lambda ask: value.read([ask]))
    question = build_call_question(part.tool_name, given, ("respond",), None)
    return DeferredCall(part.tool_call_id, part.tool_name, given, question, _read_text)


def _read_text(ask: Ask) -> JsonValue:
    return "\n".join(get_answered(ask).answers[0].labels)


def _get_arguments(part: ToolCallPart) -> Mapping[str, JsonValue]:
    return cast("Mapping[str, JsonValue]", part.args_as_dict())


def describe_changes(settled: Iterable[tuple[DeferredCall, Ask]]) -> str | None:
    """Return what people changed about the calls that run, in words for the model. None if they changed nothing."""
    found = [
        approval.describe_changes(call.tool, ask.interview.changes, format_name)
        for call, ask in settled
        if call.read is None and approval.get_approved_arguments(ask, call.tool, call.given) is not None
    ]
    return "\n\n".join(filter(None, found)) or None


def build_results(settled: Iterable[tuple[DeferredCall, Ask]]) -> DeferredToolResults:
    """Return the results of all calls. The model reads who denied a call and why, or that nobody answered."""
    results = DeferredToolResults()
    for call, ask in settled:
        outcome = ask.outcome
        assert outcome is not None
        # Older versions of Pydantic AI have no place for the name.
        if outcome.by is not None and hasattr(results, "answered_by"):
            results.answered_by[call.id] = format_name(outcome.by)
        if call.read is None:
            data = approval.get_approved_arguments(ask, call.tool, call.given)
            if data is None:
                results.approvals[call.id] = ToolDenied(describe_rejection(call.tool, outcome))
            else:
                results.approvals[call.id] = ToolApproved(override_args=data if ask.interview.changes else None)
            continue
        try:
            results.calls[call.id] = call.read(ask)
        except Unanswered as unanswered:
            results.calls[call.id] = ToolFailed(str(unanswered))
    return results
