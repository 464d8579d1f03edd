"""Let an AI agent stop and ask people, and return their structured answers to it.

Every name is loaded at its first use, so `import askback` costs almost nothing.
"""

from __future__ import annotations

from importlib import import_module

# Not imported from `typing`: `python -m askback` would search the untrusted working directory for that module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from askback.client.answer_contents import read_file
    from askback.client.api import ask, ask_async
    from askback.client.ask_and_wait import Progress, UnknownKey
    from askback.client.result import AskOutcome, AskVote
    from askback.domain.answer_file import AnswerFile
    from askback.domain.ask import Ask
    from askback.domain.ask_policy import Approval, Escalation, Policy
    from askback.domain.file_rules import FileRules
    from askback.domain.form import Condition, Form, Option, Question, TextRules
    from askback.domain.identity import Actor, MessageRef, Place
    from askback.domain.line_rules import LineRules
    from askback.domain.open_ask_limits import Limits
    from askback.domain.outcome import Answer, Choice, Outcome, Picked
    from askback.domain.who import Who
    from askback.errors import AskbackError, CallerError, InvalidValue, ModelError, OperatorError, PersonError
    from askback.manager import QuestionManager
    from askback.ports.bot import Bot, BotOptions, BotSetup
    from askback.ports.directory import UnknownName
    from askback.ports.installed_bots import get_bot
    from askback.ports.platform import DeliveryError, RetryableError
    from askback.runtime.app import Host, open_host
    from askback.settings.core import Settings
    from askback.store.errors import StoreBusy, StoreError, StoreUnavailable
    from askback.tools import QuestionTool, ToolResult, get_tool
    from askback.user_tools.decorator import ToolContext, tool

    __version__: str

__all__ = [
    "Actor",
    "Answer",
    "AnswerFile",
    "Approval",
    "Ask",
    "AskOutcome",
    "AskVote",
    "AskbackError",
    "Bot",
    "BotOptions",
    "BotSetup",
    "CallerError",
    "Choice",
    "Condition",
    "DeliveryError",
    "Escalation",
    "FileRules",
    "Form",
    "Host",
    "InvalidValue",
    "Limits",
    "LineRules",
    "MessageRef",
    "ModelError",
    "OperatorError",
    "Option",
    "Outcome",
    "PersonError",
    "Picked",
    "Place",
    "Policy",
    "Progress",
    "Question",
    "QuestionManager",
    "QuestionTool",
    "RetryableError",
    "Settings",
    "StoreBusy",
    "StoreError",
    "StoreUnavailable",
    "TextRules",
    "ToolContext",
    "ToolResult",
    "UnknownKey",
    "UnknownName",
    "Who",
    "__version__",
    "ask",
    "ask_async",
    "get_bot",
    "get_tool",
    "open_host",
    "read_file",
    "tool",
]

_HOMES = {
    "client.answer_contents": ("read_file",),
    "client.api": ("ask", "ask_async"),
    "client.result": ("AskOutcome", "AskVote"),
    "client.ask_and_wait": ("Progress", "UnknownKey"),
    "domain.ask": ("Ask",),
    "ports.bot": ("Bot", "BotOptions", "BotSetup"),
    "ports.installed_bots": ("get_bot",),
    "ports.directory": ("UnknownName",),
    "errors": ("AskbackError", "CallerError", "InvalidValue", "ModelError", "OperatorError", "PersonError"),
    "runtime.app": ("Host", "open_host"),
    "domain.identity": ("Actor", "MessageRef", "Place"),
    "manager": ("QuestionManager",),
    "user_tools.decorator": ("ToolContext", "tool"),
    "ports.platform": ("RetryableError", "DeliveryError"),
    "domain.open_ask_limits": ("Limits",),
    "domain.ask_policy": ("Approval", "Escalation", "Policy"),
    "domain.answer_file": ("AnswerFile",),
    "domain.file_rules": ("FileRules",),
    "domain.form": ("Condition", "Form", "Option", "Question", "TextRules"),
    "domain.line_rules": ("LineRules",),
    "domain.outcome": ("Answer", "Choice", "Outcome", "Picked"),
    "domain.who": ("Who",),
    "settings.core": ("Settings",),
    "store.errors": ("StoreBusy", "StoreError", "StoreUnavailable"),
    "tools": ("QuestionTool", "ToolResult", "get_tool"),
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
