"""Lets people in Slack or Discord approve the tool calls of an OpenAI Agents SDK agent, and answer its questions.

The SDK runs a tool twice if the same state of a run is resumed twice. So the outcomes of a run are handed over at most
once. The caller saves the state before people are asked.
"""

from __future__ import annotations

__all__ = ["AskTool", "NotClaimed", "OpenAIAgentsDoor", "OutcomeUnknown"]

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, Unpack, cast

from askback.client.addressing import Names
from askback.client.duration_parameters import Duration
from askback.domain.ask_policy import Reasons
from askback.domain.timeout_action import TimeoutAction
from askback.doors.framework_door import FrameworkDoor, ResumableDoor, build_rules
from askback.doors.hand_over import NotClaimed, OutcomeUnknown
from askback.doors.turn_calls import TurnCalls
from askback.errors import CallerError
from askback.internal.extras import import_extra
from askback.settings.environment import load_settings
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

    from askback.doors.approval_items import decide, read_calls
    from askback.doors.ask_tool import AskTool, use_answers

Context = TypeVar("Context")


class OpenAIAgentsDoor(ResumableDoor, Generic[Context]):
    """Asks people about the interrupted tool calls of an agent, and continues it with all their decisions."""

    def __init__(
        self,
        agent: Agent[Context],
        *,
        to: str,
        save: Callable[[str, str], None],
        who: Names = (),
        approvers: Names = (),
        requested_by: Names = (),
        wait: Duration | None = None,
        remind: Duration | Sequence[Duration] = (),
        quorum: int | None = None,
        reasons: Reasons | None = None,
        on_timeout: TimeoutAction = "report",
        name: str = "openai-agents",
    ) -> None:
        """`to` is a place such as `slack:#agents`. `who` may answer questions, and `approvers` decide about tool calls.

        `save` stores a text for the id of a conversation before people are asked; `resume` takes it. `name` separates
        agents that share a database. If nobody answers in time, `on_timeout` decides what the model reads: only that
        ("report"), that it stops ("halt"), or the defaults of a form that has one for each answer ("default"). What is
        left out comes from the settings. Raises `CallerError`.
        """
        settings = load_settings()
        rules = build_rules(
            settings,
            to=to,
            who=who,
            approvers=approvers,
            requested_by=requested_by,
            wait=wait,
            remind=remind,
            quorum=quorum,
            reasons=reasons,
            on_timeout=on_timeout,
        )
        self._agent = agent
        self._save = save
        self._where = to
        super().__init__(FrameworkDoor(name, rules, settings))

    async def run(
        self, given: str | list[TResponseInputItem], conversation: str, **options: Unpack[RunOptions[Context]]
    ) -> RunResult:
        """Run the agent until no call waits for people; return its last result. The options are those of `Runner.run`.

        Raises `OutcomeUnknown`, `NotClaimed` and the errors of the agent. If the process ends meanwhile, continue with
        `resume`.
        """
        result = self._store(conversation, await Runner.run(self._agent, given, **options))
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
        result = await self._continue(state, conversation, options, again=again)
        return await self._answer(result, conversation, options)

    async def _answer(self, result: RunResult, conversation: str, options: RunOptions[Context]) -> RunResult:
        while result.interruptions:
            result = await self._continue(result.to_state(), conversation, options)
        return result

    def _store(self, conversation: str, result: RunResult) -> RunResult:
        if result.interruptions:
            self._save(conversation, result.to_state().to_string(context_serializer=_omit_context))
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
        options = options.copy()
        options.pop("previous_response_id", None)  # the state has a newer one
        async with turn.claim():
            with use_answers({call: answer for call, answer in told.items() if answer is not None}):
                result = await Runner.run(self._agent, state, **options)
            # Before the acknowledgement, so that a process that is killed here leaves a run that can be continued.
            return self._store(conversation, result)

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


def _omit_context(context: Any) -> Mapping[str, Any]:
    """Save no object of the caller, which may hold secrets. A mapping is saved by the SDK itself."""
    return {}
