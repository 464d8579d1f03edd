"""Reads the deferred tool calls of Pydantic AI as questions for people, and writes their answers as its results."""

from __future__ import annotations

__all__ = ["DeferredCall", "build_results", "describe_changes", "read_calls"]

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import JsonValue
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied

from askback.domain import approval
from askback.domain.ask import Ask
from askback.doors.ask_user import ASK_USER, read_questions
from askback.doors.call_question import CallQuestion, Unanswered, get_answered
from askback.doors.langgraph_interrupts import read_value
from askback.doors.results import format_name
from askback.doors.tool_decisions import build_call_question, describe_rejection
from askback.text.unseen import has_visible_text

SCHEMA = "response_schema"
"""The key of a call's metadata with the JSON Schema of its answer."""
TEXTS = ("description", "reason")
"""The keys of a call's metadata with a text for people."""

_Arguments = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, eq=False)
class DeferredCall:
    """A deferred call, with the question about it."""

    id: str
    name: str
    """The name of its hand-over. It is the id, but some models use the same ids in each turn."""
    tool: str
    given: _Arguments
    question: CallQuestion
    read: Callable[[Ask], JsonValue] | None
    """Return the answer to a call that people answer. None for a call that they approve. Raises `Unanswered`."""


def read_calls(
    requests: DeferredToolRequests,
    messages: Sequence[ModelMessage],
    parameters: Mapping[str, _Arguments | None],
) -> list[DeferredCall]:
    """Return the deferred calls of a turn with their questions. Raises `CallerError` if people cannot be asked that.

    `messages` are all of the run. `parameters` has the tools whose arguments people may change, with the JSON Schema of
    these if it is known.
    """
    made = Counter(
        part.tool_call_id
        for message in messages
        if isinstance(message, ModelResponse)
        for part in message.parts
        if isinstance(part, ToolCallPart)
    )

    def read(part: ToolCallPart, *, needs_approval: bool) -> DeferredCall:
        identifier, tool, given = part.tool_call_id, part.tool_name, cast("_Arguments", part.args_as_dict())
        earlier = made[identifier] - 1
        name = f"{identifier}.{earlier}" if earlier > 0 else identifier
        metadata = requests.metadata.get(identifier, {})
        if needs_approval:
            return DeferredCall(identifier, name, tool, given, _read_approval(tool, given, metadata, parameters), None)
        return DeferredCall(identifier, name, tool, given, *_read_call(tool, given, metadata))

    return [
        *(read(part, needs_approval=True) for part in requests.approvals),
        *(read(part, needs_approval=False) for part in requests.calls),
    ]


def _read_approval(
    tool: str, given: _Arguments, metadata: Mapping[str, Any], parameters: Mapping[str, _Arguments | None]
) -> CallQuestion:
    allowed = ("approve", "edit", "reject") if tool in parameters else ("approve", "reject")
    return build_call_question(tool, given, allowed, _find_text(metadata), parameters=parameters.get(tool))


def _read_call(
    tool: str, given: _Arguments, metadata: Mapping[str, Any]
) -> tuple[CallQuestion, Callable[[Ask], JsonValue]]:
    if tool == ASK_USER and (found := read_questions(given)) is not None:
        return found
    schema: object = metadata.get(SCHEMA)
    if isinstance(schema, Mapping) or isinstance(given.get("question"), str):
        value = read_value(tool, dict(given), cast("Mapping[str, JsonValue] | None", schema))
        return value.questions[0], lambda ask: value.read([ask])
    return build_call_question(tool, given, ("respond",), _find_text(metadata)), _read_text


def _find_text(metadata: Mapping[str, Any]) -> str | None:
    """Return the developer's own text about a call for people. The rest of the metadata may be for programs only."""
    found = (metadata.get(name) for name in TEXTS)
    return next((text for text in found if isinstance(text, str) and has_visible_text(text)), None)


def _read_text(ask: Ask) -> JsonValue:
    return "\n".join(get_answered(ask).answers[0].labels)


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
