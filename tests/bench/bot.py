"""A bot in its own process: the real one, or an empty one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.free_port import free_port

from askback_sandbox.slack.http import SlackHttp

from .stage import SlackStage, Stage

WITHIN = 60.0
END_SECONDS = 15.0
LOOK_SECONDS = 0.002
OURS = ("ASKBACK", "SLACK", "DISCORD", "ANTHROPIC")
ROOT = Path(__file__).parents[2]


@asynccontextmanager
async def running_bot(name: str, stage: Stage, folder: Path, **settings: str) -> AsyncGenerator[Process]:
    """Run `askback slack` (`slack-http`: with signed HTTP) or `askback discord`; yield once it listens."""
    program = [sys.executable, "-m", "askback", name.removesuffix("-http")]
    async with _running(program, name, stage, folder, **settings) as process:
        yield process


@asynccontextmanager
async def empty_bot(
    name: str, stage: Stage, folder: Path, *, documented: bool = False, durable: bool = False
) -> AsyncGenerator[Process]:
    """Run the framework with an empty handler, set up as askback does it, or as its documentation does.

    `durable`: the handler commits one row before it acks.
    """
    program = [sys.executable, "-m", "tests.bench.empty", name, *(["--documented"] if documented else [])]
    program += ["--durable", str(folder / "clicks.db")] if durable else []
    async with _running(program, name, stage, folder) as process:
        yield process


@asynccontextmanager
async def slow_disk_bot(name: str, stage: Stage, folder: Path) -> AsyncGenerator[Process]:
    """Run the bot on a disk that takes 50 ms for each flush."""
    program = [sys.executable, "-m", "tests.bench.slow_disk", str(folder / "disk"), name]
    async with _running(program, name, stage, folder) as process:
        yield process


@asynccontextmanager
async def stamped_bot(name: str, stage: Stage, folder: Path, **settings: str) -> AsyncGenerator[Process]:
    """Run the bot with a clock at each stage of a click and of a turn. It writes the times to `stamps` at its end."""
    program = [sys.executable, "-m", "tests.bench.stamped", str(folder / "stamps"), name.removesuffix("-http")]
    async with _running(program, name, stage, folder, **settings) as process:
        yield process


@asynccontextmanager
async def idle_program(name: str, stage: Stage, folder: Path) -> AsyncGenerator[Process]:
    """Run a program that imports the same SDKs as the bot, connects, and does nothing; see `sdks.py`."""
    async with _running([sys.executable, "-m", "tests.bench.sdks", name], name, stage, folder) as process:
        yield process


@asynccontextmanager
async def _running(
    program: list[str], name: str, stage: Stage, folder: Path, **settings: str
) -> AsyncGenerator[Process]:
    environment = build_environment(stage, folder) | settings
    port = free_port()
    if name.endswith("-http"):
        program += ["--http", f"127.0.0.1:{port}"]
    folder.mkdir(exist_ok=True)  # noqa: ASYNC240 - nothing is measured yet
    output = folder / "bot.log"
    with output.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *program, env=environment, cwd=folder, stdout=log, stderr=log, start_new_session=True
        )
    try:
        listening = asyncio.create_task(_listening(stage, port))
        ended = asyncio.create_task(process.wait())
        async with asyncio.timeout(WITHIN):
            await asyncio.wait({listening, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not listening.done():
            listening.cancel()
            raise RuntimeError(f"the bot ended with {process.returncode}: {output.read_text(errors='replace')[-2000:]}")
        await listening
        yield process
    finally:
        await end(process)


def build_environment(stage: Stage, folder: Path) -> dict[str, str]:
    """Return the environment of a program of askback on this stage, with its database in that folder."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
    environment |= stage.environment
    environment["ASKBACK_DATABASE_URL"] = str(folder / "askback.db")
    paths = (str(ROOT), str(ROOT / "tests"), environment.get("PYTHONPATH", ""))
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    return environment


class Child:
    """A child program that answers each line with a line."""

    def __init__(self, process: Process, log: Path | None) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self._log = log
        self._in, self._out = process.stdin, process.stdout

    def say(self, line: str) -> None:
        self._in.write(f"{line}\n".encode())

    async def tell(self, line: str) -> str:
        self.say(line)
        return await self.answer()

    async def answer(self) -> str:
        said = await self._out.readline()
        if not said:
            why = "" if self._log is None else f": {self._log.read_text(errors='replace')[-2000:]}"
            raise RuntimeError(f"the program has ended{why}")
        return said.decode().strip()


@asynccontextmanager
async def child(
    module: str, *words: str, environment: dict[str, str] | None = None, log: Path | None = None
) -> AsyncGenerator[Child]:
    """Run `python -m tests.bench.MODULE WORD…` until the block ends. `log` gets its standard error."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"tests.bench.{module}", *words),
        cwd=ROOT,
        env=os.environ | (environment or {}),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=None if log is None else log.open("wb"),
        start_new_session=True,  # Ctrl-C reaches only this process, which ends the others
    )
    one = Child(process, log)
    try:
        async with asyncio.timeout(WITHIN):
            assert await one.answer() == "ready"
        yield one
    finally:
        await end(process)


@asynccontextmanager
async def passing_on(name: str, stage: Stage) -> AsyncGenerator[Callable[[], Awaitable[str]]]:
    """Yield a function that makes a separate program post the model's answer once."""
    async with child("pass_on", name, stage.channel, environment=stage.environment) as one:
        yield lambda: one.tell("say")


async def end(process: Process) -> None:
    """End a program, at the latest after some seconds."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(END_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


async def _listening(stage: Stage, port: int) -> None:
    if isinstance(stage, SlackStage) and isinstance(stage.delivery, SlackHttp):
        while not await stage.delivery.send_to(f"http://127.0.0.1:{port}"):  # noqa: ASYNC110 - another process
            await asyncio.sleep(LOOK_SECONDS)
    await stage.connected()
