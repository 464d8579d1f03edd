"""Lets people in Slack or Discord answer the interrupts of a LangGraph graph.

The graph keeps its state in its checkpointer, and askback keeps the questions. So the process may end while people
think, and another one resumes the graph, once.
"""

from __future__ import annotations

__all__ = ["Graph", "LangGraphDoor", "OutcomeUnknown", "Unanswered"]

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Unpack

from pydantic import JsonValue

from askback.domain.ask import Ask
from askback.domain.hand_over import CallId, HandOver, name_call
from askback.domain.timeout_action import TimeoutAction
from askback.domain.verdicts import find_no
from askback.doors.call_question import CallQuestion, Unanswered
from askback.doors.door_options import DoorOptions
from askback.doors.framework_door import CLAIMED_SECONDS, FrameworkDoor, ResumableDoor
from askback.doors.hand_over import NotClaimed, OutcomeUnknown
from askback.doors.langgraph_interrupts import PendingInterrupt, read_interrupt
from askback.internal.extras import import_extra
from askback.translations.catalogue import use_language

with import_extra("langgraph", "The door for LangGraph"):
    from langchain_core.runnables import RunnableConfig
    from langgraph.types import Command

    from askback.doors.langgraph_checkpoints import (
        Graph,
        check_saver,
        follow_thread,
        get_thread,
        list_finished,
        to_config,
    )

log = logging.getLogger("askback.door")

INTERRUPT = "__interrupt__"
"""The key of a result under which the graph lists its interrupts."""
ADVICE = "To hand it over once more, call resume(…, again=True)."
HALFWAY = "The graph has taken the answer, and stopped later. To continue it, call its own ainvoke(None, …)."


class LangGraphDoor(ResumableDoor):
    """Asks people about the interrupts of a graph, and resumes it with their answers."""

    def __init__(
        self,
        graph: Graph,
        *,
        on_timeout: TimeoutAction = "report",
        name: str = "langgraph",
        unanswered: Callable[[Unanswered], JsonValue] | None = None,
        **options: Unpack[DoorOptions],
    ) -> None:
        """`name` separates graphs that share a database. The other options are those of `DoorOptions`.

        `unanswered` returns the value of an interrupt that nobody answered; without it, `Unanswered` is raised. If
        nobody answers in time, `on_timeout` decides what its `outcome` says: nothing more ("report"), `halted`
        ("halt"), or `fallback` ("default"), for a schema with a default for each answer. Raises `CallerError`.
        """
        check_saver(graph)
        super().__init__(FrameworkDoor(name, on_timeout, **options))
        self._graph = graph
        self._unanswered = unanswered

    async def run(self, given: object, config: RunnableConfig | str, *, context: object = None) -> object:
        """Run the graph with this input until no interrupt is left; return its result.

        `config` is the graph's own, or only the id of a thread. With a `checkpoint_id`, the graph continues there.
        `context` is that of the graph's `context_schema`. Raises `Unanswered`, `OutcomeUnknown` and the errors of the
        graph. If the process ends meanwhile, continue with `resume`.
        """
        config = to_config(config)
        get_thread(config)  # before the graph does anything
        result: object = await self._graph.ainvoke(given, config, context=context)
        return await self._answer(follow_thread(config), result, context)

    async def resume(self, config: RunnableConfig | str, *, context: object = None, again: bool = False) -> object:
        """Continue a thread that waits for people; return its result. What they answered meanwhile is not asked again.

        It continues from the newest state of the thread, and needs the same `context` as `run`. `again` hands an answer
        over once more although it is unknown what the graph did with it. Raises the errors of `run`.
        """
        config = follow_thread(to_config(config))
        if again:
            run = get_thread(config)
            await self._acknowledge_finished(config, run)
            unknown = [one.id for one in await self._door.list_unclaimed(run) if one.state == "unknown"]
            await self._door.hand_overs.release(unknown)
        return await self._answer(config, None, context)

    async def _answer(self, config: RunnableConfig, result: object, context: object) -> object:
        """Ask about pending interrupts, and resume the graph with each that is answered, until none is left."""
        thread = get_thread(config)
        here: dict[CallId, Ask] = {}
        while True:
            await self._acknowledge_finished(config, thread)
            # First what was handed over, then what is pending. An interrupt of both is therefore a new one.
            known = await self._door.list_hand_overs(thread)
            if any(one.state == "claimed" for one in known):
                await asyncio.sleep(CLAIMED_SECONDS)
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
            asked = [(one, await self._ask(one, thread, known, here)) for one in pending]
            ready = next((one for one in asked if all(ask.is_complete for ask in one[1].values())), None)
            if ready is None:
                here |= await self._wait_for_one(
                    {call: ask for _, asks in asked for call, ask in asks.items() if not ask.is_complete}
                )
                continue
            with suppress(NotClaimed):  # the next look finds the reason
                result = await self._resume(config, *ready, context)

    async def _acknowledge_finished(self, config: RunnableConfig, thread: str) -> None:
        """Acknowledge answers that lost processes took with them, if the graph's checkpoints prove that it finished."""
        doubtful = await self._door.hand_overs.list_in_doubt(self._door.framework, thread)
        if doubtful:
            finished = await list_finished(self._graph, config)
            await self._door.acknowledge(one for one in doubtful if _get_interrupt_id(one) in finished)

    async def _ask(
        self, interrupt: PendingInterrupt, thread: str, known: Sequence[HandOver], here: dict[CallId, Ask]
    ) -> Mapping[CallId, Ask]:
        """Return the asks about an interrupt: those of `here`, or new ones. Raises `OutcomeUnknown`."""
        asks: dict[CallId, Ask] = {}
        for position, question in enumerate(interrupt.questions):
            call = name_call(self._door.framework, thread, f"{interrupt.id}.{position}", known, ("acknowledged",))
            before = next((one for one in known if one.id == call), None)
            if before is not None and before.state == "unknown":
                await self._door.raise_unknown(before, ADVICE)
            if before is None or not _is_asked(before, here.get(call), question):
                here[call] = await self._door.ask(call, question)
            asks[call] = here[call]
        return asks

    async def _wait_for_one(self, asks: Mapping[CallId, Ask]) -> Mapping[CallId, Ask]:
        """Wait until one of these asks is settled; return those that are."""
        waits = {asyncio.create_task(self._door.wait(ask)): call for call, ask in asks.items()}
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return {waits[one]: one.result() for one in done}
        finally:
            for one in waits:
                one.cancel()
            await asyncio.wait(waits)

    async def _resume(
        self, config: RunnableConfig, interrupt: PendingInterrupt, asks: Mapping[CallId, Ask], context: object
    ) -> object:
        """Resume the graph with the answer to one interrupt, always by its id."""
        digests = dict(zip(asks, (question.digest for question in interrupt.questions), strict=True))
        try:
            value = interrupt.read(tuple(asks.values()))
            _warn_of_written_no(interrupt, value)
        except Unanswered as unanswered:
            if self._unanswered is None:
                async with self._door.claim(digests):
                    pass  # the caller learns it instead of the graph, and asks again if it continues
                raise
            value = self._unanswered(unanswered)
        # Two that resume a thread at once would each see the other's interrupt, and none would go on from there.
        async with self._door.claim(digests, exclusive=True):
            resumed: object = await self._graph.ainvoke(Command(resume={interrupt.id: value}), config, context=context)
            return resumed


def _warn_of_written_no(interrupt: PendingInterrupt, value: JsonValue) -> None:
    """Log a warning if the graph gets a written “no”, since a node that only tests it takes any text for true."""
    if interrupt.is_text and isinstance(value, str) and find_no((value,)):
        log.warning(
            "People wrote a “no”, and the graph gets it as a text. A node that tests it as a boolean takes it for a "
            'yes: call interrupt(…, response_schema={"type": "boolean"}), or give the value `options`.',
            extra={"action": "written_no", "interrupt": interrupt.id},
        )


def _list_outdated(known: Sequence[HandOver], pending: Sequence[PendingInterrupt]) -> list[HandOver]:
    """Return the hand-overs of interrupts that the graph has dropped."""
    ids = {one.id for one in pending}
    return [one for one in known if one.state == "asked" and _get_interrupt_id(one) not in ids]


def _get_interrupt_id(hand_over: HandOver) -> str:
    return hand_over.id.call.partition(".")[0]


def _is_asked(before: HandOver, ask: Ask | None, question: CallQuestion) -> bool:
    """Return True if people have been asked exactly this, and the outcome waits to be handed over."""
    return before.state == "asked" and ask is not None and (before.ask_id, before.digest) == (ask.id, question.digest)


def _is_interrupted(result: object) -> bool:
    """Return True if a result is that of a graph which waited for people at that time."""
    return isinstance(result, Mapping) and INTERRUPT in result
