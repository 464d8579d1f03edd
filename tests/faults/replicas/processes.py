"""Processes of the engine on one PostgreSQL database, and a test's ways to control them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from io import RawIOBase
from pathlib import Path
from typing import Any, Self, cast

import psycopg

from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.database import PostgresDatabase
from askback.store.store import Store
from askback_sandbox.model.model import Model
from askback_sandbox.services import Services
from support.processes import Launched, Launcher
from support.stores import URL_FILE

REPLICA = Path(__file__).with_name("replica.py")
WITHIN = 60.0


class Process:
    """A replica."""

    def __init__(self, process: Launched, orders: RawIOBase, reader: asyncio.StreamReader, log: Path) -> None:
        self._process = process
        self._log = log
        self._orders = orders
        self._reader = reader
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._last = 0
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, folder: Path, model: str, launcher: Launcher, **settings: float) -> Self:
        (read_orders, orders), (answers, write_answers) = os.pipe(), os.pipe()
        log = folder / "replicas.log"
        errors = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        theirs = (read_orders, write_answers, errors)
        try:
            environment = {**os.environ, **{f"REPLICA_{name.upper()}": str(value) for name, value in settings.items()}}
            process = await launcher.start(
                str(folder), model, folder=folder, environment=environment, streams=theirs, program=REPLICA
            )
        finally:
            for stream in theirs:
                os.close(stream)
        reader = asyncio.StreamReader(limit=2**22)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(answers, "rb")
        )
        replica = cls(process, cast("RawIOBase", os.fdopen(orders, "wb", buffering=0)), reader, log)
        await replica._expect(0)
        return replica

    def _expect(self, number: int) -> asyncio.Future[dict[str, Any]]:
        return self._answers.setdefault(number, asyncio.get_running_loop().create_future())

    async def _read(self) -> None:
        while line := await self._reader.readline():
            answer = json.loads(line)
            waiting = self._expect(answer.pop("number"))
            if not waiting.cancelled():  # else the caller has given up, and reports it
                waiting.set_result(answer)
        ended = ConnectionError(f"the replica has ended:\n{self._log.read_text()[-6000:]}")
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(ended)
                waiting.exception()

    def order(self, do: str, **more: Any) -> asyncio.Future[dict[str, Any]]:
        self._last += 1
        self._orders.write(json.dumps({"number": self._last, "do": do, **more}).encode() + b"\n")
        return self._expect(self._last)

    async def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        await self._process.wait()
        await self._reading
        self._orders.close()


class Replicas:
    """A test's processes, the database, and the model that they call."""

    def __init__(self, folder: Path, url: str, services: Services, launcher: Launcher, stack: AsyncExitStack) -> None:
        self._launcher = launcher
        self.folder = folder
        self.url = url
        self.services = services
        self._stack = stack

    async def start(self, **settings: float) -> Process:
        """Start a process. `ahead`: seconds by which its clock is wrong; `latency`: seconds to post a card."""
        process = await Process.start(self.folder, self.services.anthropic_url, self._launcher, **settings)
        self._stack.push_async_callback(process.kill)
        return process

    @asynccontextmanager
    async def store(self) -> AsyncGenerator[Store]:
        database = await asyncio.to_thread(PostgresDatabase, PostgresAddress.read(self.url), connections=4)
        try:
            yield Store(database)
        finally:
            await database.close()

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def posts(self) -> list[dict[str, Any]]:
        file = self.folder / "posts.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    async def until(self, holds: Callable[[], object], within: float = WITHIN) -> float:
        """Wait until this holds; return the seconds it took."""
        began = time.monotonic()
        while not holds():
            log = (self.folder / "replicas.log").read_text()[-6000:]
            assert time.monotonic() - began < within, f"not within {within:g} s: {self.posts()}\n{log}"
            await asyncio.sleep(0.02)
        return time.monotonic() - began


@asynccontextmanager
async def on(url: str, folder: Path, launcher: Launcher) -> AsyncGenerator[Replicas]:
    (folder / URL_FILE).write_text(url)
    async with Services(port=0, model=Model()) as services, AsyncExitStack() as stack:
        yield Replicas(folder, url, services, launcher, stack)
