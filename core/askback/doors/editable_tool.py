"""Tools of the OpenAI Agents SDK whose arguments people may change before they approve a call.

An approval of the SDK has no place for other arguments. So the state of a run keeps the model's call, and the tool
itself is invoked with what people approved. That needs only the public parts of a `FunctionTool`.
"""

from __future__ import annotations

__all__ = ["EditedCall", "editable", "find_editable_tool", "use_edits"]

import copy
import json
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from pydantic import JsonValue

from askback.errors import CallerError
from askback.internal.extras import import_extra

with import_extra("openai-agents", "The door for OpenAI Agents"):
    from agents import FunctionTool, ToolApprovalItem, ToolOutputFileContent, ToolOutputImage, ToolOutputText
    from agents.tool_context import ToolContext

_STRUCTURED: Final = (ToolOutputText, ToolOutputImage, ToolOutputFileContent)


@dataclass(frozen=True, slots=True)
class EditedCall:
    """A call that people approved with changes."""

    arguments: Mapping[str, JsonValue]
    """All arguments with which the tool runs."""
    told: str
    """The changes, in words for the model."""


_edits: ContextVar[Mapping[str, EditedCall]] = ContextVar("askback_edits")


class _Invoker:
    """Invokes a tool with the arguments that people approved."""

    def __init__(self, invoke: Callable[[ToolContext[Any], str], Awaitable[Any]]) -> None:
        self._invoke = invoke

    async def __call__(self, context: ToolContext[Any], arguments: str) -> Any:
        edited = _edits.get({}).get(context.tool_call_id)
        if edited is None:
            return await self._invoke(context, arguments)
        changed = json.dumps({**edited.arguments}, ensure_ascii=False)
        # A context of its own, because that of the call holds the model's arguments, in part parsed.
        own: ToolContext[Any] = ToolContext.from_agent_context(
            context,
            context.tool_call_id,
            context.tool_call,
            context.agent,
            tool_name=context.tool_name,
            tool_arguments=changed,
            tool_namespace=context.tool_namespace,
            run_config=context.run_config,
        )
        return _add(edited.told, await self._invoke(own, changed))


def editable(tool: FunctionTool) -> FunctionTool:
    """Return a copy of a tool whose arguments approvers may change. It needs approval, and `OpenAIAgentsDoor`.

    Raises `CallerError` if guardrails of the tool would check other arguments than those with which it runs.
    """
    if tool.tool_input_guardrails:
        raise CallerError(
            f"The tool {tool.name} has input guardrails, which would not see what people change: check the arguments "
            "in the tool itself, or leave out editable()."
        )
    copied = copy.copy(tool)
    copied.on_invoke_tool = _Invoker(copied.on_invoke_tool)
    return copied


def find_editable_tool(item: ToolApprovalItem) -> FunctionTool | None:
    """Return the tool of a call if people may change its arguments. None if they may not."""
    for one in item.agent.tools:
        if isinstance(one, FunctionTool) and one.qualified_name == item.qualified_name:
            return one if isinstance(one.on_invoke_tool, _Invoker) else None
    return None


@contextmanager
def use_edits(edits: Mapping[str, EditedCall]) -> Generator[None]:
    """Let these calls run with changed arguments inside this block. The keys are the ids of the calls."""
    token = _edits.set(edits)
    try:
        yield
    finally:
        _edits.reset(token)


def _add(told: str, output: Any) -> Any:
    """Return the output of a tool with the changes in front of it."""
    if isinstance(output, _STRUCTURED):
        return [ToolOutputText(text=told), output]
    if isinstance(output, list) and output and all(isinstance(one, _STRUCTURED) for one in output):  # pyright: ignore[reportUnknownVariableType] - checked here
        return [ToolOutputText(text=told), *output]  # pyright: ignore[reportUnknownVariableType] - checked above
    return f"{told}\n\n{output}"
