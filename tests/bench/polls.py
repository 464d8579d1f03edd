"""Programs that wait at `askback serve`: its memory and processor while they wait, and an answer until a poll returns.

A bot runs on the same database, as where both are deployed. The questions are copies of one row. This process answers
them, as another process of askback does. First a hundred programs wait, then 10,000.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import re
import resource
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection, func, insert, select

from askback.client.external_writes import write
from askback.domain.ask import Ask, create_ask_id
from askback.manager import QuestionManager
from askback.store import schema
from askback.store.errors import StoreBusy
from askback.store.external_access import DatabaseLocation, open_for_writing, read_snapshot
from askback.store.queries import asks
from askback.store.store import Store
from askback.store.url import parse_database_url

from . import postgres
from .asked import answer, ask_in
from .bot import Child, build_environment, child, end, running_bot
from .figures import Database, Figure, measured, ratio
from .open import cpu_seconds, megabytes
from .runner import Bench, Unavailable
from .stage import Stage

COUNT, FEW = 10_000, 100
CALLERS = 10
TIMES, BURST = 100, 1_000
"""Answers one after the other, and answers at once."""
OTHERS = 10
"""Other questions that are asked while the programs wait."""
IDLE_SECONDS, OTHERS_SECONDS, SETTLE_SECONDS = 25.0, 5.0, 3.0
"""In 25 seconds, a server reports all its waits once."""
PAUSES = (0.02, 0.1)
"""Seconds between two answers, so that they meet no rhythm of the server."""
KILOBYTES = 1024.0
SPARE_FILES = 1_000
WITHIN, LOOK_SECONDS = 300.0, 0.5
AT_ONCE = 16
MOST_MEMORY, MOST_PER_CENT = 40.0, 10.0
"""The goals: kilobytes for each program that waits, and per cent of a core while 10,000 wait."""


async def run(bench: Bench) -> AsyncIterator[Figure]:
    count = bench.times(COUNT, 2 * FEW)
    raise_file_limit(count)
    folder = bench.folder / "sqlite"
    async for figure in _measure(bench, "SQLite", str(folder / "askback.db"), bench.database, folder, count):
        yield figure
    async with postgres.fresh(bench) as (url, about):
        async for figure in _measure(bench, "PostgreSQL", url, about, bench.folder / "postgres", count):
            yield figure


def raise_file_limit(count: int) -> None:
    """Let this process and those that it starts open a file for each program that waits. Raises `Unavailable`."""
    needed = count + SPARE_FILES
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY not in (files, most) and most < needed:
        raise Unavailable(
            f"a process may open {most:,} files here, and {needed:,} are needed: raise the hard limit "
            f"(`ulimit -Hn {needed}` as root, or LimitNOFILE= of the service), and run it again"
        )
    if resource.RLIM_INFINITY != files < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))


@dataclass
class Server:
    """`askback serve`, on a database with open questions, and the programs that wait at it."""

    where: DatabaseLocation
    pid: int
    polls: Polls

    def read_cpu(self) -> float:
        return cpu_seconds(self.pid)

    async def measure_load(self, seconds: float) -> float:
        """Return the part of a core that it uses in this time, in per cent."""
        used, began = self.read_cpu(), time.monotonic()
        await asyncio.sleep(seconds)
        return (self.read_cpu() - used) / (time.monotonic() - began) * 100

    async def wait_until_recorded(self, count: int) -> None:
        """Wait until it has recorded that a program waits for each question."""
        query = select(func.count()).select_from(schema.waits)

        def has_all(connection: Connection) -> bool:
            return connection.execute(query).scalar_one() >= count

        async with asyncio.timeout(WITHIN):
            while not await asyncio.to_thread(read_snapshot, self.where, has_all):  # noqa: ASYNC110 - another process
                await asyncio.sleep(LOOK_SECONDS)


class Polls:
    """The programs that wait, in a process of their own."""

    def __init__(self, program: Child, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self._returned: dict[str, asyncio.Future[float]] = {}
        self._waiting: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()

    async def wait_for(self, lines: Sequence[str]) -> tuple[float, int]:
        """Let a program wait for each of these questions; return the seconds until all wait, and the refusals."""
        loop = asyncio.get_running_loop()
        self._returned |= {line.split()[1]: loop.create_future() for line in lines}
        self._waiting = loop.create_future()
        file = self._folder / f"polls-{len(self._returned)}"
        file.write_text("\n".join(lines), encoding="utf-8")
        self._program.say(str(file))
        count, seconds, refused = await self._waiting
        assert int(count) == len(lines)
        return float(seconds), int(refused)

    async def returned(self, ask_id: str) -> float:
        """Return the time at which the program had the answer, once it has it."""
        return await self._returned[ask_id]

    async def read(self) -> None:
        """Read what the program prints, until cancelled."""
        while True:
            kind, *words = (await self._program.answer()).split()
            if kind == "returned":
                self._returned[words[0]].set_result(float(words[1]))
            else:
                self._waiting.set_result(words)


async def _measure(
    bench: Bench, store: str, url: str, about: Database, folder: Path, count: int
) -> AsyncIterator[Figure]:
    where = parse_database_url(url)
    tokens = {f"caller-{number}": f"token-number-{number}-of-a-caller" for number in range(CALLERS)}
    async with (
        Stage.open("slack") as stage,
        running_bot("slack", stage, folder, ASKBACK_DATABASE_URL=url),
        # The bot that gets a click announces the answer with its commit, and needs no other signal.
        open_for_writing(where, signals=False) as writer,
        serving(stage, folder, tokens, ASKBACK_DATABASE_URL=url) as (pid, address),
        child("poller", address) as program,
        asyncio.TaskGroup() as tasks,
    ):
        server = Server(where, pid, Polls(program, folder))
        reading = tasks.create_task(server.polls.read())
        manager = QuestionManager(Store(writer))
        lines = await writer.run(put(count + FEW, tokens))
        few, many = lines[:FEW], lines[FEW:]
        await server.polls.wait_for(few)
        await server.wait_until_recorded(FEW)
        with_few = await _answer_in_turn(manager, server.polls, few[: bench.times(TIMES)])
        await _answer_all(manager, few[bench.times(TIMES) :])
        bench.say(f"{store}: {len(with_few)} answers with up to {FEW} programs that wait")
        none = await server.measure_load(SETTLE_SECONDS)
        before, came, began = megabytes(pid), server.read_cpu(), time.monotonic()
        _, refused = await server.polls.wait_for(many)
        await server.wait_until_recorded(count)
        came, seconds = server.read_cpu() - came, time.monotonic() - began
        bench.say(f"{store}: {count:,} wait after {seconds:.1f} s; {refused:,} requests were told to come again")
        await asyncio.sleep(SETTLE_SECONDS)
        memory = megabytes(pid) - before
        idle = await server.measure_load(1.0 if bench.quick else IDLE_SECONDS)
        bench.say(f"{store}: idle {idle:.1f} %, {memory:.0f} MB more")
        others = await _ask_others(server, stage, idle)
        bench.say(f"{store}: {others:.1f} ms of processor for each other question")
        with_many = await _answer_in_turn(manager, server.polls, many[: bench.times(TIMES)])
        bench.say(f"{store}: {len(with_many)} answers with {count:,} programs that wait")
        used, began = server.read_cpu(), time.time()
        rest = many[bench.times(TIMES) :][:BURST]
        await _answer_all(manager, rest)
        committed = time.time() - began
        took = max([await server.polls.returned(line.split()[1]) for line in rest]) - began
        used = server.read_cpu() - used
        bench.say(f"{store}: {len(rest):,} at once have their answers after {took:.1f} s")
        reading.cancel()
    on = f"{count:,} waiting long polls, {store}"
    each = memory * KILOBYTES / count
    figures = [
        Figure(
            what=f"memory of `askback serve` for each of {on}", unit="KB", median=each, n=count,
            goal=f"≤ {MOST_MEMORY:g} KB", met=each <= MOST_MEMORY, note=f"{before:.0f} MB before, {memory:.0f} MB more",
        ),
        Figure(
            what=f"idle processor of `askback serve`, {on}", unit="% of a core", median=idle, n=1,
            goal=f"< {MOST_PER_CENT:g} %", met=idle < MOST_PER_CENT, note=f"{none:.2g} % while none waits",
        ),
        measured(f"answer → its poll returns, at most {FEW} waiting long polls, {store}", "ms", with_few),
        replace(
            measured(f"answer → its poll returns, {on}", "ms", with_many),
            note=f"{ratio(with_many, with_few):.2f} × that at {FEW}",
        ),
        Figure(
            what=f"processor for each other question that is asked, {on}", unit="ms", median=others, n=OTHERS,
            note=None if others else "no more than the idle processor",
        ),
        Figure(
            what=f"processor for each poll until it waits, {on}", unit="ms", median=came / count * 1000, n=count,
            note=f"all wait after {seconds:.0f} s; a caller may send 100 requests in a second",
        ),
        Figure(
            what=f"processor for each poll that returns, {on}", unit="ms", median=used / len(rest) * 1000, n=len(rest),
            note=f"{len(rest):,} answers: committed after {committed:.1f} s, the last returns after {took:.1f} s",
        ),
    ]  # fmt: skip
    for figure in figures:
        yield replace(figure, database=about)


def put(count: int, tokens: dict[str, str]) -> Callable[[Connection], list[str]]:
    """Return a transaction that stores open questions of these callers, and returns a token and an id for each."""

    def work(connection: Connection) -> list[str]:
        ask = ask_in("0.0")
        asks.insert(connection, ask)
        row = dict(connection.execute(select(schema.asks).where(schema.asks.c.id == ask.id)).mappings().one())
        names = [*tokens]
        copies: list[dict[str, object]] = []
        for number in range(count):
            name = names[number % len(names)]
            key = f"http:{hashlib.sha256(name.encode()).hexdigest()[:32]}:ask:{number:032}:{number:032}"
            copies.append(row | {"id": create_ask_id(), "key": key, "place_key": f"{row['place_key']}{number}"})
        connection.execute(insert(schema.asks), copies)
        return [f"{tokens[names[number % len(names)]]} {copy['id']}" for number, copy in enumerate(copies)]

    return work


async def _ask_others(server: Server, stage: Stage, idle: float) -> float:
    """Ask other questions; return the milliseconds of processor that the server needs for each, idle ones apart."""
    used, began = server.read_cpu(), time.monotonic()
    for _ in range(OTHERS):
        await write(server.where, lambda store: QuestionManager(store).submit(_other(stage)))
        await asyncio.sleep(OTHERS_SECONDS / OTHERS)
    used = server.read_cpu() - used - (time.monotonic() - began) * idle / 100
    return max(used, 0.0) * 1000 / OTHERS


def _other(stage: Stage) -> Ask:
    ask = ask_in("")
    return ask.evolve(place=ask.place.evolve(channel=stage.channel), messages=(), drawn_revision=-1)


async def _answer_in_turn(manager: QuestionManager, polls: Polls, lines: Sequence[str]) -> list[float]:
    """Answer one question after the other; return the milliseconds until each poll returns."""
    began: dict[str, float] = {}
    for line in lines:
        await asyncio.sleep(random.uniform(*PAUSES))
        ask_id = line.split()[1]
        began[ask_id] = time.time()
        await manager.act(answer(ask_id))
    async with asyncio.timeout(WITHIN):
        return [(await polls.returned(ask_id) - at) * 1000 for ask_id, at in began.items()]


async def _answer_all(manager: QuestionManager, lines: Sequence[str]) -> None:
    """Answer all these questions as fast as the database takes them."""
    left = iter(lines)

    async def some() -> None:
        for line in left:
            while True:
                with suppress(StoreBusy):
                    await manager.act(answer(line.split()[1]))
                    break

    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(some())


@asynccontextmanager
async def serving(
    stage: Stage, folder: Path, tokens: dict[str, str], **settings: str
) -> AsyncGenerator[tuple[int, str]]:
    """Run `askback serve` for these callers; yield its process id and its address."""
    file, log = folder / "callers.toml", folder / "serve.log"
    tables = [f'[{name}]\ntoken = "{token}"\nto = "slack:#general"\nwho = "anyone"\n' for name, token in tokens.items()]
    file.write_text("\n".join(tables), encoding="utf-8")
    file.chmod(0o600)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "askback", "serve", "--http", "0", "--callers", str(file)),
        env=build_environment(stage, folder) | {"ASKBACK_QUESTION_PACE": "0s"} | settings,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=log.open("wb"),
        cwd=folder,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(60):
            while not (found := re.search(r"Serving HTTP at (http\S+)/v1/asks\.", log.read_text(encoding="utf-8"))):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        yield process.pid, found[1]
    finally:
        await end(process)
