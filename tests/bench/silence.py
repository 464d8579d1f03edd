"""The time from a connection's silent death to the next connection.

The real bot runs with the local platform in one process, with the default settings. The moments of death are spread
over the heartbeat's period.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

from .figures import Figure, measured
from .runner import Bench, Unavailable


async def silence(platform: str, folder: Path) -> float:
    try:
        import pytest
    except ImportError:
        raise Unavailable("it needs what the tests need: pip install -e '.[dev]'") from None
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from contract.bots import discord, slack

    tests = {"discord": discord, "slack": slack}[platform]
    with pytest.MonkeyPatch.context() as patch:
        # Each run has its own desk: after short connections, the bot pauses before it opens the next one.
        async with tests.open_desk(folder, patch) as desk:
            await asyncio.sleep(1.0 + random.random())
            before, began = desk.connection_count(), time.monotonic()
            await desk.fall_silent()
            while desk.connection_count() == before or not desk.host.connections[platform].is_connected():  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            return time.monotonic() - began


async def run(bench: Bench) -> AsyncIterator[Figure]:
    for platform in ("discord", "slack"):
        seconds: list[float] = []
        for number in range(bench.times(4, 1)):
            folder = bench.folder / f"{platform}{number}"
            folder.mkdir()
            seconds.append(await silence(platform, folder))
        yield measured(f"a connection's silent death until the next one, {platform.title()}", "s", seconds)
