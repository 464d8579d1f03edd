"""The time of a transaction, and transactions per second, with nothing above the store.

A transaction is the minimum work of a click: one statement reads the ask, one compares and sets its revision, one adds
to the audit. `small` is only an insert and an update.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from sqlalchemy import Connection, bindparam, insert, select, update

from askback.store import schema
from askback.store.sqlite.database import SqliteDatabase

from .figures import Figure, measured
from .runner import Bench

ASKS = 1000
SECONDS = 2.0
AT_ONCE = 64

ask = {
    "place": "{}",
    "place_key": "slack:T1:C1:1.0",
    "form": '{"questions": []}' * 20,
    "policy": "{}",
    "interview": "{}",
    "status": "open",
    "post_after": 0,
    "created_at": 0,
}
look_up = select(schema.asks).where(schema.asks.c.id == bindparam("ask"))
advance = (
    update(schema.asks)
    .where(schema.asks.c.id == bindparam("ask"), schema.asks.c.revision == bindparam("seen"))
    .values(revision=schema.asks.c.revision + 1, interview=bindparam("drafts"))
)
set_interview = update(schema.asks).where(schema.asks.c.id == bindparam("ask")).values(interview=bindparam("drafts"))
note = insert(schema.actions)

Kind = Callable[[int], Callable[[Connection], None]]


def small(number: int) -> Callable[[Connection], None]:
    name = f"ask{number % ASKS}"

    def work(connection: Connection) -> None:
        connection.execute(note, audit(name, 0, number))
        connection.execute(set_interview, {"ask": name, "drafts": f'{{"drafts": {number}}}'})

    return work


def click(number: int) -> Callable[[Connection], None]:
    name = f"ask{number % ASKS}"

    def work(connection: Connection) -> None:
        row = connection.execute(look_up, {"ask": name}).one()
        done = connection.execute(advance, {"ask": name, "seen": row.revision, "drafts": f'{{"drafts": {number}}}'})
        assert done.rowcount == 1
        connection.execute(note, audit(name, row.revision + 1, number))

    return work


def audit(name: str, revision: int, at: int) -> dict[str, object]:
    return {"ask_id": name, "actor": "{}", "action": "{}", "verdict": "applied", "revision": revision, "at": at}


async def timed(writer: SqliteDatabase, kind: Kind, at_once: int, seconds: float) -> tuple[list[float], float]:
    """Return the milliseconds of each transaction, and the transactions per second."""
    took: list[float] = []
    number = 0
    began = time.perf_counter()

    async def one() -> None:
        nonlocal number
        while True:  # at least once, however short the time
            start = time.perf_counter()
            number += 1
            await writer.run(kind(number), within=2.0)
            took.append((time.perf_counter() - start) * 1000)
            if time.perf_counter() >= began + seconds:
                return

    await asyncio.gather(*(one() for _ in range(at_once)))
    return took, len(took) / (time.perf_counter() - began)


def bare(path: Path, seconds: float) -> list[float]:
    """Return the baseline: the standard library alone, one transaction after the other, same pragmas and statements."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    took: list[float] = []
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            "INSERT INTO actions (ask_id, actor, action, verdict, revision, at) VALUES ('ask1', '{}', '{}', 'a', 0, ?)",
            (len(took),),
        )
        connection.execute("UPDATE asks SET interview = ? WHERE id = ?", (f"{len(took)}", f"ask{len(took) % ASKS}"))
        connection.execute("COMMIT")
        took.append((time.perf_counter() - began) * 1000)
    connection.close()
    return took


async def run(bench: Bench) -> AsyncIterator[Figure]:
    path = bench.folder / "writer.db"
    seconds = 0.1 if bench.quick else SECONDS
    writer = SqliteDatabase(path)
    try:
        await writer.run(
            lambda one: one.execute(insert(schema.asks), [ask | {"id": f"ask{n}"} for n in range(ASKS)]) and None
        )
        for name, kind in (("small", small), ("click's", click)):
            took, _ = await timed(writer, kind, 1, seconds)
            yield measured(f"a {name} transaction alone", "ms", took, database=bench.database)
            took, per_second = await timed(writer, kind, AT_ONCE, seconds)
            yield Figure(
                what=f"{name} transactions, {AT_ONCE} at once",
                unit="per s",
                median=per_second,
                n=len(took),
                database=bench.database,
            )
    finally:
        await writer.close()
    yield measured(
        "a small transaction by the standard library's sqlite3", "ms", bare(path, seconds), database=bench.database
    )
