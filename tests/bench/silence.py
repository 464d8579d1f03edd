"""How long it takes from a connection's silent death to the next one: `python tests/bench/silence.py [times]`.

The real bot in front of the local platform, in one process, with the settings that are shipped. The moment of the
death is spread over the pulse's period.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from bots import discord, slack  # noqa: TID251 - those of the tests


async def measured(platform: str) -> float:
    tests = {"discord": discord, "slack": slack}[platform]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        # A desk of its own each time: after lines that did not last, the next is opened after a pause.
        async with tests.open_desk(Path(folder), patch) as desk:
            await asyncio.sleep(1.0 + random.random())
            before, began = desk.connection_count(), time.monotonic()
            await desk.fall_silent()
            while desk.connection_count() == before or not desk.host.connections[platform].is_connected():  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            return time.monotonic() - began


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    for name in ("discord", "slack"):
        seconds = sorted(asyncio.run(measured(name)) for _ in range(count))
        print(f"{name}: median {statistics.median(seconds):.3f} s, longest {seconds[-1]:.3f} s, of {count}")
