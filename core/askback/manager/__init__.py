"""The question manager: the entry point for asking, answering and reading questions."""

from askback.manager.access_control import AccessControl
from askback.manager.cards import Paint
from askback.manager.denials import NOTICE_SECONDS, UNCERTAIN, describe_failure
from askback.manager.new_asks import build_ask, build_policy
from askback.manager.questions import QuestionManager

__all__ = [
    "NOTICE_SECONDS",
    "UNCERTAIN",
    "AccessControl",
    "Paint",
    "QuestionManager",
    "build_ask",
    "build_policy",
    "describe_failure",
]
