"""A process that gives answers, 64 at once: `python -m tests.bench.answering URL FILE SECONDS`.

The file has an ask's id on each line. On `go` from standard input it answers them, until the time is over or none is
left. It prints how many it has answered, and how many were rejected because the commit took longer than 2 s.
"""

from __future__ import annotations

import asyncio
import sys
import time
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
            answered = rejected = 0

            async def give_answers() -> None:
                nonlocal answered, rejected
                for ask_id in left:  # noqa: B023 - the loop ends before the next line is read
                    try:
                        await manager.act(answer(ask_id))
                        answered += 1
                    except StoreBusy:
                        rejected += 1
                    if time.perf_counter() > end:  # noqa: B023
                        break

            async with asyncio.TaskGroup() as tasks:
                for _ in range(AT_ONCE):
                    tasks.create_task(give_answers())
            print(answered, rejected, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]).read_text(encoding="utf-8").split(), float(sys.argv[3])))
