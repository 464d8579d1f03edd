"""One start of Claude Code by the Claude Agent SDK: the calls that it defers, and the answer that it continues with."""

from __future__ import annotations

__all__ = ["ClaudeRun", "ask_now", "check_options"]

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookContext,
    HookInput,
    HookJSONOutput,
    HookMatcher,
    Message,
    PermissionResult,
    PermissionResultDeny,
    ResultMessage,
    StreamEvent,
    TaskNotificationMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
    ToolPermissionContext,
    ToolResultBlock,
    UserMessage,
    query,
)
from pydantic import JsonValue

from askback.domain import approval
from askback.domain.hand_over import CallId
from askback.doors.claude_calls import AnsweredCall, GatedTools, build_result, name_call
from askback.doors.claude_turn import BackgroundTasks, ModelTurn
from askback.doors.framework_door import FrameworkDoor
from askback.doors.hand_over import NotClaimed
from askback.doors.tool_inputs import repair_texts
from askback.errors import AskbackError, CallerError, ModelError
from askback.translations.catalogue import use_language

log = logging.getLogger("askback.door")

HOOK_SECONDS: Final = 3600.0
"""Seconds after which Claude Code gives up the hook that defers. It only takes long if the platform is unreachable."""
REISSUE_SECONDS = 60.0
"""Seconds from the start of Claude Code until a deferred call counts as gone."""
DEFER: Final[HookJSONOutput] = {
    "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer"},
}


class ClaudeRun:
    """One start of Claude Code."""

    def __init__(
        self,
        door: FrameworkDoor,
        tools: GatedTools,
        options: ClaudeAgentOptions,
        answered: AnsweredCall | None = None,
    ) -> None:
        """Calls of these tools wait for people. `answered` is the call with which a session continues."""
        self.is_taken = False
        """True once Claude Code has asked for the answer."""
        self.has_result = False
        """True once the call with which the session continues has a result."""
        self.result: ResultMessage | None = None
        self._door = door
        self._tools = tools
        self._options = options
        self._answered = answered
        self._session = secrets.token_hex(8) if answered is None else answered.hand_over.id.run
        self._turn = ModelTurn()
        self._tasks = BackgroundTasks()
        self._begun = asyncio.Event()
        self._ended = asyncio.Event()

    async def stream(self, prompt: str | AsyncIterable[dict[str, Any]] | None = None) -> AsyncGenerator[Message]:
        """Yield the messages of Claude Code. Without a prompt, it continues with the answered call."""
        given = _NoPrompt(self._begun, self._ended) if prompt is None else prompt
        messages = cast("AsyncGenerator[Message]", query(prompt=given, options=self._extend()))
        async with aclosing(messages):
            async for message in messages:
                self._note(message)
                if self._options.include_partial_messages or not isinstance(message, StreamEvent):
                    yield message

    def _extend(self) -> ClaudeAgentOptions:
        hooks = dict(self._options.hooks or {})
        hooks["PreToolUse"] = [*hooks.get("PreToolUse", ()), HookMatcher(hooks=[self._defer], timeout=HOOK_SECONDS)]
        extended = replace(
            self._options,
            can_use_tool=self._decide,
            hooks=hooks,
            settings=_add_rules(self._options, self._tools.names),
            allowed_tools=[
                rule for rule in self._options.allowed_tools if rule.partition("(")[0] not in self._tools.names
            ],
            include_partial_messages=True,
        )
        if self._answered is None:
            return extended
        return replace(
            extended,
            resume=self._session,
            session_id=None,
            continue_conversation=False,
            fork_session=False,
            # Claude Code forgets to which folder the model changed, and a call does something else in another.
            cwd=self._answered.folder,
            add_dirs=[*self._options.add_dirs, self._base],
        )

    @property
    def _base(self) -> Path:
        """The folder in which the agent starts."""
        return Path(self._options.cwd or ".").resolve()

    def _note(self, message: Message) -> None:
        match message:
            case StreamEvent():
                self._turn.note(message)
            case TaskStartedMessage() | TaskUpdatedMessage() | TaskNotificationMessage():
                self._tasks.note(message)
            case UserMessage(content=list(blocks)) if self._answered is not None:
                ids = [block.tool_use_id for block in blocks if isinstance(block, ToolResultBlock)]
                self.has_result = self.has_result or self._answered.tool_use_id in ids
            case ResultMessage():
                self.result = message
                self._begun.set()
                self._ended.set()
            case _:
                pass

    async def _defer(self, given: HookInput, _: str | None, __: HookContext) -> HookJSONOutput:
        """Ask about a call, and let Claude Code end. Without a decision here, Claude Code asks `_decide`."""
        assert given["hook_event_name"] == "PreToolUse"
        self._session = given["session_id"]
        identifier, tool = given["tool_use_id"], given["tool_name"]
        if tool not in self._tools.names or "agent_id" in given or self._is_answered(identifier):
            return {}
        if self._options.session_store is not None and Path(given["cwd"]) != self._base:
            return {}  # such a store finds a session by the folder in which it continues
        if not await self._turn.has_only(identifier) or self._tasks.are_running:
            return {}
        call = self._name(name_call(identifier, given["cwd"]))
        try:
            with use_language(self._door.language):
                question = self._tools.build_question(tool, _repair(given["tool_input"]))
            # A session waits for one deferred call only.
            known = await self._door.list_hand_overs(self._session)
            await self._door.withdraw(one for one in known if one.state == "asked" and one.id != call)
            await self._door.ask(call, question)
        except AskbackError as error:
            log.info("Could not defer a call: %s", error, extra={"action": "not_deferred"})
            return {}  # the model reads the reason from `_decide`
        return DEFER

    async def _decide(self, tool: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
        identifier = context.tool_use_id
        if self._answered is not None and self._is_answered(identifier):
            self.is_taken = True
            self._begun.set()
            repaired = _repair(given)
            if approval.compute_digest(tool, repaired) == self._answered.hand_over.digest:
                return build_result(tool, repaired, self._answered.ask)
        return await ask_now(self._door, self._tools, self._session, tool, given, identifier)

    def _is_answered(self, identifier: str | None) -> bool:
        return self._answered is not None and self._answered.tool_use_id == identifier

    def _name(self, call: str) -> CallId:
        return CallId(framework=self._door.framework, run=self._session, call=call)


class _NoPrompt(AsyncIterator[dict[str, Any]]):
    """A prompt without messages. Its end closes the input, so it ends with the run, or if the call is gone."""

    def __init__(self, begun: asyncio.Event, ended: asyncio.Event) -> None:
        self._begun = begun
        self._ended = ended

    async def __anext__(self) -> dict[str, Any]:
        with suppress(TimeoutError):
            async with asyncio.timeout(REISSUE_SECONDS):
                await self._begun.wait()
        if self._begun.is_set():
            await self._ended.wait()
        raise StopAsyncIteration


async def ask_now(
    door: FrameworkDoor, tools: GatedTools, session: str, tool: str, given: dict[str, Any], tool_use_id: str | None
) -> PermissionResult:
    """Ask people about a call, and wait while Claude Code runs. Every error denies the call, and says that nobody did.

    Claude Code never issues such a call again after a restart, so it is no hand-over that a later process continues.
    """
    call = CallId(framework=f"{door.framework} (live)", run=session, call=tool_use_id or tool)
    repaired = _repair(given)
    try:
        with use_language(door.language):
            question = tools.build_question(tool, repaired)
        ask = await door.wait(await door.ask(call, question), ends_with_process=True)
        async with door.claim(dict.fromkeys([call], question.digest)):
            return build_result(tool, repaired, ask)
    except NotClaimed as error:
        log.warning("A call was not answered: %s", error, extra={"action": "not_claimed"})
        return PermissionResultDeny(
            message=f"People answered an earlier {tool} with this id, so it was not run. Make the call again."
        )
    except (CallerError, ModelError) as error:
        return PermissionResultDeny(message=f"Nobody was asked, so it was not run: {error}")
    except AskbackError as error:
        log.warning("A request for permission failed: %s", error, extra={"action": "call_failed"})
        return PermissionResultDeny(
            message=f"askback could not ask people, so it was not run. Nobody denied it: {error}"
        )


def check_options(options: ClaudeAgentOptions) -> None:
    """Raise `CallerError` if Claude Code could run calls without the answer of people."""
    if options.can_use_tool is not None:
        raise CallerError("The options have `can_use_tool`, which is the door's part here: leave it out.")
    if options.permission_mode == "bypassPermissions":
        raise CallerError("In the mode “bypassPermissions”, calls can run without approval: choose another mode.")


def _add_rules(options: ClaudeAgentOptions, tools: Sequence[str]) -> str:
    """Return the settings with a rule that asks for these tools. It precedes every rule that allows them.

    Without it, an allowed tool runs when the session continues, whatever people decided.
    """
    try:
        text = options.settings or "{}"
        if not text.lstrip().startswith("{"):
            text = Path(options.cwd or ".", text).read_text(encoding="utf-8")
        settings = json.loads(text)
        permissions = settings.setdefault("permissions", {})
        permissions["ask"] = [*permissions.get("ask", ()), *tools]
        return json.dumps(settings)
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise CallerError(f"The `settings` of the options cannot be read: {error}.") from None


def _repair(given: dict[str, Any]) -> dict[str, JsonValue]:
    repaired = repair_texts(given)
    assert isinstance(repaired, dict)
    return repaired
