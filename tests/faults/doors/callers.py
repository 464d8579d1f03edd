"""Clients of `askback mcp` and `askback serve`, which call again after their server was killed.

Each is one entry of `CALLERS`. A client keeps the id of its question, if it has received one.
"""

from __future__ import annotations

import asyncio
import re
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import aiohttp
import anyio
from mcp import Client, MCPError

from e2e.ask.office import Process
from e2e.doors.client import over_pipes
from e2e.doors.client import start as start_mcp
from e2e.doors.http_caller import FIRST, write_callers
from e2e.doors.tasks_client import Task, TasksClient, send

from .frameworks import REGIONS
from .scene import PACE, SERVER, Scene

WINDOW = "RIG_WINDOW"
CALL_WAITS = ("1s", "60s")
"""The seconds for which a call waits before it returns the id of the open question, chosen at random."""
POLL_SECONDS = 0.1
DEATH_SECONDS = 2.0
"""Seconds after a connection is lost until the death of the server is known."""
LONG_POLL_SECONDS = 20


class Lost(Exception):
    """The server has died during a call."""


class ServerCaller(ABC):
    """A client and its server, one process after the other."""

    def __init__(self, scene: Scene, call_id: str, question: str) -> None:
        self.scene = scene
        self.call_id = call_id
        self.question = {"question": question, "options": [*REGIONS]}
        self.ask_id: str | None = None
        self.process: Process | None = None

    @abstractmethod
    async def start(self, window: str | None) -> None:
        """Start a server that is killed in a window."""

    @abstractmethod
    async def call(self, *, then_kill: bool = False) -> str:
        """Ask, or ask again; return what people answered. Raises `Lost`. `then_kill` kills the server afterwards."""

    async def kill(self) -> None:
        await self.get_process().kill()

    async def was_killed(self) -> bool:
        """Return True if SIGKILL has ended the server, or ends it just now."""
        return await self.has_died() and (await self.get_process().ended())[0] == -signal.SIGKILL

    async def has_died(self) -> bool:
        """Return True if the server has ended, or ends just now."""
        with suppress(TimeoutError):
            async with asyncio.timeout(DEATH_SECONDS):
                await self.get_process().ended()
        return self.get_process().is_over

    def get_process(self) -> Process:
        assert self.process is not None, "not started"
        return self.process

    async def close(self) -> None:
        if self.process is not None and not self.process.is_over:
            self.process.signal(signal.SIGTERM)
            await self.process.ended()


class HttpCaller(ServerCaller):
    """A client of `askback serve` that sends an Idempotency-Key."""

    address = ""

    async def start(self, window: str | None) -> None:
        file = write_callers(self.scene.office)
        settings = PACE | ({} if window is None else {WINDOW: window})
        options = ("serve", "--http", "0", "--callers", str(file))
        self.process = await self.scene.office.start(*options, program=SERVER, **settings)
        await self.process.said("Serving HTTP at ")
        (self.address,) = re.findall(r"Serving HTTP at (http\S+)/v1/asks\.", self.process.err)

    async def call(self, *, then_kill: bool = False) -> str:
        try:
            async with aiohttp.ClientSession(self.address, headers={"Authorization": f"Bearer {FIRST}"}) as session:
                if self.ask_id is None:
                    headers = {"Idempotency-Key": self.call_id}
                    async with session.post("/v1/asks", json=self.question, headers=headers) as response:
                        self.ask_id = (await response.json())["id"]
                answer = await self._wait(session, f"/v1/asks/{self.ask_id}")
        except (aiohttp.ClientError, ConnectionError) as error:
            raise Lost from error
        if then_kill:
            await self.kill()
        return answer

    @abstractmethod
    async def _wait(self, session: aiohttp.ClientSession, path: str) -> str: ...


class LongPoll(HttpCaller):
    """A client that polls until there is an outcome."""

    async def _wait(self, session: aiohttp.ClientSession, path: str) -> str:
        while True:
            async with session.get(path, params={"wait": str(LONG_POLL_SECONDS)}) as response:
                response.raise_for_status()
                found: dict[str, Any] = await response.json()
            if found["status"] != "open":
                return str(found.get("answer", found["status"]))


class Events(HttpCaller):
    """A client that reads server-sent events until the outcome."""

    async def _wait(self, session: aiohttp.ClientSession, path: str) -> str:
        async with session.get(f"{path}/events") as response:
            response.raise_for_status()
            text = await response.text()
        settled = re.search(r"event: settled\nid: .*\ndata: .*\"answer\": \"([^\"]*)\"", text)
        if settled is None:
            raise aiohttp.ClientPayloadError("The stream ended before the outcome.")
        return settled[1]


class McpCaller(ServerCaller):
    """A client of `askback mcp` over standard input and output."""

    extensions: tuple[TasksClient, ...] = ()

    async def start(self, window: str | None) -> None:
        settings = PACE | ({} if window is None else {WINDOW: window})
        options = ("--to", self.scene.to, "--who", "anyone", "--call-wait", self.scene.dice.choice(CALL_WAITS))
        started = await start_mcp(self.scene.office, *options, program=SERVER, **settings)
        self.process, self._reading, self._writing = started

    async def call(self, *, then_kill: bool = False) -> str:
        answer: str | None = None
        try:
            async with Client(over_pipes(self._reading, self._writing), extensions=self.extensions) as client:
                answer = await self._ask(client)
                if then_kill:
                    await self.kill()
        except (Exception, BaseExceptionGroup) as error:
            # The client reports a lost connection in several ways. Any other error leaves the server alive.
            if answer is None and not await self.has_died():
                raise
            if answer is None:
                raise Lost from error
        return answer

    @abstractmethod
    async def _ask(self, client: Client) -> str: ...


class McpWait(McpCaller):
    """A client that calls `ask`, and then `wait` while the question is open. Its calls have ids, as Claude Code's."""

    async def _ask(self, client: Client) -> str:
        meta: Any = {"claudecode/toolUseId": self.call_id}
        while True:
            call = ("ask", self.question) if self.ask_id is None else ("wait", {"id": self.ask_id})
            result = await client.call_tool(*call, meta=meta)
            found: dict[str, Any] = result.structured_content or {}
            if not found:
                raise MCPError(-1, str(result.content))
            self.ask_id = found["id"]
            if found["status"] != "open":
                return str(found.get("answer", found["status"]))


class McpEqualCalls(McpCaller):
    """A client without ids, which makes the same call again."""

    async def _ask(self, client: Client) -> str:
        while True:
            result = await client.call_tool("ask", self.question)
            found: dict[str, Any] = result.structured_content or {}
            if not found:
                raise MCPError(-1, str(result.content))
            if found["status"] != "open":
                return str(found.get("answer", found["status"]))


class McpTasks(McpCaller):
    """A client with the tasks extension. Its calls have ids, too."""

    extensions = (TasksClient(),)

    async def _ask(self, client: Client) -> str:
        if self.ask_id is None:
            meta: Any = {"claudecode/toolUseId": self.call_id}
            task: Any = await client.session.call_tool("ask", self.question, meta=meta, allow_claimed=True)
            if not isinstance(task, Task):
                return str(task.structured_content["answer"])
            self.ask_id = task.task_id
        while (found := await send(client.session, "get", self.ask_id))["status"] == "working":  # noqa: ASYNC110 - it polls
            await anyio.sleep(POLL_SECONDS)
        return str(found["result"]["structuredContent"]["answer"])


EQUAL_CALLS = "mcp, equal calls"
CALLERS: Mapping[str, Callable[[Scene, str, str], ServerCaller]] = {
    "mcp, wait": McpWait,
    EQUAL_CALLS: McpEqualCalls,
    "mcp, tasks": McpTasks,
    "serve, long poll": LongPoll,
    "serve, events": Events,
}
"""Each client by its name."""
