"""Play the rounds that it is ordered to play: a line of JSON each on standard input, and lines of JSON as answers.

It writes `{"kill": 1}` after each kill. At the end of a round it writes the tally, the points that were not reached,
and the bots' output if something is wrong. SIGTERM, or the end of its input, ends it, and it leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support.processes import Launcher

from . import schedule
from .count import counted
from .record import Order
from .stage import play

LARGEST = 2**20
KEPT = 2_000_000
"""Characters of the bots' output that are kept."""


def say(**answer: Any) -> None:
    print(json.dumps(answer), flush=True)


async def obey(launcher: Launcher, order: Order) -> None:
    record = await play(order, launcher, on_kill=lambda: say(kill=1))
    tally = counted(record)
    missed = [kill.point for kill in record.kills if not kill.reached and kill.point != schedule.RANDOM]
    say(
        tally=tally.json(),
        missed=missed,
        killing=record.killing,
        output=record.output[-KEPT:] if tally.count else "",
    )


async def work() -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    orders = asyncio.StreamReader(limit=LARGEST)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    with TemporaryDirectory() as folder, closing(Launcher(Path(folder) / "launcher")) as launcher:
        while line := await orders.readline():
            order: dict[str, Any] = json.loads(line)
            await obey(launcher, Order(**{**order, "points": tuple(order["points"]), "kinds": tuple(order["kinds"])}))


def main() -> None:
    # aiohttp would log every peer that dies while sending, which is the point of these tests.
    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)
    try:
        asyncio.run(work())
    except asyncio.CancelledError:
        sys.exit(0)


if __name__ == "__main__":
    main()
