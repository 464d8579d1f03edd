"""Lets people in Slack or Discord approve and answer the deferred tool calls of a Pydantic AI agent.

Pydantic AI applies the same results twice if it is given them twice. So the results of a run are handed over at most
once. What the agent has said so far is saved by the caller, before people are asked.
"""

from __future__ import annotations

__all__ = ["AgentOptions", "NotClaimed", "OutcomeUnknown", "PydanticAIDoor"]

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypedDict, TypeVar, Unpack, cast

from pydantic import JsonValue, TypeAdapter, ValidationError

from askback.client.addressing import Names, to_tuple
from askback.domain.timeout_action import TimeoutAction
from askback.doors.door_options import DoorOptions
from askback.doors.framework_door import FrameworkDoor, ResumableDoor
from askback.doors.hand_over import NotClaimed, OutcomeUnknown
from askback.doors.saved_runs import Save, save_run
from askback.doors.turn_calls import TurnCalls
from askback.errors import CallerError
from askback.internal.extras import import_extra
from askback.translations.catalogue import use_language

with import_extra("pydantic-ai", "The door for Pydantic AI"):
    from pydantic_ai import Agent
    from pydantic_ai.agent import EventStreamHandler
    from pydantic_ai.messages import ModelMessage, UserContent
    from pydantic_ai.models import Model
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import DeferredToolRequests
    from pydantic_ai.toolsets import AbstractToolset
    from pydantic_ai.usage import UsageLimits

    from askback.doors.deferred_calls import build_results, describe_changes, read_calls
    from askback.doors.toolset_schemas import find_schemas

Deps = TypeVar("Deps")
Output = TypeVar("Output")


class AgentOptions(TypedDict, Generic[Deps], total=False):
    """Options of the agent's own `run`, which each turn gets. Give them to `resume` as well."""

    deps: Deps
    model: Model | str
    model_settings: ModelSettings
    usage_limits: UsageLimits
    """The limits of each turn. One that waited for people begins again."""
    toolsets: Sequence[AbstractToolset[Deps]]
    event_stream_handler: EventStreamHandler[Deps]
    """Gets the events of all turns, as for a page that shows them."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A run that waits for people."""

    messages: list[ModelMessage]
    requests: DeferredToolRequests
    claim: str | None = None
    """The claim of the turn before, which ended with these messages. None for the first turn, and in older texts."""


_SAVED = TypeAdapter(_Waiting)


class PydanticAIDoor(ResumableDoor, Generic[Deps, Output]):
    """Asks people about the deferred tool calls of an agent, and continues it with all their answers."""

    def __init__(
        self,
        agent: Agent[Deps, Output],
        *,
        save: Save,
        on_timeout: TimeoutAction = "report",
        edit: Names = (),
        name: str = "pydantic-ai",
        **options: Unpack[DoorOptions],
    ) -> None:
        """`name` separates agents that share a database. The other options are those of `DoorOptions`.

        `save` stores a text for the id of a conversation before people are asked; `resume` takes it. The function may
        be asynchronous. `edit` names the tools whose arguments people may change before they approve a call. If nobody
        answers in time, `on_timeout` decides what the model reads: only that ("report"), that it stops ("halt"), or the
        defaults of a schema that has one for each answer ("default"). Raises `CallerError`.
        """
        super().__init__(FrameworkDoor(name, on_timeout, **options))
        self._agent = agent
        self._save = save
        self._edit = to_tuple(edit)

    async def run(
        self,
        prompt: str | Sequence[UserContent],
        conversation: str,
        *,
        history: Sequence[ModelMessage] | None = None,
        **options: Unpack[AgentOptions[Deps]],
    ) -> AgentRunResult[Output]:
        """Run the agent until no call waits for people; return its last result.

        `history` is what was said before, and the options are those of `AgentOptions`. Raises `OutcomeUnknown`,
        `NotClaimed` and the errors of the agent. If the process ends meanwhile, continue with `resume`.
        """
        result = await self._agent.run(prompt, message_history=history, conversation_id=conversation, **options)
        return await self._answer(await self._store(conversation, result), conversation, options)

    async def resume(
        self, conversation: str, saved: str, *, again: bool = False, **options: Unpack[AgentOptions[Deps]]
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
        await self._door.acknowledge_claim(conversation, waiting.claim)
        result = await self._continue(waiting, conversation, options, again=again)
        return await self._answer(result, conversation, options)

    async def _answer(
        self, result: AgentRunResult[Output], conversation: str, options: AgentOptions[Deps]
    ) -> AgentRunResult[Output]:
        while (waiting := _find_waiting(result)) is not None:
            result = await self._continue(waiting, conversation, options)
        return result

    async def _store(
        self, conversation: str, result: AgentRunResult[Output], claim: str | None = None
    ) -> AgentRunResult[Output]:
        waiting = _find_waiting(result)
        if waiting is not None:
            await save_run(self._save, conversation, _SAVED.dump_json(replace(waiting, claim=claim)).decode())
        return result

    async def _continue(
        self, waiting: _Waiting, conversation: str, options: AgentOptions[Deps], *, again: bool = False
    ) -> AgentRunResult[Output]:
        """Ask about all calls, wait until the last is answered, and continue the agent with all answers."""
        with use_language(self._door.language):
            parameters = self._find_parameters(options.get("toolsets", ()))
            pending = read_calls(waiting.requests, waiting.messages, parameters)
        turn = TurnCalls(self._door, conversation, {one.name: one.question for one in pending})
        if again:
            await turn.release()
        asks = await turn.settle()
        decided = [(one, asks[one.name]) for one in pending]
        results = build_results(decided)
        async with turn.claim() as claim:
            result = await self._agent.run(
                describe_changes(decided),
                message_history=waiting.messages,
                deferred_tool_results=results,
                conversation_id=conversation,
                **options,
            )
            # Before the acknowledgement, so that a process that is killed here leaves a run that can be continued.
            return await self._store(conversation, result, claim)

    def _find_parameters(self, toolsets: Sequence[AbstractToolset[Deps]]) -> dict[str, Mapping[str, JsonValue] | None]:
        """Return the tools whose arguments people may change, with the JSON Schemas of these.

        A schema is None if a toolset tells its tools only to a running agent.
        """
        known = {
            name: schema for one in (*self._agent.toolsets, *toolsets) for name, schema in find_schemas(one).items()
        }
        return {name: known.get(name) for name in self._edit}


def _find_waiting(result: AgentRunResult[Output]) -> _Waiting | None:
    requests = cast("object", result.output)
    return _Waiting(result.all_messages(), requests) if isinstance(requests, DeferredToolRequests) else None
