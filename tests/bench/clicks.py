"""A click until its durable ack, and until the agent continues, compared with the bare frameworks.

One button is pressed at a time, in turn on askback and on three bots of the framework alone: (a) set up as askback is,
with an empty handler, (b) set up as the framework's documentation writes it, (c) the durable floor: as (a), but the
handler commits one row before it acks. Each has its own platform.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace

from askback_sandbox.discord.controls import controls as discord_controls

from .bot import empty_bot, running_bot
from .figures import Figure, Fsyncs, measured, median, p99, ratio
from .fsyncs import counting
from .runner import Bench
from .stage import DiscordStage, Pressed, Stage

TITLES = {"slack": "Slack Socket Mode", "slack-http": "Slack HTTP", "discord": "Discord gateway"}
TIMES, WARM, COUNTED = 120, 10, 15
GOALS = {"slack": 1.25, "slack-http": 1.25, "discord": 1.4}
"""The largest ratio of the medians to the durable floor."""
TAIL = 3
"""The largest ratio of the 99th percentile to the median of the same run."""


async def run(bench: Bench) -> AsyncIterator[Figure]:
    for name, title in TITLES.items():
        async for figure in _platform(name, title, bench):
            yield figure


async def _platform(name: str, title: str, bench: Bench) -> AsyncIterator[Figure]:
    async with AsyncExitStack() as stack:

        async def opened() -> Stage:
            return await stack.enter_async_context(Stage.open(name))

        ours = await opened()
        bot = await stack.enter_async_context(running_bot(name, ours, bench.folder / name))
        empty = {}
        for key in ("a", "b", "c"):
            stage = await opened()
            card = await stage.post()
            if isinstance(stage, DiscordStage):
                first = discord_controls(card.components)[0]
                stage.environment = {**stage.environment, "BENCH_CUSTOM_ID": str(first.handle["custom_id"])}
            folder = bench.folder / f"{name}-{key}"
            await stack.enter_async_context(empty_bot(name, stage, folder, documented=key == "b", durable=key == "c"))
            empty[key] = (stage, card)

        acks: dict[str, list[float]] = {"ours": [], "a": [], "b": [], "c": []}
        resumed: list[float] = []

        async def press(who: str) -> Pressed:
            stage, card = (ours, await ours.asks()) if who == "ours" else empty[who]
            pressed = await stage.press(card)
            if who == "ours":
                await ours.calm(card)
                resumed.append((ours.model.called - pressed.sent) * 1000)
            acks[who].append(pressed.ms)
            return pressed

        for _ in range(bench.times(WARM, 1)):
            for who in acks:
                await press(who)
        for values in (*acks.values(), resumed):
            values.clear()
        for _ in range(bench.times(TIMES)):
            for who in random.sample([*acks], len(acks)):
                await press(who)

        spans: list[tuple[float, float]] = []
        until_resumed: list[tuple[float, float]] = []
        async with counting(bot.pid) as counted:
            for _ in range(bench.times(COUNTED)):
                pressed = await press("ours")
                spans.append((pressed.sent, pressed.acked))
                until_resumed.append((pressed.sent, ours.model.called))
        for values in (acks["ours"], resumed):
            del values[-len(spans) :]
        for figure in _figures(name, title, acks, resumed, bench, counted.within(spans), counted.within(until_resumed)):
            yield figure


def _figures(
    name: str,
    title: str,
    acks: dict[str, list[float]],
    resumed: list[float],
    bench: Bench,
    for_ack: Fsyncs | None,
    for_agent: Fsyncs | None,
) -> list[Figure]:
    to_floor, goal = ratio(acks["ours"], acks["c"]), GOALS[name]
    tail = p99(acks["ours"]) / median(acks["ours"])
    ours = measured(
        f"click → durable ack, {title}",
        "ms",
        acks["ours"],
        goal=f"≤ {goal} × (c); p99 ≤ {TAIL} × the median",
        met=to_floor <= goal and tail <= TAIL,
        database=bench.database,
    )
    return [
        replace(ours, fsyncs=for_ack, note=f"{to_floor:.2f} × (c), p99 {tail:.1f} × the median"),
        replace(
            measured(f"click → agent resumed, {title}", "ms", resumed, database=bench.database),
            fsyncs=for_agent,
            note="until the model is asked again",
        ),
        measured(f"(a) the framework, empty handler, {title}", "ms", acks["a"]),
        measured(f"(b) the same as documented, {title}", "ms", acks["b"]),
        measured(f"(c) the durable floor: (a) with one commit, {title}", "ms", acks["c"], database=bench.database),
    ]
