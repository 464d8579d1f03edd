"""Reads calls of Claude Code's tools as questions for people, and writes their answers as permission results. Pure."""

from __future__ import annotations

__all__ = ["AnsweredCall", "GatedTools", "build_result", "name_call"]

from dataclasses import dataclass

from claude_agent_sdk import PermissionResult, PermissionResultAllow, PermissionResultDeny
from pydantic import JsonValue

from askback.domain import approval
from askback.domain.ask import Ask
from askback.domain.hand_over import HandOver
from askback.doors.call_question import CallQuestion
from askback.doors.permission import answer_questions, build_questions
from askback.doors.results import QUESTIONS
from askback.doors.tool_decisions import build_call_question, describe_rejection


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A deferred call, and what people said about it."""

    hand_over: HandOver
    ask: Ask

    @property
    def tool_use_id(self) -> str:
        """The model's id of the call."""
        return self.hand_over.id.call.partition(" ")[0]

    @property
    def folder(self) -> str:
        """The working directory in which the call is to run."""
        return self.hand_over.id.call.partition(" ")[2]


def name_call(tool_use_id: str, folder: str) -> str:
    """Return the name of a deferred call. It has the folder, since the same call does something else in another."""
    return f"{tool_use_id} {folder}"


@dataclass(frozen=True, slots=True)
class GatedTools:
    """The tools whose calls wait for people."""

    names: tuple[str, ...]
    editable: tuple[str, ...] = ()
    """The tools whose arguments people may change before they approve a call."""

    def build_question(self, tool: str, given: dict[str, JsonValue]) -> CallQuestion:
        """Return the question about a call. Raises `ModelError` or `CallerError` if people cannot be asked that."""
        if tool == QUESTIONS:
            return CallQuestion("ask", build_questions(given), approval.compute_digest(tool, given))
        allowed = ("approve", "reject", "edit") if tool in self.editable else ("approve", "reject")
        return build_call_question(tool, given, allowed, None)


def build_result(tool: str, given: dict[str, JsonValue], ask: Ask) -> PermissionResult:
    """Return what people decided or answered. The model reads who denied a call and why, or that nobody decided."""
    outcome = ask.outcome
    assert outcome is not None
    if tool == QUESTIONS:
        answer = answer_questions(given, ask, outcome)
        updated = answer.get("updatedInput")
        if isinstance(updated, dict):
            return PermissionResultAllow(updated_input=updated)
        return PermissionResultDeny(message=str(answer.get("message")))
    approved = approval.get_approved_arguments(ask, tool, given)
    if approved is not None:
        return PermissionResultAllow(updated_input=approved)
    return PermissionResultDeny(message=describe_rejection(tool, outcome))
