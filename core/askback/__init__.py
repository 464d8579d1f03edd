"""Lets an AI agent stop and ask people, and hands the structured answer back.

Everything here is loaded when it is first used, so that `import askback` costs nothing.
"""

from __future__ import annotations

from importlib import import_module

# Not from `typing`: `python -m askback` would look for that in the working directory, which is not trusted.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from askback.asking.api import ask, ask_async
    from askback.asking.result import AskOutcome, AskVote
    from askback.asking.waiting import Progress, UnknownKey
    from askback.asks import Ask
    from askback.bots import Bot, bot_named
    from askback.directory import UnknownName
    from askback.errors import AskbackError, CallerError, InvalidValue, ModelError, OperatorError, PersonError
    from askback.identity import Actor, MessageRef, Place
    from askback.manager import QuestionManager
    from askback.own.declare import ToolContext, tool
    from askback.platform import TryLater, Undeliverable
    from askback.policy import Approval, Escalation, Limits, Policy, Who
    from askback.questions import Answer, Choice, Condition, Form, Option, Outcome, Question, TextRules
    from askback.serving.host import Host, running
    from askback.settings.core import Settings
    from askback.store.errors import StoreBusy, StoreError, StoreUnavailable
    from askback.tools import QuestionTool, ToolResult, tool_named

    __version__: str

__all__ = [
    "Actor",
    "Answer",
    "Approval",
    "Ask",
    "AskOutcome",
    "AskVote",
    "AskbackError",
    "Bot",
    "CallerError",
    "Choice",
    "Condition",
    "Escalation",
    "Form",
    "Host",
    "InvalidValue",
    "Limits",
    "MessageRef",
    "ModelError",
    "OperatorError",
    "Option",
    "Outcome",
    "PersonError",
    "Place",
    "Policy",
    "Progress",
    "Question",
    "QuestionManager",
    "QuestionTool",
    "Settings",
    "StoreBusy",
    "StoreError",
    "StoreUnavailable",
    "TextRules",
    "ToolContext",
    "ToolResult",
    "TryLater",
    "Undeliverable",
    "UnknownKey",
    "UnknownName",
    "Who",
    "__version__",
    "ask",
    "ask_async",
    "bot_named",
    "running",
    "tool",
    "tool_named",
]

_HOMES = {
    "asking.api": ("ask", "ask_async"),
    "asking.result": ("AskOutcome", "AskVote"),
    "asking.waiting": ("Progress", "UnknownKey"),
    "asks": ("Ask",),
    "bots": ("Bot", "bot_named"),
    "directory": ("UnknownName",),
    "errors": ("AskbackError", "CallerError", "InvalidValue", "ModelError", "OperatorError", "PersonError"),
    "serving.host": ("Host", "running"),
    "identity": ("Actor", "MessageRef", "Place"),
    "manager": ("QuestionManager",),
    "own.declare": ("ToolContext", "tool"),
    "platform": ("TryLater", "Undeliverable"),
    "policy": ("Approval", "Escalation", "Limits", "Policy", "Who"),
    "questions": ("Answer", "Choice", "Condition", "Form", "Option", "Outcome", "Question", "TextRules"),
    "settings.core": ("Settings",),
    "store.errors": ("StoreBusy", "StoreError", "StoreUnavailable"),
    "tools": ("QuestionTool", "ToolResult", "tool_named"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("askback")
    elif name in _HOME:
        value = getattr(import_module(f"askback.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
