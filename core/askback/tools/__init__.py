"""The question tools, by the names that models call."""

from __future__ import annotations

__all__ = [
    "TOOLS",
    "AskQuestion",
    "AskTool",
    "AskUserQuestion",
    "QuestionTool",
    "QuestionsTool",
    "ToolInput",
    "ToolResult",
    "get_tool",
    "is_import_path",
]

import re

from askback.errors import CallerError
from askback.tools.ask import AskTool
from askback.tools.ask_question import AskQuestion
from askback.tools.ask_user_question import AskUserQuestion
from askback.tools.base import QuestionTool, ToolResult
from askback.tools.lenient_parser import ToolInput
from askback.tools.question import QuestionsTool

TOOLS: dict[str, QuestionTool[ToolInput]] = {
    tool.name: tool for tool in (AskUserQuestion(), QuestionsTool(), AskQuestion(), AskTool())
}  # type: ignore[assignment] - each tool takes its own kind of input
"""Every question tool, `AskUserQuestion` first: models know it best."""


_IMPORT_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def is_import_path(name: str) -> bool:
    """Return True if a name has the form `module:attribute`, the location of a tool of the operator."""
    return _IMPORT_PATH.fullmatch(name) is not None


def get_tool(name: str) -> QuestionTool[ToolInput]:
    """Return the question tool of that name. Raises `CallerError`, which lists the existing names."""
    try:
        return TOOLS[name]
    except KeyError:
        raise CallerError(f"There is no question tool {name!r}. The tools are {', '.join(TOOLS)}.") from None
