"""A program that asks through the library and waits, in its own process: `python -m tests.bench.waiter URL`.

On `ask` from standard input it asks, prints the question's id once it waits, and prints again when it continues.
"""

from __future__ import annotations

import asyncio
import sys
import time
import uuid

from askback.domain.who import Who
from askback.manager import QuestionManager
from askback.runtime.backend import open_backend
from askback.store.notifications import Signal
from askback.store.store import Store

from .asked import ADA, FORM, ask_in

LOOK_SECONDS = 0.002


async def main(url: str) -> None:
    async with open_backend(url) as kept:
        manager = QuestionManager(Store(kept.database))

        def recheck(signal: Signal) -> None:
            manager.callers.wake(signal.id)

        async with kept.listen(recheck):
            print("ready", flush=True)
            while await asyncio.to_thread(sys.stdin.readline):
                place = ask_in(uuid.uuid4().hex).place
                waiting = asyncio.create_task(manager.ask(FORM, to=place, who=Who.from_people(ADA)))
                while not (asked := await manager.list_open_asks(place)):  # noqa: ASYNC110 - without an event to wait for
                    await asyncio.sleep(LOOK_SECONDS)
                await asyncio.sleep(LOOK_SECONDS)
                print(asked[0].id, flush=True)
                await waiting
                print(time.time(), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
