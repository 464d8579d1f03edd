"""A process that gives answers, 64 at once: `python -m tests.bench.answering URL FILE SECONDS`.

The file has an ask's id on each line. On `go` from standard input it answers them, until the time is over or none is
left. It prints how many it has answered, and how many were rejected because the commit took longer than 2 s.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from askback.manager import QuestionManager
from askback.runtime.backend import open_backend
from askback.store.errors import StoreBusy
from askback.store.store import Store

from .answers import AT_ONCE
from .asked import answer


async def main(url: str, ask_ids: list[str], seconds: float) -> None:
    async with open_backend(url) as kept:
        manager = QuestionManager(Store(kept.database))
        print("ready", flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            left, end = iter(ask_ids), time.perf_counter() + seconds
            counts = await asyncio.gather(*(give_answers(manager, left, end) for _ in range(AT_ONCE)))
            print(*map(sum, zip(*counts, strict=True)), flush=True)


async def give_answers(manager: QuestionManager, left: Iterator[str], end: float) -> tuple[int, int]:
    """Answer one ask after the other until `end`; return how many were answered, and how many were rejected."""
    answered = rejected = 0
    for ask_id in left:
        try:
            await manager.act(answer(ask_id))
            answered += 1
        except StoreBusy:
            rejected += 1
        if time.perf_counter() > end:
            break
    return answered, rejected


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]).read_text(encoding="utf-8").split(), float(sys.argv[3])))
