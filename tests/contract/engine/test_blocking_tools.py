"""An async tool that blocks its event loop delays only its own call; an abandoned call never runs."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest
from aiohttp import ClientSession

from askback import tool
from askback.agent.tool_runner import ToolRunner
from askback.network.http_server import serve_http
from askback.runtime.health import Health
from askback.settings.address import Address
from askback.user_tools import event_loops
from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from support.board import HERE, Board
from support.engine import Engine, engine, eventually, last_request, results


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Detect a blocked loop quickly."""
    monkeypatch.setattr(event_loops, "BLOCKED_SECONDS", 0.3)
    monkeypatch.setattr(event_loops, "WATCH_SECONDS", 0.05)


class Tools:
    """A tool that blocks until it is released, and one that records its runs."""

    def __init__(self, released: threading.Event) -> None:
        self.ran: list[str] = []
        self.began = threading.Event()
        self.ended = threading.Event()

        @tool(timeout=1.0)
        async def block() -> str:
            self.began.set()
            released.wait()
            self.ended.set()
            return "late"

        @tool(timeout=20.0)
        async def note(what: str) -> str:
            self.ran.append(what)
            return f"noted {what}"

        self.own = (block, note)


def told(services: Services) -> list[str]:
    return [str(block["content"]) for block in results(last_request(services))]


async def test_a_later_call_runs_though_another_tool_blocks(
    tmp_path: Path, board: Board, services: Services, released: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    services.model.script(turn(call("block")), turn("I go on."), when="block")
    services.model.script(turn(call("note", what="a")), turn("Noted."), when="note")
    tools = Tools(released)
    async with engine(tmp_path, board, services, own=tools.own) as one:
        await one.write("block")
        assert await asyncio.to_thread(tools.began.wait, 10)
        await one.write("note", place=HERE.evolve(thread="2"))
        await one.says("Noted.")
        assert (told(services), tools.ran) == (["noted a"], ["a"])
        await one.says("I go on.")
        assert told(services) == ["block did not end within 1 s; its outcome is unknown."]
        (record,) = [record for record in caplog.records if getattr(record, "action", "") == "tool_blocks"]
        assert "block" in record.getMessage()
        assert f"{Path(__file__).name}:" in record.getMessage(), "where it blocks"
        released.set()
        assert await asyncio.to_thread(tools.ended.wait, 10)
        await eventually_not_hung(one.toolbox)
        assert tools.ran == ["a"], "once"


async def eventually_not_hung(toolbox: ToolRunner) -> None:
    async def look() -> bool:
        return not toolbox.check_state().blocked_loops

    await eventually(look)


async def test_a_call_that_could_not_begin_in_time_is_told_so_and_never_runs(
    tmp_path: Path, board: Board, services: Services, released: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_loops, "BLOCKED_SECONDS", 60.0)  # no one notices
    ran: list[str] = []

    @tool(timeout=0.2)
    async def quick() -> None:
        ran.append("quick")

    services.model.script(turn(call("block")), turn("I go on."), when="block")
    services.model.script(turn(call("quick")), turn("Not done."), when="quick")
    tools = Tools(released)
    async with engine(tmp_path, board, services, own=(*tools.own, quick)) as one:
        await one.write("block")
        assert await asyncio.to_thread(tools.began.wait, 10)
        await one.write("quick", place=HERE.evolve(thread="2"))
        await one.says("Not done.")
        (said,) = told(services)
        assert said.startswith("quick was not run"), said
        released.set()
        assert await asyncio.to_thread(tools.ended.wait, 10)
        services.model.script(turn(call("note", what="b")), turn("Noted."), when="note")
        await one.write("note", place=HERE.evolve(thread="3"))
        await one.says("Noted.")
        assert (ran, tools.ran) == ([], ["b"])


async def test_where_every_loop_is_blocked_a_call_is_refused_at_once_and_readyz_says_so(
    tmp_path: Path, board: Board, services: Services, released: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_loops, "LOOPS", 1)
    services.model.script(turn(call("block")), turn("I go on."), when="block")
    services.model.script(turn(call("note", what="c")), turn("Not noted."), when="note")
    tools = Tools(released)
    async with engine(tmp_path, board, services, own=tools.own) as one:
        await one.write("block")
        await one.says("I go on.")
        begun = time.monotonic()
        await one.write("note", place=HERE.evolve(thread="2"))
        await one.says("Not noted.")
        assert time.monotonic() - begun < 15, "at once, and not after its 20 s"
        (said,) = told(services)
        assert said.startswith("note was not run: "), said
        refused = (
            "tools: calls are rejected: all event loops of async tools are blocked\nnote: block blocks an event loop"
        )
        assert refused in await readyz(one)
        released.set()
        await eventually_not_hung(one.toolbox)
        assert "block" not in await readyz(one)
        assert tools.ran == []


async def readyz(one: Engine) -> str:
    """Return the answer of /readyz, as a supervisor gets it over HTTP."""
    health = Health(one.store._database)
    health.watch([], {}, one.toolbox.check_state)
    async with (
        serve_http(health.create_application(), Address.read("127.0.0.1:0")) as address,
        ClientSession() as client,
        client.get(f"http://{address}/readyz") as response,
    ):
        return await response.text()
