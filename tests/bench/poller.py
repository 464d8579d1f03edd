"""Programs that wait for `askback serve`: `python -m tests.bench.poller ADDRESS FILE`.

The file has a token and the id of a question on each line. It sends a long poll for each, and repeats what is refused.
It prints how many wait and the seconds until all did, and when all are answered, how many are and the seconds since the
line `answering` on standard input.
"""

from __future__ import annotations

import asyncio
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

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._sending = asyncio.Semaphore(AT_ONCE)
        self.answered = 0
        self.refused = 0

    async def poll(self, token: str, ask_id: str, begun: asyncio.Future[None]) -> None:
        """Wait for the outcome of a question. `begun` is set once the request waits."""
        headers = {"Authorization": f"Bearer {token}"}
        while True:
            async with self._sending:
                request = asyncio.create_task(self._get(ask_id, headers))
                await asyncio.wait({request}, timeout=SENT_SECONDS)
            if not begun.done() and not request.done():
                begun.set_result(None)
            status, pause = await request
            if status == "refused":
                self.refused += 1
                await asyncio.sleep(pause)
            elif status != "open":
                self.answered += 1
                return

    async def _get(self, ask_id: str, headers: dict[str, str]) -> tuple[str, float]:
        async with self._session.get(f"/v1/asks/{ask_id}?wait={WAIT_SECONDS}", headers=headers) as response:
            if response.status in (429, 503):
                return "refused", float(response.headers["Retry-After"])
            response.raise_for_status()
            return (await response.json())["status"], 0.0


async def main(address: str, lines: list[str]) -> None:
    timeout = aiohttp.ClientTimeout(total=None)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(address, connector=connector, timeout=timeout) as session:
        print("ready", flush=True)
        poller, began, loop = Poller(session), time.monotonic(), asyncio.get_running_loop()
        begun = [loop.create_future() for _ in lines]
        polls = [
            asyncio.create_task(poller.poll(*line.split(), future)) for line, future in zip(lines, begun, strict=True)
        ]
        await asyncio.wait(
            [asyncio.ensure_future(asyncio.gather(*begun)), asyncio.gather(*polls)], return_when="FIRST_COMPLETED"
        )
        print(len(lines), time.monotonic() - began, poller.refused, flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        began = time.monotonic()
        await asyncio.gather(*polls)
        print(poller.answered, time.monotonic() - began, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()))
