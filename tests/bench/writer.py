"""How long a transaction takes, and how many fit into a second: `python tests/bench/writer.py [DIRECTORY]`.

Prints one JSON line per figure. A transaction is what a click costs the store: one statement reads the
ask, one compares and sets its revision, one adds to the audit log. `small` is an insert and an update only.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection, bindparam, insert, select, update

from askback.store import schema
from askback.store.writer import Writer

ASKS = 1000
SECONDS = 3.0
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


def small(number: int) -> Callable[[Connection], None]:
    name = f"ask{number % ASKS}"

    def work(connection: Connection) -> None:
        connection.execute(
            note, {"ask_id": name, "actor": "{}", "action": "{}", "verdict": "applied", "revision": 0, "at": number}
        )
        connection.execute(set_interview, {"ask": name, "drafts": f'{{"drafts": {number}}}'})

    return work


def click(number: int) -> Callable[[Connection], None]:
    name = f"ask{number % ASKS}"

    def work(connection: Connection) -> None:
        row = connection.execute(look_up, {"ask": name}).one()
        done = connection.execute(advance, {"ask": name, "seen": row.revision, "drafts": f'{{"drafts": {number}}}'})
        assert done.rowcount == 1
        connection.execute(
            note,
            {
                "ask_id": name,
                "actor": "{}",
                "action": "{}",
                "verdict": "applied",
                "revision": row.revision + 1,
                "at": number,
            },
        )

    return work


async def sequential(writer: Writer, kind: Callable[[int], Callable[[Connection], None]]) -> dict[str, float]:
    return await concurrent(writer, kind, at_once=1)


async def concurrent(
    writer: Writer, kind: Callable[[int], Callable[[Connection], None]], at_once: int = AT_ONCE
) -> dict[str, float]:
    took: list[float] = []
    number = 0
    end = time.perf_counter() + SECONDS

    async def one() -> None:
        nonlocal number
        while (began := time.perf_counter()) < end:
            number += 1
            await writer.run(kind(number), within=2.0)
            took.append(time.perf_counter() - began)

    commits, began = writer.commits, time.perf_counter()
    await asyncio.gather(*(one() for _ in range(at_once)))
    elapsed = time.perf_counter() - began
    cuts = statistics.quantiles(took, n=100)
    return {
        "at_once": at_once,
        "works": len(took),
        "per_second": round(len(took) / elapsed),
        "p50_ms": round(cuts[49] * 1000, 3),
        "p99_ms": round(cuts[98] * 1000, 3),
        "works_per_commit": round(len(took) / (writer.commits - commits), 1),
    }


def bare(path: Path, statements: int = 3) -> dict[str, float]:
    """The floor: the standard library alone, one transaction after the other, same pragmas, same statements."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    took: list[float] = []
    end = time.perf_counter() + SECONDS
    while (began := time.perf_counter()) < end:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            "INSERT INTO actions (ask_id, actor, action, verdict, revision, at) VALUES ('ask1', '{}', '{}', 'a', 0, ?)",
            (len(took),),
        )
        connection.execute("UPDATE asks SET interview = ? WHERE id = ?", (f"{len(took)}", f"ask{len(took) % ASKS}"))
        connection.execute("COMMIT")
        took.append(time.perf_counter() - began)
    connection.close()
    cuts = statistics.quantiles(took, n=100)
    return {
        "per_second": round(len(took) / sum(took)),
        "p50_ms": round(cuts[49] * 1000, 3),
        "p99_ms": round(cuts[98] * 1000, 3),
    }


async def main(directory: Path) -> None:
    path = directory / "bench.db"
    writer = Writer(path)
    await writer.run(lambda c: c.execute(insert(schema.asks), [ask | {"id": f"ask{n}"} for n in range(ASKS)]) and None)
    pragmas = await writer.read(lambda c: c.exec_driver_sql("PRAGMA journal_mode").scalar())
    facts = {
        "journal_mode": pragmas,
        "synchronous": "FULL",
        "sqlite": sqlite3.sqlite_version,
        "python": sys.version.split()[0],
        "processors": os.cpu_count(),
        "load_average": os.getloadavg()[0],
    }
    print(json.dumps({"bench": "writer", "facts": facts}))
    for name, kind in (("small", small), ("click", click)):
        print(json.dumps({"bench": "writer", "work": name} | await sequential(writer, kind)), flush=True)
        print(json.dumps({"bench": "writer", "work": name} | await concurrent(writer, kind)), flush=True)
    await writer.close()
    print(json.dumps({"bench": "writer", "work": "small, sqlite3 alone"} | bare(path)))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(Path(sys.argv[1])))
    else:
        with tempfile.TemporaryDirectory() as name:
            asyncio.run(main(Path(name)))
