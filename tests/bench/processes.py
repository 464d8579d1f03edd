"""Answers per second on PostgreSQL, with 1, 2, 4 and 8 processes at once, each with 64 at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from askback.runtime.backend import open_backend

from . import postgres
from .asked import CHUNK, put
from .bot import child
from .figures import Figure
from .runner import Bench

COUNTS = (1, 2, 4, 8)
SECONDS = 4.0
MOST = 12_000
"""More answers than are possible in that time."""


async def run(bench: Bench) -> AsyncIterator[Figure]:
    seconds = 0.5 if bench.quick else SECONDS
    for count in COUNTS[:2] if bench.quick else COUNTS:
        async with postgres.fresh(bench) as (url, about), AsyncExitStack() as stack:
            async with open_backend(url) as kept:
                asked = bench.times(MOST, 400)
                ask_ids = [one for at in range(0, asked, CHUNK) for one in await kept.database.run(put(CHUNK, at))]
            programs = []
            for number in range(count):
                file = bench.folder / f"{count}-{number}.txt"
                await asyncio.to_thread(file.write_text, "\n".join(ask_ids[number::count]), encoding="utf-8")
                programs.append(await stack.enter_async_context(child("answering", url, str(file), str(seconds))))
            began = time.perf_counter()
            said = await asyncio.gather(*(program.tell("go") for program in programs))
            took = time.perf_counter() - began
        answered, rejected = (sum(map(int, counts)) for counts in zip(*(line.split() for line in said), strict=True))
        yield Figure(
            what=f"answers of {count} process{'es' if count > 1 else ''}, each 64 at once, PostgreSQL",
            median=answered / took,
            unit="per s",
            n=answered,
            note=f"{rejected} more were rejected after 2 s" if rejected else None,
            database=about,
        )
