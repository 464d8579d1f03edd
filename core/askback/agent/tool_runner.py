"""Runs the operator's own tools, each call at most once unless the tool is idempotent.

The store commits a call as started before it runs, and its result afterwards. If a process ends in between, the call is
not run again, unless the tool is declared idempotent. Its outcome is unknown, which the model and people learn. A
tool's exception goes to the model and into the log, never into a channel.
"""

from __future__ import annotations

__all__ = ["ToolRunner", "ToolRunnerState"]

import asyncio
import inspect
import logging
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar

from pydantic import JsonValue

from askback.agent.concurrency_slots import SlotPool, get_person_key
from askback.agent.tool_execution import (
    CallEnd,
    call_in_loop,
    call_in_thread,
    check_input_in_loop,
    check_input_in_thread,
    describe_missing_approval,
)
from askback.domain import approval
from askback.domain.conversation import Conversation
from askback.domain.edit_rules import EditRules
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.turn import Call, CallsToRun, ToolCall
from askback.domain.who import Who
from askback.store.store import Store
from askback.translations.catalogue import _, get_language
from askback.user_tools import event_loops
from askback.user_tools.decorator import ToolContext
from askback.user_tools.event_loops import AsyncCall, ToolLoops
from askback.user_tools.function_tool import UserTool
from askback.user_tools.results import ToolOutput
from askback.user_tools.worker_threads import NoCapacityError, ToolThreadPool

log = logging.getLogger("askback.toolbox")

T = TypeVar("T")

THREADS = 32
"""Number of threads for sync functions. With twice `MAX_SLOTS`, tools still run while `MAX_SLOTS` threads hang."""
TIMEOUT = 60.0
CHECK_SECONDS = 5.0
"""Maximum time in seconds to check an input before people are asked to approve the call."""
RESULT_LIMIT = 100_000


@dataclass(frozen=True, slots=True)
class ToolRunnerState:
    """The state of a process's tools, in words for the operator."""

    rejection_reason: str | None = None
    """The reason the runner rejects calls; None if it accepts them."""
    blocked_loops: tuple[str, ...] = ()
    """The activity of each blocked event loop."""


@dataclass(frozen=True, slots=True)
class _Late:
    """A call that did not end in time."""

    is_begun: bool
    """True if the call has begun; if not, it never will."""


class ToolRunner:
    """The operator's tools in one process. Close it when nothing calls `run` any more."""

    def __init__(
        self,
        store: Store,
        tools: Sequence[UserTool] = (),
        *,
        timeout: float = TIMEOUT,
        result_limit: int = RESULT_LIMIT,
        threads: int = THREADS,
    ) -> None:
        """`timeout` is in seconds, for tools that name none. `result_limit` is in characters of a result."""
        self._store = store
        self._tools = {tool.name: tool for tool in tools}
        self._timeout = timeout
        self._limit = result_limit
        self._threads = ToolThreadPool(threads)
        self._loops = ToolLoops(self._threads)
        self._slots = SlotPool()
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closing = False
        self._unrecorded: dict[tuple[str, int, str], ToolOutput] = {}
        """Results that the store could not commit yet. A retry commits them, so that no outcome is reported as
        unknown."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._loops.close()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def needs_approval(self, name: str) -> bool:
        """Return True if people have to approve calls of this tool: all, or those that its own rule does not exempt."""
        tool = self._tools.get(name)
        return tool is not None and tool.approval

    def get_title(self, name: str) -> str | None:
        """Return the template of the question that asks people to approve a call of this tool; None if it has none."""
        tool = self._tools.get(name)
        return None if tool is None else tool.title

    def build_parameter_rules(self, name: str) -> EditRules | None:
        """Return the rules for the parameters that people may change before they approve a call of this tool.

        Their questions are in the current language. None means that people may change none.
        """
        tool = self._tools.get(name)
        return None if tool is None else tool.build_parameter_rules()

    @property
    def definitions(self) -> tuple[dict[str, JsonValue], ...]:
        """The tool definitions that the model gets."""
        return tuple(dict(tool.definition) for tool in self._tools.values())

    async def check_input(self, conversation: Conversation, call: ToolCall) -> str | bool:
        """Return the reason a call could not run with its input, in words for the model; or if it needs approval.

        It does not run the tool, only the code of its parameters' types, such as the operator's validators, and the
        operator's rule for approvals.
        """
        tool = self._tools[call.tool]
        seconds = min(CHECK_SECONDS, self._timeout if tool.timeout is None else tool.timeout)
        data, context = call.input, _build_context(conversation, call)
        try:
            if tool.is_async:
                ended = await self._run_in_loop(
                    tool, lambda: check_input_in_loop(tool, data, context, self._limit), seconds
                )
            else:
                future = self._threads.submit(check_input_in_thread, tool, data, context, self._limit)
                ended = await _wait_for(asyncio.wrap_future(future), seconds)
        except NoCapacityError as error:
            return f"{tool.name} was not run: {error} The operator has to restart this program."
        if isinstance(ended, _Late):
            return f"{tool.name} was not run: its input could not be checked within {seconds:g} s."
        fields: dict[str, object] = {"tool": tool.name, "conversation_id": conversation.id}
        if ended.rule_error is not None:
            what = (type(ended.rule_error), ended.rule_error, ended.rule_error.__traceback__)
            log.error(
                "The rule `approval_if` of a tool failed, so people are asked. Fix the rule.",
                exc_info=what,
                extra={"action": "approval_rule_failed", **fields},
            )
        if ended.end is None:
            return not ended.is_exempt
        _log(ended.end, fields)
        output = ended.end.output
        return output.text or "\n".join(str(block.get("text")) for block in output.blocks)

    async def finish(self, seconds: float) -> None:
        """Start no further call, and wait at most `seconds` for running ones to end. Used at shutdown."""
        self._closing = True
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            log.warning(
                "Cancelled %d tool calls that did not end before the shutdown. Their outcome is unknown.",
                self._running,
                extra={"action": "tools_cancelled"},
            )

    async def run(self, work: CallsToRun) -> None:
        """Run each call until its result is stored. Raises `StoreError`; the caller then has to pass the calls again.

        If cancelled, it ends at once and cancels the tools. A stop has given them results already, and a process that
        ends leaves them to the next one.
        """
        if self._closing:
            # The process is shutting down and runs no further step, so wait for its end.
            await asyncio.Event().wait()
        tasks = [
            asyncio.create_task(self._bring(work, call), name=f"askback tool {call.tool_use_id}") for call in work.calls
        ]
        try:
            await asyncio.wait(tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            task.result()

    async def _bring(self, work: CallsToRun, call: Call) -> None:
        """Produce and store the result of one call."""
        key = (work.conversation.id, work.seq, call.tool_use_id)
        tool = self._tools.get(call.tool)
        known = self._unrecorded.get(key)
        if known is not None:
            await self._record(work, call, known)
        elif call.started and (tool is None or not tool.idempotent or _is_unapproved(tool, call)):
            await self._record_interruption(work, call)
        elif tool is None:
            # The model called it before the operator removed the tool.
            await self._record(work, call, ToolOutput(text=f"There is no tool {call.tool!r} any more.", is_error=True))
        elif _is_unapproved(tool, call):
            # The model called it before the tool needed approval.
            await self._record(work, call, ToolOutput(text=describe_missing_approval(call.tool), is_error=True))
        else:
            async with self._slots.hold(get_person_key(work.conversation.starter)):
                if self._closing:
                    await asyncio.Event().wait()
                with self._track_call():
                    if await self._store.start_call(*key, again=call.started):
                        result = await self._run(tool, call, work)
                        # Runs to completion even if this task is cancelled, since the tool has run.
                        await asyncio.shield(self._record(work, call, result))

    @contextmanager
    def _track_call(self) -> Generator[None]:
        self._running += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _record(self, work: CallsToRun, call: Call, result: ToolOutput) -> None:
        key = (work.conversation.id, work.seq, call.tool_use_id)
        self._unrecorded[key] = result
        await self._store.end_call(*key, result.text, is_error=result.is_error, blocks=result.blocks)
        del self._unrecorded[key]

    async def _record_interruption(self, work: CallsToRun, call: Call) -> None:
        log.warning(
            "A tool call was interrupted and is not run again: its outcome is unknown. Check what the tool has done.",
            extra={"action": "tool_interrupted", "tool": call.tool, "conversation_id": work.conversation.id},
        )
        sentence = _(
            "I was interrupted while I ran “{tool}”, so its outcome is unknown. I will not run it again: "
            "please check what it has done."
        ).format(tool=call.tool)
        ask = call.approved
        voters = () if ask is None else approval.list_approvers(ask)
        await self._store.end_call(
            work.conversation.id,
            work.seq,
            call.tool_use_id,
            "Interrupted, outcome unknown: this program ended while the tool ran. It was not run again. "
            "Find out what it did before you call it again.",
            is_error=True,
            notice=OutgoingMessage(
                target=f"interrupted:{work.conversation.id}:{call.tool_use_id}",
                text=sentence,
                markdown=False,
                language=get_language(),
                mention=Who.from_people(*voters) if voters else None,
                reply_to=None if ask is None else next(iter(ask.messages), None),
            ),
        )

    async def _run(self, tool: UserTool, call: Call, work: CallsToRun) -> ToolOutput:
        conversation = work.conversation
        context = _build_context(conversation, call)
        fields: dict[str, object] = {"tool": tool.name, "conversation_id": conversation.id}
        seconds = self._timeout if tool.timeout is None else tool.timeout
        begun = time.monotonic()
        data, is_approved = call.arguments, call.approved is not None
        try:
            if tool.is_async:
                ended = await self._run_in_loop(
                    tool, lambda: call_in_loop(tool, data, context, self._limit, is_approved=is_approved), seconds
                )
            else:
                future = self._threads.submit(call_in_thread, tool, data, context, self._limit, is_approved=is_approved)
                ended = await _wait_for(asyncio.wrap_future(future), seconds)
        except NoCapacityError as error:
            log.error(
                "A tool was not run. %s Restart askback, and fix the tools that hang.",
                error,
                extra={"action": "tool_threads", **fields},
            )
            why = f"{tool.name} was not run: {error} The operator has to restart this program."
            return ToolOutput(text=why, is_error=True)
        if isinstance(ended, _Late):
            if ended.is_begun:
                log.error(
                    "A tool timed out after %g s, so its outcome is unknown. Check what it has done.",
                    seconds,
                    extra={"action": "tool_timeout", **fields},
                )
                why = f"{tool.name} did not end within {seconds:g} s; its outcome is unknown."
            else:
                log.error(
                    "A tool was not run: it could not start within %g s, because other tools are blocked.",
                    seconds,
                    extra={"action": "tool_late", **fields},
                )
                why = f"{tool.name} was not run: it could not start within {seconds:g} s. You may call it again."
            return ToolOutput(text=why, is_error=True)
        fields["seconds"] = round(time.monotonic() - begun, 3)
        _log(ended, fields)
        return ended.output

    async def _run_in_loop(
        self, tool: UserTool, work: Callable[[], Coroutine[object, object, T]], seconds: float
    ) -> T | _Late:
        """Run a coroutine outside this event loop, for at most `seconds`. Raises `NoCapacityError`."""
        call = AsyncCall(tool.name, getattr(inspect.unwrap(tool.function), "__code__", None), work)
        self._loops.submit(call)
        end = time.monotonic() + seconds
        try:
            while not call.future.done() and (left := end - time.monotonic()) > 0:
                await asyncio.wait({call.future}, timeout=min(left, event_loops.WATCH_SECONDS))
                self._loops.check_loops()
        except asyncio.CancelledError:
            call.cancel()
            raise
        return call.future.result() if call.future.done() else _Late(call.cancel())

    def check_state(self) -> ToolRunnerState:
        """Check for tools that are blocked or hang."""
        self._loops.check_loops()
        hung = self._loops.blocked_loops
        if self._threads.is_full:
            return ToolRunnerState(f"all {self._threads.taken} threads for tools are taken", hung)
        return ToolRunnerState("all event loops of async tools are blocked" if self._loops.is_full else None, hung)


async def _wait_for(future: asyncio.Future[T], seconds: float) -> T | _Late:
    """Wait at most `seconds` for a call that has begun in a thread."""
    try:
        async with asyncio.timeout(seconds):
            return await future
    except TimeoutError:
        return _Late(True)


def _build_context(conversation: Conversation, call: Call | ToolCall) -> ToolContext:
    return ToolContext(
        conversation_id=conversation.id,
        call_id=call.tool_use_id,
        starter=conversation.starter,
        place=conversation.place,
        approvers=approval.list_approvers(call.approved) if isinstance(call, Call) and call.approved else (),
    )


def _log(ended: CallEnd, fields: dict[str, object]) -> None:
    if ended.error is not None:
        what = (type(ended.error), ended.error, ended.error.__traceback__)
        log.error("A tool failed; the model gets the error.", exc_info=what, extra={"action": "tool_failed", **fields})
    elif ended.is_invalid_input:
        log.warning("A tool was not run: the model's input is invalid.", extra={"action": "tool_rejected", **fields})
    else:
        log.info("A tool ran.", extra={"action": "tool_ran", **fields})


def _is_unapproved(tool: UserTool, call: Call) -> bool:
    """Return True if a call needs approval and has none. A tool's own rule decides later, about the arguments."""
    return tool.approval and tool.approval_if is None and call.approved is None
