"""Claude agents of the real Claude Agent SDK, whose Claude Code talks with the local Messages API."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.e2e.doors.claude_agents import DEPLOY, listen, options

from .program import TO, WHO, Program

PROMPT = "Deploy!"


class ClaudeAgent(Program):
    """An agent with a tool that deploys."""

    door: Any

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def build_options(self, **more: Any) -> Any:
        from claude_agent_sdk import create_sdk_mcp_server, tool

        @tool("deploy", "Deploy a version.", {"where": str})
        async def deploy(given: dict[str, Any]) -> dict[str, Any]:
            self.go_on()
            return {"content": [{"type": "text", "text": f"deployed to {given['where']}"}]}

        servers = {"shop": create_sdk_mcp_server("shop", tools=[deploy])}
        return options(self.folder, os.environ["ANTHROPIC_BASE_URL"], mcp_servers=servers, **more)


class DeferringClaude(ClaudeAgent):
    """An agent whose Claude Code ends while people think, and is started again to continue."""

    async def once(self) -> None:
        await listen(self.door.run(PROMPT, self.build_options()))

    async def bare(self) -> float:
        from claude_agent_sdk import HookMatcher, PermissionResultAllow, ResultMessage, query

        async def defer(*_: Any) -> Any:
            return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer"}}

        async def allow(*_: Any) -> Any:
            return PermissionResultAllow()

        ended = asyncio.Event()

        async def say_nothing() -> AsyncIterator[dict[str, Any]]:
            await ended.wait()
            return
            yield {}

        asks = json.dumps({"permissions": {"ask": [DEPLOY]}})
        hooks: Any = {"PreToolUse": [HookMatcher(matcher=DEPLOY, hooks=[defer])]}
        session = ""
        async for message in query(prompt=PROMPT, options=self.build_options(hooks=hooks, settings=asks)):
            if isinstance(message, ResultMessage):
                assert message.deferred_tool_use is not None, message
                session = message.session_id
        began = time.time()
        resumed = self.build_options(resume=session, can_use_tool=allow, settings=asks)
        async for message in query(prompt=say_nothing(), options=resumed):
            if isinstance(message, ResultMessage):
                ended.set()
        return began


class WaitingClaude(ClaudeAgent):
    """An agent whose Claude Code waits in `can_use_tool`, and calls the tool again and again."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._resumed = asyncio.Event()
        self._began = asyncio.get_running_loop().create_future()
        self._ran = asyncio.Event()
        self._asks = asyncio.Event()

    def go_on(self) -> None:
        super().go_on()
        self._ran.set()

    async def once(self) -> None:
        self._asks.set()
        self._ran.clear()
        await self._ran.wait()

    async def bare(self) -> float:
        self._ran.clear()
        self._resumed.set()
        await self._ran.wait()
        began = await self._began
        self._began = asyncio.get_running_loop().create_future()
        return began

    async def let_people_decide(self, *given: Any) -> Any:
        await self._asks.wait()
        self._asks.clear()
        return await self.door.can_use_tool(*given)

    async def allow(self, *_: Any) -> Any:
        from claude_agent_sdk import PermissionResultAllow

        await self._resumed.wait()
        self._resumed.clear()
        self._began.set_result(time.time())
        return PermissionResultAllow()

    async def run(self, decide: Any) -> None:
        from claude_agent_sdk import query

        asks = json.dumps({"permissions": {"ask": [DEPLOY]}})
        await listen(query(prompt=PROMPT, options=self.build_options(can_use_tool=decide, settings=asks)))


@asynccontextmanager
async def open_deferring(folder: Path) -> AsyncGenerator[Program]:
    from askback.doors.claude_agent_sdk import ClaudeAgentDoor

    program = DeferringClaude(folder)
    async with ClaudeAgentDoor(to=TO, approvers=WHO, requires_approval=[DEPLOY]) as program.door:
        yield program


@asynccontextmanager
async def open_waiting(folder: Path) -> AsyncGenerator[Program]:
    from askback.doors.claude_agent_sdk import ClaudeAgentDoor

    program = WaitingClaude(folder)
    async with ClaudeAgentDoor(to=TO, approvers=WHO) as program.door:
        runs = [asyncio.create_task(program.run(decide)) for decide in (program.let_people_decide, program.allow)]
        try:
            yield program
        finally:
            for run in runs:
                run.cancel()
            await asyncio.wait(runs)
