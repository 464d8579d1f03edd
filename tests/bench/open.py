"""With 1 to 1,000,000 open questions: the time of a click, the bot's memory, and its start.

Each runs the real `askback slack` in its own process, all at once. The clicks answer new questions, in addition to the
open ones. Next to them runs a program that imports the same SDKs, connects, and does nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Integer, Table

from askback.store import schema

from .bot import idle_program, running_bot
from .figures import Figure, measured, ratio
from .fsyncs import counting
from .runner import Bench
from .stage import Stage

COUNTS = (1, 1_000, 100_000, 1_000_000)
STARTS, TIMES, WARM, COUNTED = 3, 60, 5, 10
IDLE_SECONDS = 12.0
SETTLE_SECONDS = 2.0
MEGABYTE = 1024.0
MOST_PER_CENT, MOST_SLOWER = 0.5, 1.2
MOST_MEMORY, SLOWEST_START = 1.25, 1.3
"""The largest ratios to the memory and the start of the program that only imports the SDKs and connects."""


async def run(bench: Bench) -> AsyncIterator[Figure]:
    counts = COUNTS[:2] if bench.quick else COUNTS
    async with AsyncExitStack() as stack:
        stages = {count: await open_stage(stack, count, bench) for count in counts}
        ready: dict[int, list[float]] = {count: [] for count in counts}
        for again in range(bench.times(STARTS, 1)):
            for count in counts:
                began = time.perf_counter()
                async with running_bot("slack", stages[count], bench.folder / str(count)):
                    ready[count].append(time.perf_counter() - began)
            bench.say(f"started {again + 1} times")
        idle_stage = await stack.enter_async_context(Stage.open("slack"))
        starts: list[float] = []
        for _ in range(bench.times(STARTS, 1)):
            began = time.perf_counter()
            async with idle_program("slack", idle_stage, bench.folder / "idle"):
                starts.append(time.perf_counter() - began)
        idle_pid = (await stack.enter_async_context(idle_program("slack", idle_stage, bench.folder / "idle"))).pid
        bots = {
            count: await stack.enter_async_context(running_bot("slack", stages[count], bench.folder / str(count)))
            for count in counts
        }
        took = await _clicks(stages, bench)
        fsyncs = {}
        for count in counts:
            spans: list[tuple[float, float]] = []
            async with counting(bots[count].pid) as counted:
                for _ in range(bench.times(COUNTED, 1)):
                    card = await stages[count].asks()
                    pressed = await stages[count].press(card)
                    spans.append((pressed.sent, pressed.acked))
                    await stages[count].calm(card)
            fsyncs[count] = counted.within(spans)
        await asyncio.sleep(SETTLE_SECONDS)
        before = {count: cpu_seconds(bots[count].pid) for count in counts}
        began = time.monotonic()
        await asyncio.sleep(1.0 if bench.quick else IDLE_SECONDS)
        seconds = time.monotonic() - began
        idle = {count: (cpu_seconds(bots[count].pid) - before[count]) / seconds * 100 for count in counts}
        memory = {count: megabytes(bots[count].pid) for count in counts}
        floor = megabytes(idle_pid)
    for count in counts:
        slower = ratio(took[count], took[counts[0]])
        on = f"{count:,} open"
        yield replace(
            measured(f"click → durable ack, {on}", "ms", took[count], database=bench.database, fsyncs=fsyncs[count]),
            goal=None if count == 1 else f"≤ {MOST_SLOWER} × that at 1",
            met=None if count == 1 else slower <= MOST_SLOWER,
            note=None if count == 1 else f"{slower:.2f} × that at 1",
        )
        yield Figure(
            what=f"memory, {on}", unit="MB", median=memory[count], n=1, goal=f"≤ {MOST_MEMORY} × the program below",
            met=memory[count] <= MOST_MEMORY * floor, database=bench.database,
            note=f"{memory[count] / floor:.2f} × the program below",
        )  # fmt: skip
        yield Figure(
            what=f"idle processor, {on}", unit="% of a core", median=idle[count], n=1,
            goal=f"< {MOST_PER_CENT} %", met=idle[count] < MOST_PER_CENT, database=bench.database,
            note=f"over {seconds:.0f} s",
        )  # fmt: skip
        yield measured(
            f"start until it listens, {on}", "s", ready[count], goal=f"≤ {SLOWEST_START} × the program below",
            met=ratio(ready[count], starts) <= SLOWEST_START, database=bench.database,
            note=f"{ratio(ready[count], starts):.2f} × the program below",
        )  # fmt: skip
    yield Figure(what="memory of a program with the same SDKs, Slack", unit="MB", median=floor, n=1)
    yield measured("start of a program with the same SDKs until it listens, Slack", "s", starts)


async def open_stage(stack: AsyncExitStack, count: int, bench: Bench) -> Stage:
    """Return a stage whose database, in a folder named after the number, has that many conversations that wait."""
    stage = await stack.enter_async_context(Stage.open("slack"))
    folder = bench.folder / str(count)
    async with running_bot("slack", stage, folder):
        await stage.asks()
    await asyncio.to_thread(multiply, folder / "askback.db", count)
    bench.say(f"{count:,} open: {(folder / 'askback.db').stat().st_size / 1e6:.0f} MB")
    return stage


async def _clicks(stages: dict[int, Stage], bench: Bench) -> dict[int, list[float]]:
    """Return the milliseconds until each ack: one click at a time, in turn on each."""
    took: dict[int, list[float]] = {count: [] for count in stages}
    warm = bench.times(WARM, 1)
    for number in range(warm + bench.times(TIMES)):
        for count in random.sample([*stages], len(stages)):
            stage = stages[count]
            card = await stage.asks()
            pressed = await stage.press(card)
            await stage.calm(card)
            if number >= warm:
                took[count].append(pressed.ms)
    return took


def multiply(path: Path, count: int) -> None:
    """Copy the one waiting conversation, with all its rows, until there are `count`."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.create_function("name", 2, _name, deterministic=True)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("BEGIN")
    connection.execute("CREATE TEMP TABLE copies (n INTEGER PRIMARY KEY)")
    connection.executemany("INSERT INTO copies VALUES (?)", ((number,) for number in range(1, count)))
    for table in (schema.conversations, schema.transcript, schema.inbox, schema.calls, schema.asks):
        names = [column.name for column in table.columns if not _counts_itself(table, column.name)]
        values = ", ".join(_copied(table, name) for name in names)
        connection.execute(
            f"INSERT INTO {table.name} ({', '.join(names)}) SELECT {values} FROM {table.name} AS one, copies"
        )
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    open_now = connection.execute("SELECT count(*) FROM asks WHERE status = 'open'").fetchone()[0]
    connection.close()
    assert open_now == count, open_now


def _counts_itself(table: Table, name: str) -> bool:
    column = table.columns[name]
    return column.primary_key and isinstance(column.type, Integer) and len(table.primary_key.columns) == 1


def _copied(table: Table, name: str) -> str:
    match (table.name, name):
        case ("conversations", "id") | (_, "conversation_id"):
            return "name('conversation', n)"
        case ("asks", "id") | ("calls", "ask_id"):
            return "name('ask', n)"
        case (_, "place_key"):
            return "one.place_key || '.' || n"
        case _:
            return f"one.{name}"


def _name(kind: str, number: int) -> str:
    """Return an id that is as random as the product's, and reproducible."""
    return hashlib.blake2b(f"{kind}{number}".encode(), digest_size=11).hexdigest()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / MEGABYTE
