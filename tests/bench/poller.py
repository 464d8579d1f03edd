"""Programs that wait for `askback serve`, all in this process: `python -m tests.bench.poller ADDRESS`.

Each line from standard input names a file with a token and the id of a question on each line. A long poll is sent for
each question, and one that is refused is repeated. It prints `waiting`, their number, the seconds until all of them
wait, and the number of refusals. For each answer, it prints `returned`, the id of the question and the time in seconds
since the epoch.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from pathlib import Path

import aiohttp

WAIT_SECONDS = 300
AT_ONCE = 64
"""Requests whose answer may be missing while others are sent."""
SENT_SECONDS = 0.05
"""Seconds after which a request that has no answer waits for people."""


class Poller:
    """All requests of this process."""

    def __init__(self, session: aiohttp.ClientSession, polls: asyncio.TaskGroup) -> None:
        self._session = session
        self._polls = polls
        self._sending = asyncio.Semaphore(AT_ONCE)
        self._refused = 0

    async def wait_for(self, lines: list[str]) -> None:
        """Begin to wait for these questions, and say when all of them wait."""
        loop, began = asyncio.get_running_loop(), time.monotonic()
        begun = [loop.create_future() for _ in lines]
        for line, future in zip(lines, begun, strict=True):
            self._polls.create_task(self._poll(*line.split(), future))
        await asyncio.gather(*begun)
        print("waiting", len(lines), time.monotonic() - began, self._refused, flush=True)

    async def _poll(self, token: str, ask_id: str, begun: asyncio.Future[None]) -> None:
        """Wait for the outcome of a question. `begun` is set once the request waits, or has its answer."""
        headers = {"Authorization": f"Bearer {token}"}
        status = "open"
        while status in ("open", "refused"):
            async with self._sending:
                request = asyncio.create_task(self._get(ask_id, headers))
                await asyncio.wait({request}, timeout=SENT_SECONDS)
            if not begun.done() and not request.done():
                begun.set_result(None)
            status, pause = await request
            if status == "refused":
                self._refused += 1
                await asyncio.sleep(pause)
        print("returned", ask_id, time.time(), flush=True)
        if not begun.done():
            begun.set_result(None)

    async def _get(self, ask_id: str, headers: dict[str, str]) -> tuple[str, float]:
        async with self._session.get(f"/v1/asks/{ask_id}?wait={WAIT_SECONDS}", headers=headers) as response:
            if response.status in (429, 503):
                return "refused", float(response.headers.get("Retry-After", "1"))
            response.raise_for_status()
            return (await response.json())["status"], 0.0


async def main(address: str) -> None:
    timeout = aiohttp.ClientTimeout(total=None)
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        aiohttp.ClientSession(address, connector=connector, timeout=timeout) as session,
        asyncio.TaskGroup() as polls,
    ):
        poller = Poller(session, polls)
        gc.disable()  # its pauses would count as those of the server
        print("ready", flush=True)
        while line := (await asyncio.to_thread(sys.stdin.readline)).strip():
            lines = await asyncio.to_thread(Path(line).read_text, encoding="utf-8")
            await poller.wait_for(lines.splitlines())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
