"""From a click until the program behind a door continues, compared with the framework's own way.

No bot runs: the process of each door is connected to the local Slack itself, and has its own database. All wait
in turn, in random order. Right after each click, the same program waits and continues without askback.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import random
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aiohttp import web

from askback_sandbox.model.request import ReceivedRequest
from askback_sandbox.model.script import Turn, call, turn

from .bot import Child, build_environment, child, end
from .figures import Figure, measured, ratio
from .polls import serving
from .runner import Bench
from .stage import CALM_SECONDS, AskingModel, Stage

TIMES, SELDOM, WARM = 40, 4, 2
"""Clicks at each door, the rarer clicks at slow doors, and clicks that do not count."""
CALLER, TOKEN = "bench", "a-token-of-the-benchmark"
QUIET_SECONDS = 0.02
"""Seconds for which a bare server waits, as for people."""
DEPLOY = ("mcp__shop__deploy", {"where": "eu"})
TOUCH = ("Bash", {"command": "touch approved", "description": "Work"})


@dataclass(frozen=True)
class Title:
    """The steps that are measured at a door."""

    click: str
    """The end of the time that begins with a click."""
    bare: str | None
    """The same without askback. None if there is nothing to compare with."""
    module: str = "askback"
    """The library that must be installed."""
    button: str = "Approve"
    calls: tuple[str, dict[str, Any]] | None = None
    """The call that the model makes, if the door needs one."""
    endless: bool = False
    """True if the model makes the call again and again in one run."""
    is_slow: bool = False


TITLES = {
    "langgraph": Title(
        "the node of LangGraph continues",
        "`Command(resume=…)` → the node continues, LangGraph with its SQLite checkpointer",
        module="langgraph",
        button="Green",
    ),
    "langchain": Title(
        "the tool of a LangChain agent runs",
        "`Command(resume=…)` → the tool runs, LangChain with the SQLite checkpointer",
        module="langchain",
    ),
    "pydantic-ai": Title(
        "the model of Pydantic AI is asked",
        "`DeferredToolResults` → the model is asked, Pydantic AI in memory",
        module="pydantic_ai",
        button="Green",
    ),
    "openai-agents": Title(
        "the tool of the OpenAI Agents SDK runs",
        "`approve` → the tool runs, OpenAI Agents SDK in memory",
        module="agents",
    ),
    "claude waiting": Title(
        "the tool runs, Claude Agent SDK that waits in `can_use_tool`",
        "`PermissionResultAllow` → the tool runs, Claude Agent SDK",
        module="claude_agent_sdk",
        calls=DEPLOY,
        endless=True,
    ),
    "claude deferred": Title(
        "the tool runs, Claude Agent SDK that starts Claude Code to continue",
        "`resume` → the tool runs, Claude Agent SDK that starts Claude Code",
        module="claude_agent_sdk",
        calls=DEPLOY,
        is_slow=True,
    ),
    "claude code": Title(
        "the model reads the call's result, Claude Code with `permit` of `askback mcp`",
        "a permission-prompt tool that allows at once → the model reads the call's result, Claude Code",
        module="claude_agent_sdk",
        calls=TOUCH,
        endless=True,
    ),
    "mcp": Title(
        "a call of `ask` returns, `askback mcp`",
        "a tool returns → its call returns, an MCP server that asks nobody",
        module="mcp",
        button="Green",
    ),
    "mcp tasks": Title(
        "a task is completed, `askback mcp` and a client that polls every 100 ms", None, module="mcp", button="Green"
    ),
    "acp": Title(
        "the agent has its answer, ACP",
        "a client that allows at once → the agent has its answer, ACP",
        module="acp",
        button="Allow",
    ),
    "long poll": Title(
        "a long poll of `askback serve` returns", "an answer → its client has it, aiohttp alone", button="Green"
    ),
    "events": Title(
        "an event of `askback serve` arrives", "an event → its client has it, aiohttp alone", button="Green"
    ),
}
SERVERS = ("long poll", "events")


class CallingModel(AskingModel):
    """A model that makes one call, once or again and again. It records when it last read the result of a call."""

    def __init__(self, name: str, given: dict[str, Any], *, endless: bool) -> None:
        super().__init__()
        self._call = turn(call(name, **given))
        self._endless = endless

    def _next(self, asked: ReceivedRequest) -> Turn:
        if not asked.tools:
            return turn("Fine.")  # a request outside the conversation, such as for its title
        self.called = time.time()
        return turn("Done.") if asked.turns and not self._endless else self._call


@dataclass
class Door(ABC):
    """A door with its program."""

    title: Title
    stage: Stage
    took: list[float] = field(default_factory=list[float])
    bare: list[float] = field(default_factory=list[float])

    @abstractmethod
    async def measure(self) -> float:
        """Return the milliseconds from a click until the program went on."""

    @abstractmethod
    async def measure_bare(self) -> float:
        """Return the milliseconds from the resumption until the program went on, without askback."""


class ProgramDoor(Door):
    """A door whose program is in `door_programs`."""

    program: Child

    async def measure(self) -> float:
        before = self.stage.newest()
        running = asyncio.create_task(self.program.tell("once"))
        card = await self.stage.next_card(before)
        pressed = await self.stage.press(card)
        went_on = json.loads(await running)
        if not self.title.endless:
            await self.stage.until(lambda: self.stage.newest() is None)
        await asyncio.sleep(CALM_SECONDS)
        return (went_on - pressed.sent) * 1000

    async def measure_bare(self) -> float:
        began, went_on = json.loads(await self.program.tell("bare"))
        return (went_on - began) * 1000


class ClaudeCodeDoor(Door):
    """Claude Code, and another one whose permission tool asks nobody. Both call a tool again and again."""

    alone: Stage
    pipe: Path
    card: Any = None

    async def measure(self) -> float:
        self.card = await self.stage.next_card(self.card)
        pressed = await self.stage.press(self.card)
        await self.stage.until(lambda: self.stage.model.called > pressed.sent)
        await asyncio.sleep(CALM_SECONDS)
        return (self.stage.model.called - pressed.sent) * 1000

    async def measure_bare(self) -> float:
        model = self.alone.model
        began = await asyncio.to_thread(self._allow)
        while model.called < began:  # noqa: ASYNC110 - the platform of this one never changes
            await asyncio.sleep(0.001)
        return (model.called - began) * 1000

    def _allow(self) -> float:
        with self.pipe.open("w", encoding="utf-8") as pipe:  # opens once the tool waits
            pipe.write("go\n")
            return time.time()


async def run(bench: Bench) -> AsyncIterator[Figure]:
    async with AsyncExitStack() as stack:
        doors: dict[str, Door] = {}
        bare = await stack.enter_async_context(_serving_nothing())
        for name, title in TITLES.items():
            if not _is_installed(title.module):
                bench.say(f"{name}: left out, since {title.module} is not installed (pip install -e '.[bench]')")
                continue
            doors[name] = await stack.enter_async_context(_open(name, title, bench, bare))
            bench.say(f"{name}: ready")
        warm = bench.times(WARM, 1)
        rounds = warm + bench.times(TIMES)
        for number in range(rounds):
            for door in random.sample([*doors.values()], len(doors)):
                if door.title.is_slow and number >= warm and (number - warm) % SELDOM:
                    continue
                took = await door.measure()
                alone = None if door.title.bare is None else await door.measure_bare()
                if number >= warm:
                    door.took.append(took)
                    door.bare += [] if alone is None else [alone]
            if number % 10 == 0 or number == rounds - 1:
                bench.say(f"{number + 1} of {rounds} rounds")
    for door in doors.values():
        compared = f"{ratio(door.took, door.bare):.1f} × the same without askback; " if door.bare else ""
        figure = measured(f"click → {door.title.click}", "ms", door.took, database=bench.database)
        yield replace(figure, note=f"{compared}n = {figure.n}")
        if door.title.bare is not None:
            alone = measured(door.title.bare, "ms", door.bare)
            yield replace(alone, note=f"without askback; n = {alone.n}")


@asynccontextmanager
async def _open(name: str, title: Title, bench: Bench, bare: str) -> AsyncGenerator[Door]:
    folder = bench.folder / name.replace(" ", "-")
    folder.mkdir()
    async with AsyncExitStack() as stack:

        async def open_stage() -> Stage:
            model = None if title.calls is None else CallingModel(*title.calls, endless=title.endless)
            stage = await stack.enter_async_context(Stage.open("slack", model))
            stage.button = title.button
            return stage

        stage = await open_stage()
        environment = build_environment(stage, folder) | {
            "ASKBACK_QUESTION_PACE": "0s",
            "ASKBACK_APPROVAL_REASONS": "none",
            "ANTHROPIC_BASE_URL": stage.services.url,
        }
        if name == "claude code":
            door = ClaudeCodeDoor(title, stage)
            door.alone, door.pipe = await open_stage(), folder / "pipe"
            os.mkfifo(door.pipe)
            permit = (
                "-m",
                "askback",
                "mcp",
                "--to",
                "slack:#general",
                "--who",
                "anyone",
                "--permit",
                "--approvers",
                "anyone",
            )
            alone = ("-m", "tests.bench.door_programs.bare_mcp", str(door.pipe))
            await stack.enter_async_context(_claude(folder / "askback", stage, permit, environment))
            await stack.enter_async_context(_claude(folder / "alone", door.alone, alone, environment))
            yield door
            return
        words = [name, str(folder)]
        if name in SERVERS:
            _, address = await stack.enter_async_context(serving(stage, folder, {CALLER: TOKEN}))
            words += [address, TOKEN, bare]
        program = ProgramDoor(title, stage)
        log = folder / "program.log"
        program.program = await stack.enter_async_context(
            child("door_programs", *words, environment=environment, log=log)
        )
        yield program


@asynccontextmanager
async def _claude(
    folder: Path, stage: Stage, server: tuple[str, ...], environment: dict[str, str]
) -> AsyncGenerator[None]:
    """Run Claude Code with an MCP server that decides about its calls."""
    from tests.support.claude_code import build_claude_environment, find_claude

    work = folder / "work"
    work.mkdir(parents=True)
    servers = {"askback": {"command": sys.executable, "args": [*server], "env": environment}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    command = (
        *(str(find_claude()), "-p", "Do the work.", "--strict-mcp-config", "--mcp-config", str(folder / "mcp.json")),
        *("--permission-prompt-tool", "mcp__askback__permit"),
    )
    with (folder / "claude.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=work,
            env=build_claude_environment(stage.services.url, folder / "config"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield
    finally:
        await end(process)


@asynccontextmanager
async def _serving_nothing() -> AsyncGenerator[str]:
    """Run a server whose answers are the times at which it sends them; yield its address."""

    async def poll(_: web.Request) -> web.Response:
        await asyncio.sleep(QUIET_SECONDS)
        return web.json_response(time.time())

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"event: open\ndata: {}\n\n")
        await asyncio.sleep(QUIET_SECONDS)
        await response.write(f"event: settled\ndata: {time.time()}\n\n".encode())
        await response.write_eof()
        return response

    application = web.Application()
    application.add_routes([web.get("/poll", poll), web.get("/events", stream)])
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
