"""Lets people in Slack or Discord approve and answer the deferred tool calls of a Pydantic AI agent.

Pydantic AI applies the same results twice if it is given them twice. So the results of a run are handed over at most
once. What the agent has said so far is saved by the caller, before people are asked.
"""

from __future__ import annotations

__all__ = ["NotClaimed", "OutcomeUnknown", "PydanticAIDoor"]

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from pydantic import JsonValue, TypeAdapter, ValidationError

from askback.client.addressing import Names, to_tuple
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

with import_extra("pydantic-ai", "The door for Pydantic AI"):
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.tools import DeferredToolRequests
    from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

    from askback.doors.deferred_calls import build_results, describe_changes, read_calls

Deps = TypeVar("Deps")
Output = TypeVar("Output")


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A run that waits for people."""

    messages: list[ModelMessage]
    requests: DeferredToolRequests


_SAVED = TypeAdapter(_Waiting)


class PydanticAIDoor(ResumableDoor, Generic[Deps, Output]):
    """Asks people about the deferred tool calls of an agent, and continues it with all their answers."""

    def __init__(
        self,
        agent: Agent[Deps, Output],
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
        edit: Names = (),
        name: str = "pydantic-ai",
    ) -> None:
        """`to` is a place such as `slack:#agents`. `who` may answer questions, and `approvers` decide about tool calls.

        `edit` names the tools whose arguments people may change before they approve a call.

        `save` stores a text for the id of a conversation before people are asked; `resume` takes it. `name` separates
        agents that share a database. If nobody answers in time, `on_timeout` decides what the model reads: only that
        ("report"), that it stops ("halt"), or the defaults of a schema that has one for each answer ("default"). What
        is left out comes from the settings. Raises `CallerError`.
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
        self._edit = to_tuple(edit)
        super().__init__(FrameworkDoor(name, rules, settings))

    async def run(
        self,
        prompt: str,
        conversation: str,
        *,
        history: Sequence[ModelMessage] | None = None,
        deps: Deps | None = None,
    ) -> AgentRunResult[Output]:
        """Run the agent until no call waits for people; return its last result.

        Raises `OutcomeUnknown`, `NotClaimed` and the errors of the agent. If the process ends meanwhile, continue with
        `resume`.
        """
        result = await self._agent.run(
            prompt, message_history=history, deps=cast("Deps", deps), conversation_id=conversation
        )
        return await self._answer(self._store(conversation, result), conversation, deps)

    async def resume(
        self, conversation: str, saved: str, *, deps: Deps | None = None, again: bool = False
    ) -> AgentRunResult[Output]:
        """Continue a run from the text that was saved last. What people answered meanwhile is not asked again.

        `again` hands the answers over once more although it is unknown what the agent did with them. Raises the errors
        of `run`; `NotClaimed` if these answers were handed over before.
        """
        try:
            waiting = _SAVED.validate_json(saved)
        except ValidationError as error:
            raise CallerError(
                f"This is not a run that `save` was given ({error.error_count()} problems): pass the newest text."
            ) from None
        if again:
            known = await self._door.list_hand_overs(conversation)
            await self._door.hand_overs.release(one.id for one in known if one.state == "unknown")
        result = await self._continue(waiting, conversation, deps)
        return await self._answer(result, conversation, deps)

    async def _answer(
        self, result: AgentRunResult[Output], conversation: str, deps: Deps | None
    ) -> AgentRunResult[Output]:
        while (waiting := _find_waiting(result)) is not None:
            result = await self._continue(waiting, conversation, deps)
        return result

    def _store(self, conversation: str, result: AgentRunResult[Output]) -> AgentRunResult[Output]:
        waiting = _find_waiting(result)
        if waiting is not None:
            self._save(conversation, _SAVED.dump_json(waiting).decode())
        return result

    async def _continue(self, waiting: _Waiting, conversation: str, deps: Deps | None) -> AgentRunResult[Output]:
        """Ask about all calls, wait until the last is answered, and continue the agent with all answers."""
        with use_language(self._door.language):
            pending = read_calls(waiting.requests, self._find_parameters())
        turn = TurnCalls(self._door, conversation, {one.id: one.question for one in pending})
        asks = await turn.settle()
        decided = [(one, asks[one.id]) for one in pending]
        results = build_results(decided)
        async with turn.claim():
            result = await self._agent.run(
                describe_changes(decided),
                message_history=waiting.messages,
                deferred_tool_results=results,
                deps=cast("Deps", deps),
                conversation_id=conversation,
            )
            # Before the acknowledgement, so that a process that is killed here leaves a run that can be continued.
            return self._store(conversation, result)

    def _find_parameters(self) -> dict[str, Mapping[str, JsonValue] | None]:
        """Return the tools whose arguments people may change, with the JSON Schemas of these.

        A schema is None if a toolset tells its tools only to a running agent.
        """
        found: dict[str, Mapping[str, JsonValue] | None] = dict.fromkeys(self._edit)

        def visit(toolset: AbstractToolset[Deps]) -> None:
            tools = toolset.tools if isinstance(toolset, FunctionToolset) else {}
            for name in tools.keys() & found.keys():
                found[name] = cast("Mapping[str, JsonValue]", tools[name].tool_def.parameters_json_schema)

        for one in self._agent.toolsets:
            one.apply(visit)
        return found


def _find_waiting(result: AgentRunResult[Output]) -> _Waiting | None:
    requests = cast("object", result.output)
    return _Waiting(result.all_messages(), requests) if isinstance(requests, DeferredToolRequests) else None
