"""Lets people in Slack or Discord answer the questions of a Claude agent, and approve the calls of its tools.

Claude Code ends when it defers a call, and keeps the session. So no process waits while people think. Another process
continues the session with their answer, once.
"""

from __future__ import annotations

__all__ = ["ClaudeAgentDoor", "NotClaimed", "NotResumed", "OutcomeUnknown"]

import secrets
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Sequence
from contextlib import aclosing, suppress
from typing import Any, Unpack

from askback.client.addressing import Names, to_tuple
from askback.domain.hand_over import HandOver
from askback.domain.timeout_action import TimeoutAction
from askback.doors.door_options import DoorOptions
from askback.doors.framework_door import FrameworkDoor, ResumableDoor
from askback.doors.hand_over import NotClaimed, OutcomeUnknown
from askback.doors.results import QUESTIONS
from askback.errors import CallerError, OperatorError
from askback.internal.extras import import_extra

with import_extra("claude-agent-sdk", "The door for the Claude Agent SDK"):
    from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKError, Message, PermissionResult, ToolPermissionContext

    from askback.doors.claude_calls import AnsweredCall, GatedTools
    from askback.doors.claude_run import ClaudeRun, ask_now, check_options

ADVICE = "To hand it over once more, call resume(…, again=True)."


class NotResumed(CallerError):
    """Raised if Claude Code did not continue the call that waited. Nothing was handed over."""


class ClaudeAgentDoor(ResumableDoor):
    """Asks people about the calls of a Claude agent, and continues its session with their answers."""

    def __init__(
        self,
        *,
        requires_approval: Sequence[str] = (),
        on_timeout: TimeoutAction = "report",
        edit: Names = (),
        name: str = "claude-agent-sdk",
        **options: Unpack[DoorOptions],
    ) -> None:
        """`name` separates agents that share a database. The other options are those of `DoorOptions`.

        `requires_approval` names the tools of which `run` and `resume` let people approve each call, even if Claude
        Code's own rules allow it. `edit` names the tools whose arguments people may change before they approve a call:
        its texts, numbers, booleans and lists, since Claude Code publishes no schema of a tool. If nobody answers a
        question in time, `on_timeout` decides what the model reads: only that ("report"), or that it stops ("halt").
        Raises `CallerError`.
        """
        wrong = [tool for tool in requires_approval if not tool or set(tool) & set("()|*, ")]
        if wrong:
            raise CallerError(f"`requires_approval` names tools, and not rules: correct {', '.join(map(repr, wrong))}.")
        super().__init__(FrameworkDoor(name, on_timeout, **options))
        self._tools = GatedTools(tuple(dict.fromkeys((QUESTIONS, *requires_approval))), to_tuple(edit))
        self._name = f"process-{secrets.token_hex(8)}"

    async def can_use_tool(self, tool: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
        """Answer `AskUserQuestion`, or approve a call. For `ClaudeAgentOptions(can_use_tool=…)`.

        It waits as long as people need. Claude Code runs meanwhile, and calls it for what its own rules do not allow.
        """
        return await ask_now(self._door, self._tools, self._name, tool, given, context.tool_use_id)

    async def run(
        self, prompt: str | AsyncIterable[dict[str, Any]], options: ClaudeAgentOptions
    ) -> AsyncGenerator[Message]:
        """Run the agent until no call waits for people; yield its messages.

        While people think, Claude Code does not run. If this process ends meanwhile, continue with `resume`. Raises
        `OutcomeUnknown`, `NotClaimed`, `NotResumed` and the errors of the SDK.
        """
        check_options(options)
        if options.resume is not None and any(
            one.state in ("asked", "claimed") for one in await self._door.list_hand_overs(options.resume)
        ):
            raise CallerError(
                f"The session {options.resume} waits for people: call resume(…) before you send a prompt."
            )
        run = ClaudeRun(self._door, self._tools, options)
        async with aclosing(run.stream(prompt)) as messages:
            async for message in messages:
                yield message
        async with aclosing(self._follow(run, options)) as messages:
            async for message in messages:
                yield message

    async def resume(
        self, session: str, options: ClaudeAgentOptions, *, again: bool = False
    ) -> AsyncGenerator[Message]:
        """Continue a session that waits for people; yield its messages. It waits until they have answered.

        `options` are those of `run`. The call runs in the folder in which it was made. `again` hands an answer over
        once more although it is unknown what the agent did with it. Raises the errors of `run`.
        """
        check_options(options)
        answered = await self._wait_for_answer(session, again=again)
        run = ClaudeRun(self._door, self._tools, options, answered)
        async with aclosing(self._continue(run, answered)) as messages:
            async for message in messages:
                yield message
        async with aclosing(self._follow(run, options)) as messages:
            async for message in messages:
                yield message

    async def _follow(self, run: ClaudeRun, options: ClaudeAgentOptions) -> AsyncGenerator[Message]:
        """Continue the session of a run as long as it ends with a call that waits for people."""
        while run.result is not None and run.result.deferred_tool_use is not None:
            answered = await self._wait_for_answer(run.result.session_id)
            run = ClaudeRun(self._door, self._tools, options, answered)
            async with aclosing(self._continue(run, answered)) as messages:
                async for message in messages:
                    yield message

    async def _wait_for_answer(self, session: str, *, again: bool = False) -> AnsweredCall:
        """Return the call for which a session waits, once people have answered. Raises the errors of `resume`."""
        known = await (self._door.list_unclaimed(session) if again else self._door.list_hand_overs(session))
        waiting = next((one for one in known if one.state == "asked"), None)
        if waiting is None:
            waiting = _find_unknown(known)
            if waiting is None:
                states = {one.state for one in known}
                raise NotClaimed("taken" if "claimed" in states else "acknowledged" if states else "missing")
            if not again:
                await self._door.raise_unknown(waiting, ADVICE)
            await self._door.hand_overs.release([waiting.id])
        ask = await self._door.find(waiting)
        if ask is None:  # a process was killed before it asked, so it did not defer the call either
            await self._door.withdraw([waiting])
            raise NotClaimed("missing")
        return AnsweredCall(waiting, await self._door.wait(ask))

    async def _continue(self, run: ClaudeRun, answered: AnsweredCall) -> AsyncGenerator[Message]:
        """Hand an answer over, and yield the messages of Claude Code. The claim ends when the call has a result."""
        one = answered.hand_over
        async with aclosing(run.stream()) as messages:
            async with self._door.claim(dict.fromkeys([one.id], one.digest), lambda: run.is_taken):
                async for message in messages:
                    yield message
                    if run.has_result or run.result is not None:
                        break
                if run.is_taken and not run.has_result:
                    raise OperatorError(f"Claude Code ended before the call {answered.tool_use_id} had a result.")
            if not run.is_taken:
                with suppress(ClaudeSDKError):  # it ends with an error, whose reason is in the result
                    async for message in messages:
                        yield message
                await self._give_up(run, answered)
            async for message in messages:
                yield message

    async def _give_up(self, run: ClaudeRun, answered: AnsweredCall) -> None:
        """Raise `NotResumed` for a call that Claude Code did not continue."""
        if run.result is not None:
            raise NotResumed(f"Claude Code did not continue the call, so nothing was handed over: {run.result.result}")
        await self._door.withdraw([answered.hand_over])
        raise NotResumed(
            f"The session {answered.hand_over.id.run} does not wait for the call {answered.tool_use_id} any more, so "
            "nothing was handed over. Continue it with a prompt."
        )


def _find_unknown(known: Iterable[HandOver]) -> HandOver | None:
    """Return the hand-over that was claimed last, if nobody knows what became of it."""
    claimed = {one.claimed_at: one for one in known if one.claimed_at is not None}
    newest = claimed[max(claimed)] if claimed else None
    return newest if newest is not None and newest.state == "unknown" else None
