"""What the model may call, what a call of its becomes, and what its result is."""

from __future__ import annotations

__all__ = ["Calls", "refused"]

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pydantic import JsonValue

from askback.agent.approvals import ApprovalRules, asked
from askback.asks import Ask
from askback.conversations import Blocks, Call, Conversation, Requested, ToolCall
from askback.errors import ModelError
from askback.policy import Who
from askback.tools import QuestionTool, ToolInput, approval

if TYPE_CHECKING:
    from askback.agent.toolbox import Toolbox
    from askback.manager import QuestionManager

log = logging.getLogger("askback.agent")


class Calls:
    """The question tools of the settings, and beside them the operator's own tools."""

    def __init__(
        self,
        manager: QuestionManager,
        questions: Iterable[QuestionTool[ToolInput]],
        toolbox: Toolbox,
        approvals: ApprovalRules,
        timeout: float | None,
    ) -> None:
        """`timeout`: seconds that a question waits for people; None: for ever."""
        self._manager = manager
        self._questions = {tool.name: tool for tool in questions}
        self._toolbox = toolbox
        self._approvals = approvals
        self._timeout = timeout
        definitions: Blocks = tuple(
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in self._questions.values()
        )
        self.offered = definitions + toolbox.definitions
        """What the model is told of them."""

    def need_approval(self, blocks: Iterable[Mapping[str, JsonValue]]) -> bool:
        """Whether people have to approve one of these calls."""
        return any(self._toolbox.needs_approval(str(block["name"])) for block in blocks)

    async def wrong(self, conversation: Conversation, blocks: Iterable[Mapping[str, JsonValue]]) -> dict[str, str]:
        """What the model is told of calls that need approval and could not run if they had it, by their ids."""
        calls = [one for one in map(_call, blocks) if self._toolbox.needs_approval(one.tool)]
        found = await asyncio.gather(*(self._toolbox.refusal(conversation, call) for call in calls))
        return {call.tool_use_id: why for call, why in zip(calls, found, strict=True) if why is not None}

    def called(self, conversation: Conversation, block: Mapping[str, JsonValue], requested: Requested) -> ToolCall:
        """What a call becomes: one with an ask, one to be run, or one that failed at once and has its result."""
        call = _call(block)
        question = self._questions.get(call.tool)
        if question is not None:
            return self._question(question, conversation, call)
        if call.tool not in self._toolbox.names:
            known = ", ".join((*self._questions, *self._toolbox.names))
            return call.evolve(result=f"There is no tool {call.tool!r}. There are: {known}.", is_error=True)
        if call.tool_use_id in requested.wrong:
            return call.evolve(result=requested.wrong[call.tool_use_id], is_error=True)
        if self._toolbox.needs_approval(call.tool):
            return asked(self._manager, self._approvals, conversation, call, requested)
        return call

    def _question(self, tool: QuestionTool[ToolInput], conversation: Conversation, call: ToolCall) -> ToolCall:
        try:
            form = tool.parse(call.input)
        except ModelError as error:
            refusal = tool.refusal(error)
            log.warning(
                "A question of the model could not be understood.",
                extra={"action": "question_refused", "tool": tool.name, "conversation_id": conversation.id},
            )
            return call.evolve(result=refusal.text, is_error=refusal.is_error)
        ask = self._manager.new_ask(
            form,
            to=conversation.place,
            policy=self._manager.policy(Who.only(conversation.starter), self._timeout),
            conversation_id=conversation.id,
            asked_by=None,
        )
        return call.evolve(ask=ask)

    def result(self, call: Call, ask: Ask | None) -> dict[str, JsonValue]:
        """What the model is told of a call that has ended: by its own result, or by the outcome of its ask."""
        text, is_error = self._told(call, ask)
        content: JsonValue = [*call.blocks] if call.blocks else text or ""
        block: dict[str, JsonValue] = {"type": "tool_result", "tool_use_id": call.tool_use_id, "content": content}
        if is_error:
            block["is_error"] = True
        return block

    def _told(self, call: Call, ask: Ask | None) -> tuple[str | None, bool]:
        """A text, and whether it tells of an error."""
        outcome = None if ask is None else ask.outcome
        if ask is None or outcome is None:
            return call.result, call.is_error
        if approval.is_approval(ask):
            # One that was approved has run, and has a result of its own.
            if call.result is not None:
                return call.result, call.is_error
            return approval.refusal(call.tool, outcome), True
        question = self._questions.get(call.tool)
        if question is None:
            # Asked under another setting of ASKBACK_TOOLS: the answer is told all the same.
            return outcome.model_dump_json(include={"status", "answers", "reason"}), call.is_error
        result = question.result(call.input, outcome)
        return result.text, result.is_error


def _call(block: Mapping[str, JsonValue]) -> ToolCall:
    return ToolCall(tool_use_id=str(block["id"]), tool=str(block["name"]), input=block.get("input"))


def refused(calls: tuple[ToolCall, ...], why: str) -> tuple[ToolCall, ...]:
    """The same calls where nobody could be asked: each that has an ask fails at once."""
    return tuple(
        call if call.ask is None else call.evolve(ask=None, result=f"Nobody was asked: {why}", is_error=True)
        for call in calls
    )
