"""Runs all of the operator's code: validators, the tools themselves, and the conversion of their results.

The functions run off the bot's event loop. No exception of that code leaves them, not even one that would end a thread
or a loop.
"""

from __future__ import annotations

__all__ = [
    "CallEnd",
    "InputCheck",
    "call_in_loop",
    "call_in_thread",
    "check_input_in_loop",
    "check_input_in_thread",
    "describe_missing_approval",
]

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import cast

from askback.errors import ModelError
from askback.user_tools.decorator import ToolContext
from askback.user_tools.function_tool import UserTool
from askback.user_tools.results import ToolOutput, format_error, to_output


@dataclass(frozen=True, slots=True)
class CallEnd:
    """The end of a call."""

    output: ToolOutput
    error: BaseException | None = None
    """The exception that the tool raised."""
    is_invalid_input: bool = False
    """True if the input was wrong, so that the tool was not called."""


@dataclass(frozen=True, slots=True)
class InputCheck:
    """The result of checking the input of a call before people are asked to approve it."""

    end: CallEnd | None = None
    """The end of the call if its input is invalid."""
    is_exempt: bool = False
    """True if the tool's own rule says that this call needs no approval."""
    rule_error: BaseException | None = None
    """The exception that the rule raised. The call then needs approval."""


async def call_in_loop(tool: UserTool, data: object, context: ToolContext, limit: int, *, is_approved: bool) -> CallEnd:
    task = cast("asyncio.Task[object]", asyncio.current_task())
    try:
        arguments = _parse_allowed_arguments(tool, data, context, limit, is_approved=is_approved)
        if isinstance(arguments, CallEnd):
            return arguments
        function = cast("Callable[..., Coroutine[object, object, object]]", tool.function)
        return CallEnd(to_output(await function(**arguments), limit))
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and task.cancelling():
            raise  # cancelled by us, not by the tool
        return CallEnd(format_error(error, limit), error=error)


def call_in_thread(tool: UserTool, data: object, context: ToolContext, limit: int, *, is_approved: bool) -> CallEnd:
    try:
        arguments = _parse_allowed_arguments(tool, data, context, limit, is_approved=is_approved)
        if isinstance(arguments, CallEnd):
            return arguments
        value = tool.function(**arguments)
        if inspect.isawaitable(value):
            if inspect.iscoroutine(value):
                value.close()
            raise TypeError("The tool returned an awaitable, not a result. Declare its function with async def.")
        return CallEnd(to_output(value, limit))
    except BaseException as error:  # noqa: BLE001 - see the module
        return CallEnd(format_error(error, limit), error=error)


async def check_input_in_loop(tool: UserTool, data: object, context: ToolContext, limit: int) -> InputCheck:
    return check_input_in_thread(tool, data, context, limit)


def check_input_in_thread(tool: UserTool, data: object, context: ToolContext, limit: int) -> InputCheck:
    """Check an input, and let the tool's own rule say if the call needs approval."""
    try:
        arguments = _parse_arguments(tool, data, context, limit)
    except BaseException as error:  # noqa: BLE001 - see the module
        return InputCheck(CallEnd(format_error(error, limit), error=error))
    if isinstance(arguments, CallEnd):
        return InputCheck(arguments)
    try:
        return InputCheck(is_exempt=tool.is_exempt(arguments))
    except BaseException as error:  # noqa: BLE001 - see the module
        return InputCheck(rule_error=error)


def _parse_allowed_arguments(
    tool: UserTool, data: object, context: ToolContext, limit: int, *, is_approved: bool
) -> dict[str, object] | CallEnd:
    """Return the arguments of a call that may run, or else its end.

    A call without an approval may run only if the tool's rule still exempts it, since the rule or the tool may have
    changed after the model made the call.
    """
    arguments = _parse_arguments(tool, data, context, limit)
    if isinstance(arguments, CallEnd) or is_approved or not tool.approval or tool.is_exempt(arguments):
        return arguments
    return CallEnd(to_output(describe_missing_approval(tool.name), limit).evolve(is_error=True), is_invalid_input=True)


def describe_missing_approval(name: str) -> str:
    """Return the reason why a call did not run, in words for the model: the tool did not need approval before."""
    return f"{name} was not run: it now needs an approval, which is missing. Call it again."


def _parse_arguments(tool: UserTool, data: object, context: ToolContext, limit: int) -> dict[str, object] | CallEnd:
    """Return the arguments, or the end of a call whose input is wrong."""
    try:
        return tool.parse_arguments(data, context)
    except ModelError as error:
        return CallEnd(to_output(str(error), limit).evolve(is_error=True), is_invalid_input=True)
