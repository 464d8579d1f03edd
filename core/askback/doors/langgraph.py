"""Lets people in Slack or Discord answer the interrupts of a LangGraph graph.

The graph keeps its state in its checkpointer, and askback keeps the questions. So the process may end while people
think, and another one resumes the graph, once.
"""

from __future__ import annotations

__all__ = ["Graph", "LangGraphDoor", "OutcomeUnknown", "Unanswered"]

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from pydantic import JsonValue

from askback.client.addressing import Names
from askback.client.duration_parameters import Duration
from askback.domain.ask import Ask
from askback.domain.ask_policy import Reasons
from askback.domain.hand_over import CallId, HandOver, name_call
from askback.domain.timeout_action import TimeoutAction
from askback.doors.call_question import Unanswered
from askback.doors.framework_door import FrameworkDoor, ResumableDoor, build_rules
from askback.doors.hand_over import NotClaimed, OutcomeUnknown
from askback.doors.interrupts import PendingInterrupt, read_interrupt
from askback.errors import CallerError
from askback.internal.extras import import_extra
from askback.settings.environment import load_settings
from askback.translations.catalogue import use_language

with import_extra("langgraph", "The door for LangGraph"):
    from langchain_core.runnables import RunnableConfig
    from langgraph.types import Command, StateSnapshot

TAKEN_SECONDS = 1.0
"""Seconds between two looks at a thread that another process resumes."""
INTERRUPT = "__interrupt__"
"""The key of a result under which the graph lists its interrupts."""
ADVICE = "To hand it over once more, call resume(…, again=True)."
HALFWAY = "The graph has taken the answer, and stopped later. To continue it, call its own ainvoke(None, …)."


class Graph(Protocol):
    """A compiled graph of LangGraph, or an agent of LangChain."""

    @property
    def checkpointer(self) -> object: ...

    async def ainvoke(self, given: Any, config: RunnableConfig, /) -> Any: ...

    async def aget_state(self, config: RunnableConfig, /) -> StateSnapshot: ...


class LangGraphDoor(ResumableDoor):
    """Asks people about the interrupts of a graph, and resumes it with their answers."""

    def __init__(
        self,
        graph: Graph,
        *,
        to: str,
        who: Names = (),
        approvers: Names = (),
        requested_by: Names = (),
        wait: Duration | None = None,
        remind: Duration | Sequence[Duration] = (),
        quorum: int | None = None,
        reasons: Reasons | None = None,
        on_timeout: TimeoutAction = "report",
        name: str = "langgraph",
        unanswered: Callable[[Unanswered], JsonValue] | None = None,
    ) -> None:
        """`to` is a place such as `slack:#agents`. `who` may answer questions, and `approvers` decide about tool calls.

        `name` separates graphs that share a database. `unanswered` returns the value of an interrupt that nobody
        answered; without it, `Unanswered` is raised. If nobody answers in time, `on_timeout` decides what its `outcome`
        says: nothing more ("report"), `halted` ("halt"), or `fallback` ("default"), for a schema with a default for
        each answer. What is left out comes from the settings. Raises `CallerError`.
        """
        if graph.checkpointer is None:
            raise CallerError("The graph has no checkpointer, so it cannot wait for people: compile it with one.")
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
        self._graph = graph
        super().__init__(FrameworkDoor(name, rules, settings))
        self._unanswered = unanswered

    async def run(self, given: object, config: RunnableConfig | str) -> object:
        """Run the graph with this input until no interrupt is left; return its result.

        `config` is the graph's own, or the id of a thread alone. Raises `Unanswered`, `OutcomeUnknown` and the errors
        of the graph. If the process ends meanwhile, continue with `resume`.
        """
        config = _to_config(config)
        result: object = await self._graph.ainvoke(given, config)
        return await self._answer(config, result)

    async def resume(self, config: RunnableConfig | str, *, again: bool = False) -> object:
        """Continue a thread that waits for people; return its result. What they answered meanwhile is not asked again.

        `again` hands an answer over once more although it is unknown what the graph did with it. Raises the errors of
        `run`.
        """
        config = _to_config(config)
        if again:
            run = _get_thread(config)
            unknown = [one.id for one in await self._door.list_hand_overs(run) if one.state == "unknown"]
            await self._door.hand_overs.release(unknown)
        return await self._answer(config, None)

    async def _answer(self, config: RunnableConfig, result: object) -> object:
        """Ask about pending interrupts, and resume the graph with each that is answered, until none is left."""
        thread = _get_thread(config)
        while True:
            # First what was handed over, then what is pending. An interrupt of both is therefore a new one.
            known = await self._door.list_hand_overs(thread)
            if any(one.state == "claimed" for one in known):
                await asyncio.sleep(TAKEN_SECONDS)
                continue
            snapshot = await self._graph.aget_state(config)
            with use_language(self._door.language):
                pending = [read_interrupt(one.id, one.value, one.response_schema) for one in snapshot.interrupts]
            await self._door.withdraw(_list_outdated(known, pending))
            if not pending:
                unknown = next((one for one in known if one.state == "unknown"), None)
                if unknown is not None and snapshot.next:
                    await self._door.raise_unknown(unknown, HALFWAY)
                return snapshot.values if result is None or _is_interrupted(result) else result
            asked = [(one, await self._ask(one, thread, known)) for one in pending]
            ready = next((one for one in asked if all(ask.is_complete for ask in one[1].values())), None)
            if ready is None:
                await self._wait_for_one([ask for _, asks in asked for ask in asks.values() if not ask.is_complete])
                continue
            with suppress(NotClaimed):  # the next look finds the reason
                result = await self._resume(config, *ready)

    async def _ask(self, interrupt: PendingInterrupt, thread: str, known: Sequence[HandOver]) -> Mapping[CallId, Ask]:
        """Return the asks about an interrupt. Raises `OutcomeUnknown`."""
        asks: dict[CallId, Ask] = {}
        for position, question in enumerate(interrupt.questions):
            call = name_call(self._door.framework, thread, f"{interrupt.id}.{position}", known, ("acknowledged",))
            unknown = next((one for one in known if one.id == call and one.state == "unknown"), None)
            if unknown is not None:
                await self._door.raise_unknown(unknown, ADVICE)
            asks[call] = await self._door.ask(call, question)
        return asks

    async def _wait_for_one(self, asks: Sequence[Ask]) -> None:
        waits = [asyncio.create_task(self._door.wait(ask)) for ask in asks]
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()
        finally:
            for one in waits:
                one.cancel()
            await asyncio.wait(waits)

    async def _resume(self, config: RunnableConfig, interrupt: PendingInterrupt, asks: Mapping[CallId, Ask]) -> object:
        """Resume the graph with the answer to one interrupt, always by its id."""
        digests = dict(zip(asks, (question.digest for question in interrupt.questions), strict=True))
        try:
            value = interrupt.read(tuple(asks.values()))
        except Unanswered as unanswered:
            if self._unanswered is None:
                async with self._door.claim(digests):
                    pass  # the caller learns it instead of the graph, and asks again if it continues
                raise
            value = self._unanswered(unanswered)
        async with self._door.claim(digests):
            resumed: object = await self._graph.ainvoke(Command(resume={interrupt.id: value}), config)
            return resumed


def _to_config(config: RunnableConfig | str) -> RunnableConfig:
    return {"configurable": {"thread_id": config}} if isinstance(config, str) else config


def _get_thread(config: RunnableConfig) -> str:
    thread: object = config.get("configurable", {}).get("thread_id")
    if thread is None or not str(thread):
        raise CallerError("The configuration has no thread_id: give one, so that the thread can be continued later.")
    return str(thread)


def _list_outdated(known: Sequence[HandOver], pending: Sequence[PendingInterrupt]) -> list[HandOver]:
    """Return the hand-overs of interrupts that the graph has dropped."""
    ids = {one.id for one in pending}
    return [one for one in known if one.state == "asked" and one.id.call.partition(".")[0] not in ids]


def _is_interrupted(result: object) -> bool:
    """Return True if a result is that of a graph which waited for people at that time."""
    return isinstance(result, Mapping) and INTERRUPT in result
