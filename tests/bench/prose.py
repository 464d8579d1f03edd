"""The time from the model's last token to the message on the platform, compared with a program that
only passes it on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from .bot import passing_on, running_bot
from .figures import Figure, measured, median
from .runner import Bench
from .stage import Stage

TITLES = {"slack": "Slack", "discord": "Discord"}
TIMES, WARM = 60, 5
GOAL_MS = 3.0


async def run(bench: Bench) -> AsyncIterator[Figure]:
    for name, title in TITLES.items():
        async with AsyncExitStack() as stack:
            ours = await stack.enter_async_context(Stage.open(name))
            bare = await stack.enter_async_context(Stage.open(name))
            await stack.enter_async_context(running_bot(name, ours, bench.folder / name))
            tell = await stack.enter_async_context(passing_on(name, bare))
            took: list[float] = []
            passed_on: list[float] = []
            for number in range(bench.times(TIMES) + bench.times(WARM, 1)):
                card = await ours.asks()
                await ours.press(card)
                await ours.calm(card)
                await tell()
                if number >= bench.times(WARM, 1):
                    took.append((ours.said_at() - ours.model.spoke) * 1000)
                    passed_on.append((bare.said_at() - bare.model.spoke) * 1000)
        own = median(took) - median(passed_on)
        what = f"the model's last token → the message at {title}"
        yield measured(
            what, "ms", took, goal=f"< {GOAL_MS:g} ms of our own", met=own < GOAL_MS, database=bench.database,
            note=f"{own:.1f} ms of our own",
        )  # fmt: skip
        yield measured(f"{what}, by a program that only passes it on", "ms", passed_on)
