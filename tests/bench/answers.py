"""Answers per second through the manager, 64 at once."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator

from askback.manager import QuestionManager
from askback.runtime.backend import open_backend
from askback.store.database import Database as Stored
from askback.store.errors import StoreBusy
from askback.store.store import Store

from . import postgres
from .asked import CHUNK, answer, put
from .figures import Database, Figure, Fsyncs, measured, p99
from .fsyncs import counting
from .runner import Bench

AT_ONCE = 64
SECONDS = 5.0
GOALS = {"SQLite": 4000, "PostgreSQL": 900}
MOST = {"SQLite": 25_000, "PostgreSQL": 8_000}
"""More answers than are possible in that time."""


async def run(bench: Bench) -> AsyncIterator[Figure]:
    async with open_backend(str(bench.folder / "answers.db")) as kept:
        async for figure in _through(kept.database, bench.database, "SQLite", None, bench):
            yield figure
    async with postgres.fresh(bench) as (url, about), open_backend(url) as kept:
        async for figure in _through(kept.database, about, "PostgreSQL", url, bench):
            yield figure


async def _through(
    database: Stored, about: Database, name: str, server: str | None, bench: Bench
) -> AsyncIterator[Figure]:
    manager = QuestionManager(Store(database))

    async def more(count: int) -> list[str]:
        return [one for at in range(0, count, CHUNK) for one in await database.run(put(min(CHUNK, count - at), at))]

    took, per_second, fsyncs = await answered(manager, await more(bench.times(MOST[name], 200)), server, bench)
    goal = GOALS[name]
    yield Figure(
        what=f"answers through the manager, {AT_ONCE} at once, {name}",
        median=per_second,
        unit="per s",
        n=len(took),
        goal=f"≥ {goal:,} per s",
        met=per_second >= goal,
        database=about,
        fsyncs=fsyncs,
    )
    yield measured(f"one answer of {AT_ONCE} at once, {name}", "ms", took, database=about, fsyncs=fsyncs)
    alone = [await one(manager, ask_id) for ask_id in await more(bench.times(500, 20))]
    yield measured(f"one answer alone, {name}", "ms", alone, database=about)


async def one(manager: QuestionManager, ask_id: str) -> float:
    """Answer one ask; return the milliseconds."""
    action = answer(ask_id)
    began = time.perf_counter()
    await manager.act(action)
    return (time.perf_counter() - began) * 1000


async def answered(
    manager: QuestionManager, asked: list[str], server: str | None, bench: Bench
) -> tuple[list[float], float, Fsyncs | None]:
    """Answer these for some seconds; return milliseconds per answer, answers per second, and fsyncs per answer."""
    took: list[float] = []
    left = iter(asked)
    end = time.perf_counter() + SECONDS

    async def some(until: float) -> None:
        for ask_id in left:
            try:
                took.append(await one(manager, ask_id))
            except StoreBusy:
                bench.say("an answer was refused: the disk did not commit it within 2 s")
            if time.perf_counter() > until:
                break

    began = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(some(end))
    seconds, times = time.perf_counter() - began, len(took)
    bench.say(f"{times} answers in {seconds:.1f} s, the slowest in {p99(took):.1f} ms")
    # The committing processes: this one, or the server's, for the connections that are open by now.
    pids = [os.getpid()] if server is None else await postgres.processes(server)
    async with counting(*pids) as counted, asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(some(time.perf_counter() + 0.5))
    counted_for = len(took) - times
    return took[:times], times / seconds, counted.each(counted_for) if counted_for else None
