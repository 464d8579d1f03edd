"""The time of imports and starts, each in its own process, all in turn."""

from __future__ import annotations

import asyncio
import sys
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeAlias

from .bot import idle_program, running_bot
from .figures import Figure, measured, median, ratio
from .runner import Bench
from .stage import Stage

Starting: TypeAlias = AbstractAsyncContextManager[Process]

SLOWEST_START = 1.3
"""The largest ratio of the bot's start to that of a program that imports the same SDKs and connects."""
SLOWEST_HELP = 150.0
"""The largest time of `askback --help`, in milliseconds."""
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
        if name == "askback --help":
            met = median(values) <= SLOWEST_HELP
            yield measured(f"`{name}`", "ms", values, goal=f"≤ {SLOWEST_HELP:g} ms", met=met)
        else:
            yield measured(f"`{name}`", "ms", values)
    for platform in ("slack", "discord"):
        ready: dict[Callable[[str, Stage, Path], Starting], list[float]] = {running_bot: [], idle_program: []}
        for number in range(bench.times(8, 1)):
            for run_program, values in ready.items():
                async with Stage.open(platform) as stage:
                    began = time.perf_counter()
                    async with run_program(platform, stage, bench.folder / f"{platform}{number}"):
                        values.append((time.perf_counter() - began) * 1000)
        to_floor = ratio(ready[running_bot], ready[idle_program])
        yield measured(
            f"`askback {platform}` until it listens", "ms", ready[running_bot], database=bench.database,
            goal=f"≤ {SLOWEST_START} × the program below", met=to_floor <= SLOWEST_START,
            note=f"{to_floor:.2f} × the program below",
        )  # fmt: skip
        yield measured(f"a program with the same SDKs until it listens, {platform.title()}", "ms", ready[idle_program])
