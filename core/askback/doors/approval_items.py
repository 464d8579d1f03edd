"""Reads the tool calls that interrupt a run of the OpenAI Agents SDK, and writes decisions into its state."""

from __future__ import annotations

__all__ = ["InterruptedCall", "decide", "find_edits", "read_calls"]

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast

from agents import RunState, ToolApprovalItem
from pydantic import BaseModel, JsonValue

from askback.domain import approval
from askback.domain.ask import Ask
from askback.doors.ask_tool import find_ask_tool, parse_arguments
from askback.doors.call_question import CallQuestion
from askback.doors.editable_tool import EditedCall, find_editable_tool
from askback.doors.results import CallKind, format_name, to_result
from askback.doors.tool_decisions import build_call_question, describe_rejection
from askback.errors import CallerError, ModelError

_IDS: Final = frozenset({"id", "call_id", "type", "status"})
"""Fields of a call of a built-in tool that are none of its arguments."""


@dataclass(frozen=True, slots=True, eq=False)
class InterruptedCall:
    """A call that waits for people."""

    item: ToolApprovalItem
    id: str
    tool: str
    given: Mapping[str, JsonValue]
    kind: CallKind
    question: CallQuestion


def read_calls(items: Sequence[ToolApprovalItem]) -> list[InterruptedCall]:
    """Return the calls of a turn with their questions. Raises `CallerError` if people cannot be asked about them."""
    calls = [_read_call(item) for item in items]
    if len({call.id for call in calls}) < len(calls):
        raise CallerError("Two calls of one turn have the same id, so askback cannot tell them apart: run it again.")
    return calls


def _read_call(item: ToolApprovalItem) -> InterruptedCall:
    tool, call_id = item.qualified_name or item.name, item.call_id
    if not tool or not call_id:
        raise CallerError("A call has no name or no id, so people cannot be asked about it: use another tool.")
    given = _read_arguments(item)
    asking = find_ask_tool(item)
    if asking is not None:
        with suppress(ModelError, CallerError):  # of what is not JSON, people read the text, and the tool says why
            return InterruptedCall(item, call_id, tool, given, *asking.read(given))
    changing = find_editable_tool(item)
    decisions = ("approve", "reject") if changing is None else ("approve", "edit", "reject")
    parameters = None if changing is None else changing.params_json_schema
    question = build_call_question(tool, given, decisions, None, parameters=parameters)
    return InterruptedCall(item, call_id, tool, given, "permit", question)


def _read_arguments(item: ToolApprovalItem) -> Mapping[str, JsonValue]:
    """Return all arguments. Those of built-in tools, such as a shell, are in fields of the call itself."""
    raw: object = item.raw_item
    data = raw.model_dump(mode="json", exclude_none=True) if isinstance(raw, BaseModel) else raw
    data = cast("dict[str, JsonValue]", data)
    if data.get("type") != "function_call":
        return {key: value for key, value in data.items() if key not in _IDS}
    return parse_arguments(str(data.get("arguments") or ""))


def find_edits(calls: Sequence[InterruptedCall], asks: Mapping[str, Ask]) -> dict[str, EditedCall]:
    """Return the calls that people approved with changes, by their ids."""
    found: dict[str, EditedCall] = {}
    for call in calls:
        ask = asks[call.id]
        data = approval.get_approved_arguments(ask, call.tool, call.given) if call.kind == "permit" else None
        if data is not None and ask.interview.changes:
            told = approval.describe_changes(call.tool, ask.interview.changes, format_name)
            found[call.id] = EditedCall(data, told)
    return found


def decide(state: RunState[Any], call: InterruptedCall, ask: Ask, where: str) -> str | None:
    """Approve a call in the state of the run, or reject it with the reason. Return what people answered to a question.

    The model reads who denied a call and why, or that nobody answered.
    """
    outcome = ask.outcome
    assert outcome is not None
    if call.kind == "permit":
        told = None
        allowed = approval.get_approved_arguments(ask, call.tool, call.given) is not None
        rejection = describe_rejection(call.tool, outcome)
    else:
        told = rejection = to_result(ask, outcome, call.kind, where).message
        allowed = outcome.status == "answered"
    if allowed:
        state.approve(call.item)
    else:
        state.reject(call.item, rejection_message=rejection)
    return told
