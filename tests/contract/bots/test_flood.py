"""Strangers hold connections open, or flood the port; answers still work. With a real `askback slack --http`."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest

from askback.domain.open_ask_limits import Limits
from askback_sandbox.model.script import turn
from askback_sandbox.services import Services
from askback_sandbox.slack.http import JSON, SlackHttp
from askback_sandbox.slack.workspace import Workspace
from support.free_port import free_port
from support.processes import Launched, Launcher

from .driver import ADA, Journal, asks, card, line, one, settled, until
from .slack import SlackDesk

FEW_FILES = Path(__file__).with_name("few_files.py")
FILES = 512
"""File descriptors that the bot may have."""
HOLDERS = 600
"""Concurrent open connections, more than the bot has descriptors."""
LINES = 60
"""The maximum number of log lines about all of that."""
PROBE = 10.0
"""Seconds that a probe waits for its answer."""

Begin = Callable[[asyncio.StreamWriter], None]


@dataclass
class Flood:
    """Connections that send `beginning`, and then a byte now and then; a closed one is reopened."""

    port: int
    beginning: bytes
    drip: bytes
    opened: int = 0
    closed: int = 0
    _tasks: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        self._tasks = [asyncio.create_task(self._hold()) for _ in range(HOLDERS)]
        try:
            await until(lambda: self.opened >= HOLDERS, "all are there")
            yield
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _hold(self) -> None:
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                self.opened += 1
                try:
                    writer.write(self.beginning)
                    while not reader.at_eof():
                        with suppress(TimeoutError):
                            async with asyncio.timeout(1):
                                await reader.read(1000)
                        writer.write(self.drip)
                finally:
                    self.closed += 1
                    writer.close()
            await asyncio.sleep(1.5)


def head(*more: str) -> bytes:
    now = int(time.time())
    lines = [
        "POST /slack/interactions HTTP/1.1",
        "Host: localhost",
        f"Content-Type: {JSON}",
        f"X-Slack-Request-Timestamp: {now}",
        f"X-Slack-Signature: v0={'0' * 64}",
        *more,
    ]
    return ("\r\n".join(lines) + "\r\n").encode()


FLOODS: dict[str, tuple[bytes, bytes]] = {
    "silent": (b"", b""),
    "half a header": (head(), b"X-A: b\r\n"),
    "half a body": (head("Content-Length: 900000", ""), b" "),
    "a body without an end": (head("Transfer-Encoding: chunked", ""), b"1\r\n \r\n"),
    "idle after an answer": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", b""),
}


@dataclass
class Bot:
    """The process, and the people's view."""

    desk: SlackDesk
    port: int
    process: Launched
    log: Path

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()

    async def healthy(self, path: str) -> tuple[int, str]:
        timeout = aiohttp.ClientTimeout(total=PROBE)
        url = f"http://127.0.0.1:{self.port}{path}"
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as response:
            return response.status, await response.text()


@pytest.fixture
async def bot(tmp_path: Path, launcher: Launcher) -> AsyncIterator[Bot]:
    workspace = Workspace()
    delivery = SlackHttp(workspace, event_retries=(0.1,) * 5)
    async with Services(port=0, workspace=workspace, socket=delivery) as services:
        port, log = free_port(), tmp_path / "log"
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("ASKBACK", "SLACK"))},
            **{name: value for name, value in services.environment.items() if "DISCORD" not in name},
            "SLACK_SIGNING_SECRET": delivery.secret,
            "ASKBACK_DATABASE_URL": str(tmp_path / "one.db"),
        }
        del environment["SLACK_APP_TOKEN"]
        process = await launcher.start_into(
            log, str(FILES), "slack", "--http", f"127.0.0.1:{port}",
            folder=tmp_path, environment=environment, program=FEW_FILES,
        )  # fmt: skip
        try:
            await until(lambda: "slack_listening" in log.read_text() or process.returncode is not None, "it listens")
            assert process.returncode is None, log.read_text()
            assert await delivery.send_to(f"http://127.0.0.1:{port}"), log.read_text()
            yield Bot(SlackDesk(services, delivery, Journal(), Limits()), port, process, log)
        finally:
            process.send_signal(signal.SIGKILL)
            await process.wait()


@pytest.mark.parametrize("what", FLOODS)
async def test_whoever_holds_connections_open_keeps_no_click_from_being_acked(bot: Bot, what: str) -> None:
    desk = bot.desk
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("A pear, then."), when="fruit")
    talk = await desk.mention(ADA, "fruit")
    shown = await card(desk, talk)
    before = len(bot.lines())
    beginning, drip = FLOODS[what]
    async with Flood(bot.port, beginning, drip).running():
        assert await bot.healthy("/healthz") == (200, "ok\n")
        assert await bot.healthy("/readyz") == (200, "ok\n")
        # `press` fails if the click is not acked within Slack's three seconds.
        await desk.press(ADA, shown, "Pear")
        await settled(desk, talk, "Pear")
        await line(desk, talk, "A pear, then.")
        assert await bot.healthy("/readyz") == (200, "ok\n")
    said = bot.lines()[before:]
    assert len(said) < LINES, "\n".join(said[:LINES])
    assert "Too many open files" not in "\n".join(said)


BODIES = 48
"""Concurrent large bodies, three times as many bytes as the bot holds before it has checked a signature."""
BODY = 900_000


async def send_most_of_a_body(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Send all of a large body but its last byte, so that its signature cannot be checked yet."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head(f"Content-Length: {BODY}", "") + b" " * (BODY - 1))
    return reader, writer


async def test_large_bodies_of_strangers_are_refused_at_once_and_a_click_is_acked_meanwhile(bot: Bot) -> None:
    desk = bot.desk
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("A pear, then."), when="fruit")
    talk = await desk.mention(ADA, "fruit")
    shown = await card(desk, talk)
    refused: list[str] = []

    async def hold() -> None:
        reader, writer = await send_most_of_a_body(bot.port)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                refused.append((await reader.readuntil(b"\r\n\r\n")).decode())
        finally:
            writer.close()

    holders = [asyncio.create_task(hold()) for _ in range(BODIES)]
    try:
        await until(lambda: any(" 503 " in answer for answer in refused), "no more bodies are taken")
        assert not any(" 408 " in answer for answer in refused), "the first ones are still held"
        # `press` fails if the click is not acked within Slack's three seconds.
        await desk.press(ADA, shown, "Pear")
        await settled(desk, talk, "Pear")
        await line(desk, talk, "A pear, then.")
        await asyncio.gather(*holders)
    finally:
        for task in holders:
            task.cancel()
    busy = [answer for answer in refused if " 503 " in answer]
    assert len(busy) >= BODIES // 2, refused
    assert all("Retry-After: 1\r\n" in answer for answer in busy), busy[0]
    assert await bot.healthy("/readyz") == (200, "ok\n")
