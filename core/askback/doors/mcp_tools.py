"""The tools of `askback mcp` as a model reads them."""

from __future__ import annotations

__all__ = ["INSTRUCTIONS", "describe_tools"]

from collections.abc import Sequence
from typing import Any, Final, cast

from mcp_types import Tool, ToolAnnotations
from pydantic import JsonValue

from askback.client.ask_result import AskResult
from askback.doors.ask_lists import CallerAskList
from askback.doors.results import QUESTIONS
from askback.doors.tool_inputs import AskInput, CancelInput, NoInput, PermitInput, WaitInput
from askback.tools import get_tool
from askback.tools.lenient_parser import build_schema

INSTRUCTIONS: Final = (
    "These tools ask people in a team chat, who answer in minutes or hours. Ask for decisions, preferences and facts "
    "that only people have, and not for what you can find out or decide yourself. If the status of a result is “open”, "
    "nobody has answered yet: end your turn, and call `wait` with its id later. “timed_out” means that nobody "
    "answered, which is neither a yes nor a no. `pending` lists what you have asked, also in an earlier session."
)
_ASK: Final = (
    "Ask people in the team chat one question, and wait for the answer. Give options for people to choose from, or a "
    "form for several answers, or neither for a written answer. If the result says that the question is open, nobody "
    "has answered yet: end your turn, and call `wait` with its id later."
)
_QUESTIONS: Final = (
    "Ask people in the team chat 1-4 multiple-choice questions, and wait for their answers. People can always write "
    'their own answer instead. If you recommend an option, put it first and end its label with "(Recommended)". If the '
    "result says that the questions are open, end your turn, and call `wait` with the id later."
)
_WAIT: Final = (
    "Wait for the answer to a question that is still open, or read the result of one that has ended. It returns what "
    "`ask` returns. Call it later, not at once: people take hours."
)
_CANCEL: Final = (
    "Withdraw an open question of yours that nobody needs to answer any more. People then see that it was cancelled. "
    "If somebody has answered already, it returns that answer."
)
_PENDING: Final = (
    "List your open questions in `pending`, and those that have ended and whose result you have not read in `unread`, "
    "each with its id for `wait`. Call it if you no longer know what you have asked, such as in a new session."
)
_PERMIT: Final = (
    "Ask approvers in the team chat if a call of a tool may run. Claude Code itself calls this before it runs a "
    "tool (--permission-prompt-tool): do not call it yourself."
)
_ASKS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True
)
_READS: Final = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=True)
"""The hints of `wait`. It returns what people wrote."""
_LISTS: Final = _READS.model_copy(update={"open_world_hint": False})
"""The hints of `pending`, which returns only what the agent itself has written."""
_WITHDRAWS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=True
)
"""The hints of `cancel`, which ends a question for good."""


def describe_tools(places: Sequence[str], *, permit: bool) -> tuple[Tool, ...]:
    """Return the tools. A model can choose only among several places."""
    # People come from the operator's rules, not from the model.
    questions = _without(get_tool(QUESTIONS).input_schema, "to")
    ask = build_schema(AskInput)
    if len(places) > 1:
        place = cast("dict[str, JsonValue]", cast("dict[str, JsonValue]", ask["properties"])["place"])
        place["description"] = f"Where to ask: {', '.join(places)}. The default is the first."
    else:
        ask = _without(ask, "place")
    # No agent can name a webhook.
    result = _without(build_schema(AskResult), "webhooks")
    listed = build_schema(CallerAskList)
    found = [
        _describe("ask", "Ask people", _ASK, ask, result),
        _describe(QUESTIONS, "Ask people several questions", _QUESTIONS, questions, result),
        _describe("wait", "Wait for an answer", _WAIT, build_schema(WaitInput), result, _READS),
        _describe("cancel", "Cancel a question", _CANCEL, build_schema(CancelInput), result, _WITHDRAWS),
        _describe("pending", "List your questions", _PENDING, build_schema(NoInput), listed, _LISTS),
    ]
    if permit:
        # Claude Code accepts no structured content as a decision.
        found.append(_describe("permit", "Ask for permission", _PERMIT, build_schema(PermitInput), None))
    return tuple(found)


def _without(schema: dict[str, JsonValue], name: str) -> dict[str, JsonValue]:
    """Return a schema without one property."""
    properties = cast("dict[str, JsonValue]", schema["properties"])
    return {**schema, "properties": {key: value for key, value in properties.items() if key != name}}


def _describe(
    name: str,
    title: str,
    description: str,
    given: dict[str, JsonValue],
    result: dict[str, JsonValue] | None,
    annotations: ToolAnnotations = _ASKS,
) -> Tool:
    return Tool(
        name=name,
        title=title,
        description=description,
        input_schema=cast("dict[str, Any]", given),
        output_schema=cast("dict[str, Any] | None", result),
        # Clients of the specification 2025-03-26 know the title only from there.
        annotations=annotations.model_copy(update={"title": title}),
        # Claude Code hides tools behind a search otherwise. It calls `permit` itself.
        _meta=None if name == "permit" else {"anthropic/alwaysLoad": True},
    )
