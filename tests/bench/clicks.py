"""A click until its durable ack, and until the agent continues, compared with the bare frameworks.

One button is pressed at a time, in turn on askback and on two bots with an empty handler: (a) set up as askback is,
(b) set up as the framework's documentation writes it. Each has its own platform.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace

from askback_sandbox.discord.controls import controls as discord_controls

from .bot import empty_bot, running_bot
from .figures import Figure, Fsyncs, measured, ratio
from .fsyncs import counting
from .runner import Bench
from .stage import DiscordStage, Pressed, Stage

TITLES = {"slack": "Slack Socket Mode", "slack-http": "Slack HTTP", "discord": "Discord gateway"}
TIMES, WARM, COUNTED = 120, 10, 15
LIKE_A, FASTER = 1.5, 10


async def run(bench: Bench) -> AsyncIterator[Figure]:
    for name, title in TITLES.items():
        async for figure in _platform(name, title, bench):
            yield figure


async def _platform(name: str, title: str, bench: Bench) -> AsyncIterator[Figure]:
    async with AsyncExitStack() as stack:

        async def opened() -> Stage:
            return await stack.enter_async_context(Stage.open(name))

        ours, like_ours, documented = await opened(), await opened(), await opened()
        bot = await stack.enter_async_context(running_bot(name, ours, bench.folder / name))
        empty = {}
        for key, stage in (("a", like_ours), ("b", documented)):
            card = await stage.post()
            if isinstance(stage, DiscordStage):
                first = discord_controls(card.components)[0]
                stage.environment = {**stage.environment, "BENCH_CUSTOM_ID": str(first.handle["custom_id"])}
            folder = bench.folder / f"{name}-{key}"
            await stack.enter_async_context(empty_bot(name, stage, folder, documented=key == "b"))
            empty[key] = (stage, card)

        acks: dict[str, list[float]] = {"ours": [], "a": [], "b": []}
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
    to_a, to_b = ratio(acks["ours"], acks["a"]), ratio(acks["b"], acks["ours"])
    goal, met = f"≤ {LIKE_A} × (a)", to_a <= LIKE_A
    if name.startswith("slack"):
        goal, met = f"{goal}; {FASTER} × faster than (b)", met and to_b >= FASTER
    ours = measured(f"click → durable ack, {title}", "ms", acks["ours"], goal=goal, met=met, database=bench.database)
    return [
        replace(ours, fsyncs=for_ack, note=f"{to_a:.2f} × (a), {to_b:.1f} × faster than (b)"),
        replace(
            measured(f"click → agent resumed, {title}", "ms", resumed, database=bench.database),
            fsyncs=for_agent,
            note="until the model is asked again",
        ),
        measured(f"(a) the framework, empty handler, {title}", "ms", acks["a"]),
        measured(f"(b) the same as documented, {title}", "ms", acks["b"]),
    ]
