"""Programs that wait at `askback serve`: its memory and processor while they wait, and when all are answered.

A bot runs on the same database. The questions are copies of one row, and a separate process answers them all.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import resource
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

from sqlalchemy import Connection, insert, select

from askback.domain.ask import create_ask_id
from askback.manager import QuestionManager
from askback.store import schema
from askback.store.errors import StoreBusy
from askback.store.external_access import open_for_writing
from askback.store.queries import asks
from askback.store.store import Store

from .asked import answer, ask_in
from .bot import build_environment, child, running_bot
from .figures import Figure
from .open import cpu_seconds, megabytes
from .runner import Bench, Unavailable
from .stage import Stage

COUNT, FEW = 10_000, 100
CALLERS = 10
WAIT_SECONDS, SETTLE_SECONDS = 20.0, 5.0
KILOBYTES = 1024.0
SPARE_FILES = 1_000
WITHIN, LOOK_SECONDS = 300.0, 1.0
AT_ONCE = 16
MOST_MEMORY, MOST_PER_CENT = 40.0, 25.0
"""The goals: kilobytes for each program that waits, and per cent of a core while 10,000 wait."""


async def run(bench: Bench) -> AsyncIterator[Figure]:
    count = bench.times(COUNT, FEW)
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < count + SPARE_FILES:
        if most < count + SPARE_FILES:
            raise Unavailable(f"a process may open {most:,} files, and needs {count + SPARE_FILES:,}: see `ulimit -Hn`")
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    async with Stage.open("slack") as stage, running_bot("slack", stage, bench.folder):
        database = bench.folder / "askback.db"
        tokens = {f"caller-{number}": f"token-number-{number}-of-a-caller" for number in range(CALLERS)}
        async with open_for_writing(database) as writer:
            lines = await writer.run(put(count, tokens))
        polls = bench.folder / "polls"
        polls.write_text("\n".join(lines), encoding="utf-8")
        async with serving(stage, bench.folder, tokens) as (pid, address):
            await asyncio.sleep(SETTLE_SECONDS)
            before = megabytes(pid)
            came = cpu_seconds(pid)
            async with child("poller", address, str(polls)) as poller:
                sent, seconds, refused = (await poller.answer()).split()
                assert int(sent) == count
                await wait_until_recorded(database, count)
                bench.say(f"{count:,} wait after {float(seconds):.1f} s; {refused} were told to come again")
                came = cpu_seconds(pid) - came
                await asyncio.sleep(SETTLE_SECONDS)
                memory = megabytes(pid) - before
                used, began = cpu_seconds(pid), time.monotonic()
                await asyncio.sleep(1.0 if bench.quick else WAIT_SECONDS)
                idle = (cpu_seconds(pid) - used) / (time.monotonic() - began) * 100
                used = cpu_seconds(pid)
                answered = asyncio.create_task(poller.tell("answering"))
                async with open_for_writing(database) as writer:
                    await answer_all(QuestionManager(Store(writer)), [line.split()[1] for line in lines])
                got, took = (await answered).split()
                used = cpu_seconds(pid) - used
                assert int(got) == count
    on = f"{count:,} waiting long polls"
    each = memory * KILOBYTES / count
    yield Figure(
        what=f"memory of `askback serve` for each of {on}", unit="KB", median=each, n=count, database=bench.database,
        goal=f"≤ {MOST_MEMORY:g} KB", met=each <= MOST_MEMORY, note=f"{before:.0f} MB before, {memory:.0f} MB more",
    )  # fmt: skip
    yield Figure(
        what=f"idle processor of `askback serve`, {on}", unit="% of a core", median=idle, n=1, database=bench.database,
        goal=f"< {MOST_PER_CENT:g} %", met=idle < MOST_PER_CENT,
    )  # fmt: skip
    yield Figure(
        what=f"processor until they wait, {on}", unit="s", median=came, n=1, database=bench.database,
        note=f"over {float(seconds):.0f} s; a caller may send 100 requests in a second",
    )  # fmt: skip
    yield Figure(
        what=f"processor until all have their answers, {on}", unit="s", median=used, n=1, database=bench.database,
        note=f"over {float(took):.0f} s, in which another process commits the answers",
    )  # fmt: skip


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


async def wait_until_recorded(database: Path, count: int) -> None:
    """Wait until the server has recorded that a program waits for each question."""
    with closing(sqlite3.connect(database, timeout=20.0)) as connection:
        async with asyncio.timeout(WITHIN):
            while connection.execute("SELECT count(*) FROM waits").fetchone()[0] < count:  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SECONDS)


async def answer_all(manager: QuestionManager, ask_ids: list[str]) -> None:
    left = iter(ask_ids)

    async def some() -> None:
        for ask_id in left:
            while True:
                with suppress(StoreBusy):
                    await manager.act(answer(ask_id))
                    break

    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(some())


@asynccontextmanager
async def serving(stage: Stage, folder: Path, tokens: dict[str, str]) -> AsyncGenerator[tuple[int, str]]:
    """Run `askback serve` for these callers; yield its process id and its address."""
    file, log = folder / "callers.toml", folder / "serve.log"
    tables = [f'[{name}]\ntoken = "{token}"\nto = "slack:#general"\nwho = "anyone"\n' for name, token in tokens.items()]
    file.write_text("\n".join(tables), encoding="utf-8")
    file.chmod(0o600)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "askback", "serve", "--http", "0", "--callers", str(file)),
        env=build_environment(stage, folder) | {"ASKBACK_QUESTION_PACE": "0s"},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=log.open("wb"),
        cwd=folder,
    )
    try:
        async with asyncio.timeout(60):
            while not (found := re.search(r"Serving HTTP at (http\S+)/v1/asks\.", log.read_text(encoding="utf-8"))):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        yield process.pid, found[1]
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()
