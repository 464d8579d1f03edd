"""Lets people in Slack or Discord approve the tool calls of an OpenAI Agents SDK agent, and answer its questions.

The SDK runs a tool twice if the same state of a run is resumed twice. So the outcomes of a run are handed over at most
once. The caller saves the state before people are asked.
"""

from __future__ import annotations

__all__ = ["AskTool", "NotClaimed", "OpenAIAgentsDoor", "OutcomeUnknown", "editable"]

import json
from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar, Unpack, cast

from askback.domain.timeout_action import TimeoutAction
from askback.doors.door_options import DoorOptions
from askback.doors.framework_door import FrameworkDoor, ResumableDoor
from askback.doors.hand_over import NotClaimed, OutcomeUnknown
from askback.doors.saved_runs import Save, save_run
from askback.doors.turn_calls import TurnCalls
from askback.errors import CallerError
from askback.internal.extras import import_extra
from askback.translations.catalogue import use_language

with import_extra("openai-agents", "The door for OpenAI Agents"):
    from agents import (
        Agent,
        AgentsException,
        FunctionTool,
        RunContextWrapper,
        Runner,
        RunResult,
        RunState,
        ToolApprovalItem,
        TResponseInputItem,
    )
    from agents.run_config import RunOptions

    from askback.doors.approval_items import decide, find_edits, read_calls
    from askback.doors.ask_tool import AskTool, use_answers
    from askback.doors.editable_tool import editable, use_edits

Context = TypeVar("Context")

CLAIM: Final = "askback_claim"
"""The key of a saved state that names the claim of the turn before. The SDK ignores it."""


class OpenAIAgentsDoor(ResumableDoor, Generic[Context]):
    """Asks people about the interrupted tool calls of an agent, and continues it with all their decisions."""

    def __init__(
        self,
        agent: Agent[Context],
        *,
        save: Save,
        on_timeout: TimeoutAction = "report",
        name: str = "openai-agents",
        **options: Unpack[DoorOptions],
    ) -> None:
        """`name` separates agents that share a database. The other options are those of `DoorOptions`.

        `save` stores a text for the id of a conversation before people are asked; `resume` takes it. The function may
        be asynchronous. If nobody answers in time, `on_timeout` decides what the model reads: only that ("report"),
        that it stops ("halt"), or the defaults of a form that has one for each answer ("default"). Raises
        `CallerError`.
        """
        super().__init__(FrameworkDoor(name, on_timeout, **options))
        self._agent = agent
        self._save = save
        self._where = options["to"]

    async def run(
        self, given: str | list[TResponseInputItem], conversation: str, **options: Unpack[RunOptions[Context]]
    ) -> RunResult:
        """Run the agent until no call waits for people; return its last result. The options are those of `Runner.run`.

        Raises `OutcomeUnknown`, `NotClaimed` and the errors of the agent. If the process ends meanwhile, continue with
        `resume`.
        """
        result = await self._store(conversation, await Runner.run(self._agent, given, **options))
        return await self._answer(result, conversation, options)

    async def resume(
        self, conversation: str, saved: str, *, again: bool = False, **options: Unpack[RunOptions[Context]]
    ) -> RunResult:
        """Continue a run from the text that was saved last. What people answered meanwhile is not asked again.

        `again` hands the outcomes over once more although it is unknown what the agent did with them. Give the same
        `context` and `session` as to `run`. Raises the errors of `run`, `CallerError` if this agent cannot continue the
        text, and `NotClaimed` if these outcomes were handed over before.
        """
        state = await self._read(saved, options)
        await self._door.acknowledge_claim(conversation, _find_claim(saved))
        result = await self._continue(state, conversation, options, again=again)
        return await self._answer(result, conversation, options)

    async def _answer(self, result: RunResult, conversation: str, options: RunOptions[Context]) -> RunResult:
        while result.interruptions:
            result = await self._continue(result.to_state(), conversation, options)
        return result

    async def _store(self, conversation: str, result: RunResult, claim: str | None = None) -> RunResult:
        if result.interruptions:
            saved = result.to_state().to_json(context_serializer=_omit_context)
            await save_run(self._save, conversation, json.dumps(saved | {CLAIM: claim}, indent=2))
        return result

    async def _continue(
        self, state: RunState[Any], conversation: str, options: RunOptions[Context], *, again: bool = False
    ) -> RunResult:
        """Ask about all calls, wait until the last is settled, and continue the agent with all decisions."""
        with use_language(self._door.language):
            calls = read_calls(state.get_interruptions())
        turn = TurnCalls(self._door, conversation, {call.id: call.question for call in calls})
        if again:
            await turn.release()
        asks = await turn.settle()
        told = {call.id: decide(state, call, asks[call.id], self._where) for call in calls}
        edits = find_edits(calls, asks)
        options = options.copy()
        options.pop("previous_response_id", None)  # the state has a newer one
        async with turn.claim() as claim:
            with use_answers({call: answer for call, answer in told.items() if answer is not None}), use_edits(edits):
                result = await Runner.run(self._agent, state, **options)
            # Before the acknowledgement, so that a process that is killed here leaves a run that can be continued.
            return await self._store(conversation, result, claim)

    async def _read(self, saved: str, options: RunOptions[Context]) -> RunState[Any]:
        """Return a saved state. Raises `CallerError` if this agent cannot continue it."""
        context = cast("Any", options.get("context"))
        try:
            # A state in which somebody changed the arguments of a call cannot be decided. People are not asked then.
            trial = await RunState.from_string(self._agent, saved, context_override=context, strict_context=True)
            for item in trial.get_interruptions():
                trial.reject(item)
            state = await RunState.from_string(self._agent, saved, context_override=context, strict_context=True)
        except (AgentsException, RuntimeError, ValueError) as error:
            raise CallerError(
                f"This agent cannot continue this text ({error}): pass the newest text that `save` was given, to the "
                "same agent, with the same context."
            ) from None
        items = state.get_interruptions()
        if not items:
            raise CallerError("This run waits for nobody: pass the newest text that `save` was given.")
        for item in items:
            await _check_tool(item, RunContextWrapper(context))
        return state


async def _check_tool(item: ToolApprovalItem, context: RunContextWrapper[Any]) -> None:
    """Raise `CallerError` if the agent has lost the tool of a call, before anyone is asked about it."""
    tools = await item.agent.get_all_tools(context)
    names = {one.qualified_name if isinstance(one, FunctionTool) else one.name for one in tools}
    if item.tool_lookup_key is not None and item.qualified_name not in names:
        raise CallerError(
            f"The agent {item.agent.name!r} no longer has the tool {item.qualified_name}, which this run waits for: "
            "give it that tool, or begin another run."
        )


def _find_claim(saved: str) -> str | None:
    """Return the claim of the turn before, which ended with a saved state. None if its first turn waits."""
    claim: object = json.loads(saved).get(CLAIM)
    return claim if isinstance(claim, str) else None


def _omit_context(context: Any) -> Mapping[str, Any]:
    """Save no object of the caller, which may hold secrets. A mapping is saved by the SDK itself."""
    return {}
