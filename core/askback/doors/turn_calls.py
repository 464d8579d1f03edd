"""The calls of one turn, whose outcomes a framework gets together."""

from __future__ import annotations

__all__ = ["TurnCalls"]

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from askback.domain.ask import Ask
from askback.domain.hand_over import CallId
from askback.doors.call_question import CallQuestion
from askback.doors.framework_door import FrameworkDoor
from askback.doors.hand_over import NotClaimed

ADVICE = "To hand it over once more, call resume(…, again=True)."


class TurnCalls:
    """Asks people about all calls of a turn, and hands their outcomes over together, at most once."""

    def __init__(self, door: FrameworkDoor, run: str, questions: Mapping[str, CallQuestion]) -> None:
        """`questions` has the question about each call, by the framework's id of the call."""
        self._door = door
        self._run = run
        self._questions = {
            CallId(framework=door.framework, run=run, call=call): question for call, question in questions.items()
        }

    async def settle(self) -> dict[str, Ask]:
        """Ask about all calls, and return the asks once the last is settled.

        Raises `OutcomeUnknown` or `NotClaimed`, before anyone is asked, if an outcome was handed over.
        """
        await self._check()
        asks = {call.call: await self._door.ask(call, question) for call, question in self._questions.items()}
        try:
            async with asyncio.TaskGroup() as tasks:
                waits = {call: tasks.create_task(self._door.wait(ask)) for call, ask in asks.items()}
        except BaseExceptionGroup as errors:
            # One wait failed, and the others were cancelled.
            raise errors.exceptions[0] from None
        return {call: wait.result() for call, wait in waits.items()}

    @asynccontextmanager
    async def claim(self) -> AsyncGenerator[str]:
        """Continue the framework inside this block. Raises `NotClaimed` or `OutcomeUnknown` before the block.

        What the framework saves for its next turn names the claim. A process that is killed before the acknowledgement
        is thus known to have ended this turn.
        """
        try:
            async with self._door.claim({call: question.digest for call, question in self._questions.items()}) as name:
                yield name
        except NotClaimed as error:
            if error.result == "unknown":  # the claim of another process was lost while this one waited
                await self._check()
            raise

    async def release(self) -> None:
        """Let unknown outcomes of these calls be handed over once more. A claim of a dead process has to pass first."""
        unclaimed = await self._door.list_unclaimed(self._run)
        await self._door.hand_overs.release(one.id for one in unclaimed if one.id in self._questions)

    async def _check(self) -> None:
        for one in await self._door.list_hand_overs(self._run):
            if one.id in self._questions and one.state == "unknown":
                await self._door.raise_unknown(one, ADVICE)
            if one.id in self._questions and one.state == "acknowledged":
                raise NotClaimed("acknowledged")
