"""The time of imports and starts, each in its own process, all in turn."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence

from .bot import running_bot
from .figures import Figure, measured
from .runner import Bench
from .stage import Stage

PROGRAMS = {
    "python -c pass": (sys.executable, "-c", "pass"),
    "python -c 'import askback'": (sys.executable, "-c", "import askback"),
    "askback --help": (sys.executable, "-m", "askback", "--help"),
}


async def seconds_of(program: Sequence[str]) -> float:
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.DEVNULL)
    code = await process.wait()
    assert code == 0, program
    return time.perf_counter() - began


async def run(bench: Bench) -> AsyncIterator[Figure]:
    took: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for _ in range(bench.times(15, 2)):
        for name, program in PROGRAMS.items():
            took[name].append(await seconds_of(program) * 1000)
    for name, values in took.items():
        yield measured(f"`{name}`", "ms", values)
    for platform in ("slack", "discord"):
        ready: list[float] = []
        for number in range(bench.times(6, 1)):
            async with Stage.open(platform) as stage:
                began = time.perf_counter()
                async with running_bot(platform, stage, bench.folder / f"{platform}{number}"):
                    ready.append((time.perf_counter() - began) * 1000)
        yield measured(
            f"`askback {platform}` until it listens", "ms", ready, goal="< 1 s", met=max(ready) < 1000,
            database=bench.database,
        )  # fmt: skip
