"""With 10, 1,000 and 10,000 conversations in progress: a click, and the agent that continues.

Each conversation waits for an answer, as after a message of a person and a call of the model. The real `askback slack`
runs on each database; the clicks answer new questions, in addition to the waiting ones.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace

from .bot import running_bot
from .figures import Figure, measured, ratio
from .open import open_stage
from .runner import Bench

COUNTS = (10, 1_000, 10_000)
TIMES, WARM = 40, 5
MOST_SLOWER = 1.2


async def run(bench: Bench) -> AsyncIterator[Figure]:
    counts = COUNTS[:2] if bench.quick else COUNTS
    async with AsyncExitStack() as stack:
        stages = {count: await open_stage(stack, count, bench) for count in counts}
        for count, stage in stages.items():
            await stack.enter_async_context(running_bot("slack", stage, bench.folder / str(count)))
        acks: dict[int, list[float]] = {count: [] for count in counts}
        resumed: dict[int, list[float]] = {count: [] for count in counts}
        for number in range(bench.times(WARM, 1) + bench.times(TIMES)):
            for count in random.sample(counts, len(counts)):
                stage = stages[count]
                card = await stage.asks()
                pressed = await stage.press(card)
                await stage.calm(card)
                if number >= bench.times(WARM, 1):
                    acks[count].append(pressed.ms)
                    resumed[count].append((stage.model.called - pressed.sent) * 1000)
    for title, took in (("click → durable ack", acks), ("click → agent resumed", resumed)):
        for count in counts:
            slower = ratio(took[count], took[counts[0]])
            figure = measured(f"{title}, {count:,} conversations", "ms", took[count], database=bench.database)
            if count != counts[0]:
                goal, note = f"≤ {MOST_SLOWER} × that at {counts[0]}", f"{slower:.2f} × that at {counts[0]}"
                figure = replace(figure, goal=goal, met=slower <= MOST_SLOWER, note=note)
            yield figure
