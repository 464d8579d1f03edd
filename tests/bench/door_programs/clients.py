"""Clients of `askback mcp` and `askback serve`, and an ACP client. Each has a bare counterpart that asks nobody."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from tests.e2e.doors.acp_host import Host, talking
from tests.e2e.doors.tasks_client import TasksClient

from .program import OPTIONS, QUESTION, QUIET_SECONDS, TO, WHO, Program


class McpClient(Program):
    """A client of `askback mcp`."""

    client: Any
    bare_client: Any

    async def once(self) -> None:
        result = await self.client.call_tool("ask", {**QUESTION, "details": uuid.uuid4().hex})
        self.go_on()
        assert result.structured_content["answer"] == OPTIONS[0], result

    async def bare(self) -> float:
        result = await self.bare_client.call_tool("ask", {})
        self.go_on()
        return float(result.content[0].text)


def open_mcp(*, tasks: bool) -> Callable[[Path], AbstractAsyncContextManager[Program]]:
    @asynccontextmanager
    async def open_client(folder: Path) -> AsyncGenerator[Program]:
        from mcp import Client, StdioServerParameters

        def start(*arguments: str) -> StdioServerParameters:
            return StdioServerParameters(
                command=sys.executable, args=["-m", *arguments], env=dict(os.environ), cwd=str(folder)
            )

        program = McpClient()
        server = start("askback", "mcp", "--to", TO, "--who", WHO, "--call-wait", "1h")
        bare = start("tests.bench.door_programs.bare_mcp")
        extensions = [TasksClient()] if tasks else []
        async with Client(server, extensions=extensions) as program.client, Client(bare) as program.bare_client:
            yield program

    return open_client


class TimedHost(Host):
    """An ACP client that records when its agent went on."""

    def __init__(self, door: Any, program: Program) -> None:
        super().__init__(door)
        self._program = program

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        self._program.go_on()
        await super().session_update(session_id, update, **more)


class AllowingDoor:
    """A door that allows everything, and records when."""

    allowed = 0.0

    async def request_permission(self, *_: Any, **__: Any) -> Any:
        from acp.schema import AllowedOutcome, RequestPermissionResponse

        await asyncio.sleep(QUIET_SECONDS)
        self.allowed = time.time()
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id="yes"))

    async def create_elicitation(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("The agent of the benchmark sends no forms.")

    async def session_update(self, session_id: str, update: Any) -> None:
        """Do nothing: it asks nobody what a call is about."""


class AcpClient(Program):
    """An ACP client with an agent that asks for permission."""

    talk: Any
    bare_talk: Any

    def __init__(self) -> None:
        self.allowing = AllowingDoor()

    async def once(self) -> None:
        await self._ask(self.talk)

    async def bare(self) -> float:
        await self._ask(self.bare_talk)
        return self.allowing.allowed

    async def _ask(self, talk: Any) -> None:
        call = {"toolCallId": uuid.uuid4().hex, "title": "Deploy", "rawInput": {"where": "eu"}}
        (answer,) = await talk.ask(call)
        assert answer["outcome"]["optionId"] == "yes", answer


@asynccontextmanager
async def open_acp(_: Path) -> AsyncGenerator[Program]:
    from askback.doors.acp import AcpDoor

    program = AcpClient()
    async with AsyncExitStack() as stack:
        door = await stack.enter_async_context(AcpDoor(to=TO, approvers=WHO))
        program.talk = await stack.enter_async_context(talking(door, host=TimedHost(door, program)))
        bare = TimedHost(program.allowing, program)
        program.bare_talk = await stack.enter_async_context(talking(program.allowing, host=bare))
        yield program


class HttpClient(Program):
    """A client of `askback serve`, and of a server that only answers."""

    def __init__(self, session: Any, bare: Any, *, events: bool) -> None:
        self._session = session
        self._bare = bare
        self._events = events

    async def once(self) -> None:
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        async with self._session.post("/v1/asks", json=QUESTION, headers=headers) as response:
            path = f"/v1/asks/{(await response.json())['id']}"
        if self._events:
            await self._read_events(self._session, f"{path}/events")
            return
        async with self._session.get(f"{path}?wait=60") as response:
            answer = await response.json()
        self.go_on()
        assert answer["answer"] == OPTIONS[0], answer

    async def bare(self) -> float:
        if self._events:
            return float(await self._read_events(self._bare, "/events"))
        async with self._bare.get("/poll") as response:
            answer = await response.json()
        self.go_on()
        return float(answer)

    async def _read_events(self, session: Any, path: str) -> Any:
        """Read events until the outcome; return its data."""
        is_settled = False
        async with session.get(path) as response:
            async for line in response.content:
                if line.startswith(b"event: settled"):
                    is_settled = True
                elif is_settled and line.startswith(b"data: "):
                    self.go_on()
                    return json.loads(line[len("data: ") :])
        raise AssertionError("the stream ended without an outcome")


def open_http(*, events: bool) -> Callable[[Path], AbstractAsyncContextManager[Program]]:
    @asynccontextmanager
    async def open_client(_: Path) -> AsyncGenerator[Program]:
        import aiohttp

        address, token, bare = sys.argv[3:]
        async with (
            aiohttp.ClientSession(address, headers={"Authorization": f"Bearer {token}"}) as session,
            aiohttp.ClientSession(bare) as alone,
        ):
            yield HttpClient(session, alone, events=events)

    return open_client
