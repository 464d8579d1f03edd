"""Lists the model's tools, handles each tool call, and builds the results that the model gets."""

from __future__ import annotations

__all__ = ["ToolCallHandler", "fail_excess_questions"]

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pydantic import JsonValue

from askback.agent.approvals import ApprovalRules, request_approval
from askback.agent.audience import Addressees
from askback.agent.display_names import NameFormatter
from askback.domain import approval
from askback.domain.ask import Ask
from askback.domain.conversation import Conversation
from askback.domain.turn import ApprovalContext, Blocks, Call, ToolCall
from askback.errors import ModelError
from askback.manager import build_ask, build_policy
from askback.tools import QuestionTool, ToolInput
from askback.translations.catalogue import _

if TYPE_CHECKING:
    from askback.agent.tool_runner import ToolRunner

log = logging.getLogger("askback.agent")

GO_ON = "People have read that. Go on without asking until somebody writes that it has changed."
"""Advice for the model after a question that nobody can answer."""


NO_DEADLINE = "Nobody was asked: questions have no deadline here, so that no default ever applies. Ask without one."
"""The error for a model that wants a default at a deadline which the operator has switched off."""


class ToolCallHandler:
    """The question tools of the settings and the operator's own tools."""

    def __init__(
        self,
        questions: Iterable[QuestionTool[ToolInput]],
        toolbox: ToolRunner,
        approvals: ApprovalRules,
        timeout: float | None,
    ) -> None:
        """`timeout` is in seconds and applies to questions. None means no deadline."""
        self._questions = {tool.name: tool for tool in questions}
        self._toolbox = toolbox
        self._approvals = approvals
        self._timeout = timeout
        definitions: Blocks = tuple(
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in self._questions.values()
        )
        self.definitions = definitions + toolbox.definitions
        """The tool definitions that the model gets."""

    def needs_approval(self, blocks: Iterable[Mapping[str, JsonValue]]) -> bool:
        """Return True if people have to approve any of these calls."""
        return any(self._toolbox.needs_approval(str(block["name"])) for block in blocks)

    def has_questions(self, blocks: Iterable[Mapping[str, JsonValue]]) -> bool:
        """Return True if any of these calls asks a question."""
        return any(str(block["name"]) in self._questions for block in blocks)

    async def check_calls(
        self, conversation: Conversation, blocks: Iterable[Mapping[str, JsonValue]], context: ApprovalContext
    ) -> ApprovalContext:
        """Return the context with the calls that could not run with their input, and those that need no approval."""
        calls = [one for one in map(_parse_call, blocks) if self._toolbox.needs_approval(one.tool)]
        found = await asyncio.gather(*(self._toolbox.check_input(conversation, call) for call in calls))
        by_id = {call.tool_use_id: one for call, one in zip(calls, found, strict=True)}
        return context.evolve(
            wrong={call_id: why for call_id, why in by_id.items() if isinstance(why, str)},
            exempt=tuple(call_id for call_id, one in by_id.items() if one is False),
        )

    def prepare_call(
        self,
        conversation: Conversation,
        block: Mapping[str, JsonValue],
        requested: ApprovalContext,
        addressees: Addressees,
    ) -> ToolCall:
        """Turn a call of the model into one with an ask, one to run, or a failed one with its result."""
        call = _parse_call(block)
        question = self._questions.get(call.tool)
        if question is not None:
            return self._prepare_question(question, conversation, call, addressees)
        if call.tool not in self._toolbox.names:
            known = ", ".join((*self._questions, *self._toolbox.names))
            return call.evolve(result=f"There is no tool {call.tool!r}. The tools are: {known}.", is_error=True)
        if call.tool_use_id in requested.wrong:
            return call.evolve(result=requested.wrong[call.tool_use_id], is_error=True)
        if self._toolbox.needs_approval(call.tool) and call.tool_use_id not in requested.exempt:
            return request_approval(
                self._approvals,
                conversation,
                call,
                requested,
                self._toolbox.get_title(call.tool),
                self._toolbox.build_parameter_rules(call.tool),
            )
        return call

    def fail_unreadable_call(self, block: Mapping[str, JsonValue], why: str) -> ToolCall:
        """Return a failed call for an unreadable input. Its result tells the model how to call properly."""
        call = _parse_call(block)
        log.warning(
            "Could not parse the input of a tool call; the model gets the error and can retry: %s",
            why,
            extra={"action": "input_unreadable", "tool": call.tool},
        )
        problem = (
            f"{call.tool} was not run, since its input is not valid JSON: {why}. Give one JSON object, at most 100 "
            "levels deep, with numbers of at most 300 digits, and without unpaired surrogates in a text"
        )
        question = self._questions.get(call.tool)
        if question is None:
            return call.evolve(result=f"{problem}. Call it again like that.", is_error=True)
        rejection = question.build_error_result(ModelError(problem, example=question.example))
        return call.evolve(result=rejection.text, is_error=True)

    def _prepare_question(
        self, tool: QuestionTool[ToolInput], conversation: Conversation, call: ToolCall, addressees: Addressees
    ) -> ToolCall:
        if addressees.audience is None:
            why = f"Nobody can answer my questions here: {addressees.problem}"
            notice = _("Nobody can answer my questions here: {reason}").format(reason=addressees.notice)
            return call.evolve(result=f"Nobody was asked. {why} {GO_ON}", is_error=True, notice=notice)
        try:
            form = tool.parse(call.input)
            action = tool.parse_timeout_action(call.input)
            if action == "default" and self._timeout is None:
                raise ModelError(NO_DEADLINE)
            alike = build_policy(addressees.audience, self._timeout, on_timeout=action)
            policy = addressees.to_policy(alike, tool.parse_addressees(call.input))
        except ModelError as error:
            rejection = tool.build_error_result(error)
            log.warning(
                "Rejected a question of the model: its input does not fit the tool. The model gets the errors.",
                extra={"action": "question_rejected", "tool": tool.name, "conversation_id": conversation.id},
            )
            return call.evolve(result=rejection.text, is_error=rejection.is_error)
        ask = build_ask(
            form,
            to=conversation.place,
            policy=policy,
            conversation_id=conversation.id,
            # The starter may cancel anything in their conversation, including questions to others.
            asked_by=conversation.starter,
        )
        return call.evolve(ask=ask)

    def to_result_block(self, call: Call, ask: Ask | None, namer: NameFormatter) -> dict[str, JsonValue]:
        """Return the `tool_result` block of a call that ended, from its own result or its ask's outcome."""
        text, is_error = self._format_result(call, ask, namer)
        changes = _describe_changes(call, ask, namer)
        if changes and not call.blocks:
            text = f"{changes}\n\n{text}" if text else changes
        above: list[JsonValue] = [{"type": "text", "text": changes}] if changes else []
        content: JsonValue = [*above, *call.blocks] if call.blocks else text or ""
        block: dict[str, JsonValue] = {"type": "tool_result", "tool_use_id": call.tool_use_id, "content": content}
        if is_error:
            block["is_error"] = True
        return block

    def _format_result(self, call: Call, ask: Ask | None, namer: NameFormatter) -> tuple[str | None, bool]:
        """Return the text of a result, and True if it is an error."""
        outcome = None if ask is None else ask.outcome
        if ask is None or outcome is None:
            return call.result, call.is_error
        if approval.is_approval(ask):
            # An approved call has run and has its own result.
            if call.result is not None:
                return call.result, call.is_error
            return approval.describe_unapproved(call.tool, outcome, namer.format_name), True
        question = self._questions.get(call.tool)
        if question is None:
            # The question was asked when ASKBACK_TOOLS still listed this tool. The model gets the answer anyway.
            return outcome.model_dump_json(include={"status", "answers", "reason", "fallback", "halted"}), call.is_error
        result = question.build_result(call.input, outcome)
        return result.text, result.is_error


def _describe_changes(call: Call, ask: Ask | None, namer: NameFormatter) -> str:
    """Return what people changed about a call that ran; empty if they changed nothing, or if it did not run."""
    if ask is None or call.changed is None or not call.started:
        return ""
    return approval.describe_changes(call.tool, ask.interview.changes, namer.format_name)


def _parse_call(block: Mapping[str, JsonValue]) -> ToolCall:
    return ToolCall(tool_use_id=str(block["id"]), tool=str(block["name"]), input=block.get("input"))


def fail_excess_questions(calls: tuple[ToolCall, ...], limit: int, free: int) -> tuple[ToolCall, ...]:
    """Return the calls with all questions after the first `free` ones failed. The error names `limit`.

    These questions are not kept for later, since the answers to the others may make them unnecessary.
    """
    wanted = [call.tool_use_id for call in calls if call.ask is not None]
    beyond = set(wanted[free:])
    why = (
        f"This was not asked: only {limit} questions may be open here at the same time. "
        f"{min(free, len(wanted))} of your {len(wanted)} questions were asked. "
        "Ask the others again once people have answered."
    )
    return tuple(
        call.evolve(ask=None, result=why, is_error=True) if call.tool_use_id in beyond else call for call in calls
    )
