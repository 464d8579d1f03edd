"""From a click until the program behind a door continues, compared with the framework's own way.

No bot runs beside: the process of each door is connected to the local Slack itself, and has its own database.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace

from .bot import Child, build_environment, child
from .figures import Figure, measured, ratio
from .polls import serving
from .runner import Bench
from .stage import CALM_SECONDS, Stage

TITLES = {
    "langgraph": "the node of LangGraph continues",
    "pydantic-ai": "the model of Pydantic AI is asked",
    "mcp": "a call of `askback mcp` returns",
    "long poll": "a long poll of `askback serve` returns",
    "events": "an event of `askback serve` arrives",
}
FRAMEWORKS = {
    "langgraph": "`Command(resume=…)` → the node continues, LangGraph with its SQLite checkpointer",
    "pydantic-ai": "`DeferredToolResults` → the model is asked, Pydantic AI",
}
SERVERS = ("long poll", "events")
TIMES, WARM = 60, 3
CALLER, TOKEN = "bench", "a-token-of-the-benchmark"


async def run(bench: Bench) -> AsyncIterator[Figure]:
    async with AsyncExitStack() as stack:
        stages: dict[str, Stage] = {}
        programs: dict[str, Child] = {}
        for name in TITLES:
            folder = bench.folder / name.replace(" ", "-")
            folder.mkdir()
            stages[name] = stage = await stack.enter_async_context(Stage.open("slack"))
            words = [name, str(folder)]
            if name in SERVERS:
                _, address = await stack.enter_async_context(serving(stage, folder, {CALLER: TOKEN}))
                words += [address, TOKEN]
            environment = build_environment(stage, folder) | {"ASKBACK_QUESTION_PACE": "0s"}
            programs[name] = await stack.enter_async_context(child("door_program", *words, environment=environment))
            bench.say(f"{name} is ready")
        took: dict[str, list[float]] = {name: [] for name in TITLES}
        bare: dict[str, list[float]] = {name: [] for name in FRAMEWORKS}
        warm = bench.times(WARM, 1)
        for number in range(warm + bench.times(TIMES)):
            for name in random.sample([*TITLES], len(TITLES)):
                milliseconds = await _measure_once(stages[name], programs[name])
                alone = await _measure_bare(programs[name]) if name in FRAMEWORKS else None
                if number >= warm:
                    took[name].append(milliseconds)
                    if alone is not None:
                        bare[name].append(alone)
    for name, title in TITLES.items():
        figure = measured(f"click → {title}", "ms", took[name], database=bench.database)
        if name in FRAMEWORKS:
            figure = replace(figure, note=f"{ratio(took[name], bare[name]):.1f} × the framework alone")
        yield figure
        if name in FRAMEWORKS:
            yield measured(FRAMEWORKS[name], "ms", bare[name])


async def _measure_once(stage: Stage, program: Child) -> float:
    """Return the milliseconds from a click until the program went on."""
    before = stage.newest()
    running = asyncio.create_task(program.tell("once"))
    card = await stage.next_card(before)
    pressed = await stage.press(card)
    went_on = json.loads(await running)
    await stage.until(lambda: stage.newest() is None)
    await asyncio.sleep(CALM_SECONDS)
    return (went_on - pressed.sent) * 1000


async def _measure_bare(program: Child) -> float:
    began, went_on = json.loads(await program.tell("bare"))
    return (went_on - began) * 1000
