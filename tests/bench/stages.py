"""The budget of a click: the time of each of its stages, in microseconds, in Slack's Socket Mode and on Discord.

The clocks themselves take part of it. The rest of a click's time is the platform's, the wire's and the framework's.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping

from .bot import stamped_bot
from .figures import Figure, measured
from .runner import Bench
from .stage import Stage

TITLES = {"slack": "Slack Socket Mode", "discord": "Discord gateway"}
TIMES, WARM = 120, 10
COMMIT = (
    ("act", "work", "who acts; to the writer's thread; BEGIN"),
    ("work", "read", "SELECT; the row becomes an ask"),
    ("read", "decided", "who takes part; the decision"),
    ("decided", "worked", "the changed rows: five statements"),
    ("worked", "committed", "COMMIT, with one fsync"),
    ("committed", "acted", "back to the event loop"),
)
STAGES = {
    "slack": (
        ("begin", "handler", "the frame, slack-bolt's request and middleware"),
        ("handler", "act", "the payload becomes an action"),
        *COMMIT,
        ("acted", "sent", "the ack is sent"),
        ("begin", "sent", "from the frame to the ack"),
    ),
    "discord": (
        ("begin", "act", "the interaction becomes an action"),
        *COMMIT,
        ("acted", "drawn", "the card is drawn"),
        ("drawn", "sent", "the answer is sent, and Discord takes it"),
        ("begin", "sent", "from the interaction to the answer"),
    ),
}
"""Each stage with the stamps at its begin and at its end."""
MILLION = 1_000_000


async def run(bench: Bench) -> AsyncIterator[Figure]:
    for name, title in TITLES.items():
        folder = bench.folder / name
        async with Stage.open(name) as stage, stamped_bot(name, stage, folder):
            for _ in range(bench.times(WARM, 1) + bench.times(TIMES)):
                card = await stage.asks()
                await stage.press(card)
                await stage.calm(card)
        lines = (await asyncio.to_thread((folder / "stamps").read_text, encoding="utf-8")).splitlines()
        clicks: list[Mapping[str, float]] = [json.loads(line) for line in lines[bench.times(WARM, 1) :]]
        for begin, end, what in STAGES[name]:
            values = [(click[end] - click[begin]) * MILLION for click in clicks]
            yield measured(f"{title}: {what}", "µs", values, database=bench.database)
