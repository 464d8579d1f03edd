"""Effects of a slow disk, a slow database and a slow platform on everything else.

Four bots in turn: one as usual, one whose disk takes 50 ms for each flush, one whose platform takes 500 ms for each
call, and one whose PostgreSQL server is 10 ms away in each direction.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from sqlalchemy import make_url

from askback_sandbox.slack.faults import Fault

from . import postgres
from .bot import running_bot, slow_disk_bot
from .figures import Figure, measured
from .runner import Bench
from .stage import SlackStage, Stage

CALL_SECONDS = 0.5
WAY_SECONDS = 0.01
TIMES, WARM = 12, 8
"""Each connection to PostgreSQL prepares a statement when it runs for the fifth time."""
CASES = {
    "usual": "as usual, SQLite",
    "disk": "the disk takes 50 ms for each flush, SQLite",
    "platform": "the platform takes 500 ms for each call, SQLite",
    "server": "PostgreSQL is 10 ms away in each direction",
}


@dataclass
class _Times:
    """The milliseconds of each click in one case."""

    ack: list[float] = field(default_factory=list[float])
    resumed: list[float] = field(default_factory=list[float])
    said: list[float] = field(default_factory=list[float])


async def run(bench: Bench) -> AsyncIterator[Figure]:
    async with AsyncExitStack() as stack:
        stages = {case: await stack.enter_async_context(Stage.open("slack")) for case in CASES}
        url, about = await stack.enter_async_context(postgres.fresh(bench))
        far = await stack.enter_async_context(_far_away(url))
        folders = {case: bench.folder / case for case in CASES}
        await stack.enter_async_context(running_bot("slack", stages["usual"], folders["usual"]))
        await stack.enter_async_context(slow_disk_bot("slack", stages["disk"], folders["disk"]))
        await stack.enter_async_context(running_bot("slack", stages["platform"], folders["platform"]))
        await stack.enter_async_context(
            running_bot("slack", stages["server"], folders["server"], ASKBACK_DATABASE_URL=far)
        )
        slow = stages["platform"]
        assert isinstance(slow, SlackStage)
        slow.workspace.faults.add(Fault(kind="delay", seconds=CALL_SECONDS, times=None))
        took = {case: _Times() for case in CASES}
        for number in range(bench.times(WARM, 1) + bench.times(TIMES, 2)):
            for case in random.sample([*CASES], len(CASES)):
                stage = stages[case]
                card = await stage.asks()
                pressed = await stage.press(card)
                await stage.calm(card)
                if number >= bench.times(WARM, 1):
                    took[case].ack.append(pressed.ms)
                    took[case].resumed.append((stage.model.called - pressed.sent) * 1000)
                    took[case].said.append((stage.said_at() - stage.model.spoke) * 1000)
    for case, title in CASES.items():
        database = about if case == "server" else bench.database
        yield measured(f"click → durable ack: {title}", "ms", took[case].ack, database=database)
        yield measured(f"click → agent resumed: {title}", "ms", took[case].resumed, database=database)
        yield measured(f"the model's last token → the message: {title}", "ms", took[case].said, database=database)


@asynccontextmanager
async def _far_away(url: str) -> AsyncGenerator[str]:
    """Yield the URL of the same database behind a way that takes `WAY_SECONDS` in each direction."""
    server = make_url(url)

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        pending: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def deliver() -> None:
            while True:
                at, data = await pending.get()
                await asyncio.sleep(max(at - loop.time(), 0.0))
                if not data:
                    break
                writer.write(data)

        delivery = asyncio.create_task(deliver())
        data = b"first"
        while data:
            data = await reader.read(65536)
            pending.put_nowait((loop.time() + WAY_SECONDS, data))
        await delivery
        writer.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(server.host or "127.0.0.1", server.port or 5432)
        await asyncio.gather(pass_on(reader, back), pass_on(there, writer), return_exceptions=True)

    proxy = await asyncio.start_server(connect, "127.0.0.1", 0)
    async with proxy:
        port = proxy.sockets[0].getsockname()[1]
        yield server.set(host="127.0.0.1", port=port, query={}).render_as_string(hide_password=False)
