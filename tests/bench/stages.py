"""The budget of a click, of the turn after it, and of the model's last token: each stage in microseconds.

The clocks themselves take part of it. The rest of a click's time is the platform's, the wire's and the framework's.
"""

from __future__ import annotations

import asyncio
import json
import time
from bisect import bisect_right
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path

from askback.manager import QuestionManager
from askback.runtime.backend import open_backend
from askback.store.store import Store

from . import postgres
from .bot import stamped_bot
from .figures import Database, Figure, measured
from .replicas import answer_elsewhere
from .runner import Bench
from .stage import Stage

TITLES = {"slack": "Slack Socket Mode", "slack-http": "Slack HTTP", "discord": "Discord gateway"}
TIMES, WARM = 120, 10

StageStamps = tuple[str, str, str]
"""A stage: the stamps at its begin and at its end, and what it is."""

COMMIT: tuple[StageStamps, ...] = (
    ("act", "work", "who acts; to the writer's thread; BEGIN"),
    ("work", "read", "SELECT; the row becomes an ask"),
    ("read", "decided", "who takes part; the decision"),
    ("decided", "worked", "the changed rows: five statements"),
    ("worked", "committed", "COMMIT, with one fsync"),
    ("committed", "acted", "back to the event loop"),
)
CLICK: Mapping[str, tuple[StageStamps, ...]] = {
    "slack": (
        ("begin", "handler", "the frame, slack-bolt's request and middleware"),
        ("handler", "act", "the payload becomes an action"),
        *COMMIT,
        ("acted", "sent", "the ack is sent"),
        ("begin", "sent", "from the frame to the ack"),
    ),
    "slack-http": (
        ("begin", "handler", "the body, its signature, slack-bolt's request and middleware"),
        ("handler", "act", "the payload becomes an action"),
        *COMMIT,
        ("acted", "sent", "the ack is returned to aiohttp"),
        ("begin", "sent", "from the request's headers to the ack"),
    ),
    "discord": (
        ("begin", "act", "the interaction becomes an action"),
        *COMMIT,
        ("acted", "drawn", "the card is drawn"),
        ("drawn", "sent", "the answer is sent, and Discord takes it"),
        ("begin", "sent", "from the interaction to the answer"),
    ),
}
REQUEST: tuple[StageStamps, ...] = (
    ("turn", "step", "what is to do: one look"),
    ("step", "begun", "the message and the request are built, and committed with their tokens"),
    ("begun", "asked", "the text's stream is prepared"),
    ("asked", "called", "the anthropic package sends the request"),
)
RESUME: tuple[StageStamps, ...] = (
    ("committed", "turn", "from the commit to the turn"),
    *REQUEST,
    ("committed", "called", "from the commit to the model's call"),
)
REPLICA: tuple[StageStamps, ...] = (
    ("answer", "turn", "the answer's commit, and the job that the other process takes"),
    *REQUEST,
    ("answer", "called", "from the answer to the model's call"),
)
LAST_TOKEN: tuple[StageStamps, ...] = (
    ("spoke", "answered", "the anthropic package reads the last event"),
    ("answered", "built", "the end of the turn is built"),
    ("built", "ended", "the end of the turn is committed"),
    ("ended", "finishing", "the lease of the text begins"),
    ("finishing", "said", "the platform's call arrives"),
    ("spoke", "said", "from the last token to the message"),
)
MILLION = 1_000_000


async def run(bench: Bench) -> AsyncIterator[Figure]:
    warm = bench.times(WARM, 1)
    for name, title in TITLES.items():
        file = bench.folder / name / "stamps"
        turns: list[dict[str, float]] = []
        async with Stage.open(name) as stage, stamped_bot(name, stage, file.parent):
            for _ in range(warm + bench.times(TIMES)):
                card = await stage.asks()
                await stage.press(card)
                await stage.calm(card)
                turns.append(stamp_platform(stage))
        stamps = await asyncio.to_thread(read_stamps, file)
        clicks = find_first(stamps, [at for stage_name, at in stamps if stage_name == "begin"])
        spans = [click | turn for click, turn in zip(clicks, turns, strict=True)][warm:]
        for stages in (CLICK[name], RESUME, LAST_TOKEN):
            for figure in measure_stages(title, stages, spans, bench.database):
                yield figure
    async for figure in _measure_replica(bench, warm):
        yield figure


async def _measure_replica(bench: Bench, warm: int) -> AsyncIterator[Figure]:
    """Measure the way from an answer in this process to the agent of a bot on the same PostgreSQL."""
    file = bench.folder / "replica" / "stamps"
    turns: list[dict[str, float]] = []
    async with postgres.fresh(bench) as (url, about), open_backend(url) as kept:
        # It has no bot, so it tells the process that has one about the card.
        store = Store(kept.database, frozenset())
        manager = QuestionManager(store)
        async with Stage.open("slack") as stage, stamped_bot("slack", stage, file.parent, ASKBACK_DATABASE_URL=url):
            for _ in range(warm + bench.times(TIMES)):
                began = await answer_elsewhere(stage, store, manager)
                turns.append(stamp_platform(stage) | {"answer": began + time.perf_counter() - time.time()})
    stamps = await asyncio.to_thread(read_stamps, file)
    bot = find_first(stamps, [turn["answer"] for turn in turns])
    spans = [one | turn for one, turn in zip(bot, turns, strict=True)][warm:]
    for figure in measure_stages("another replica", REPLICA, spans, about):
        yield figure


def stamp_platform(stage: Stage) -> dict[str, float]:
    """Return when the platform and the model saw the stages of the last turn, by the monotonic clock."""
    offset = time.perf_counter() - time.time()
    seen = {"called": stage.model.called, "spoke": stage.model.spoke, "said": stage.said_at()}
    return {name: at + offset for name, at in seen.items()}


def read_stamps(file: Path) -> list[tuple[str, float]]:
    """Return the stamps that a bot has written, each with its stage and time, in their order."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [(str(name), float(at)) for name, at in map(json.loads, lines)]


def find_first(stamps: Iterable[tuple[str, float]], begins: Sequence[float]) -> list[dict[str, float]]:
    """Return the first time of each stage at or after each begin, and before the next one."""
    spans: list[dict[str, float]] = [{} for _ in begins]
    for name, at in stamps:
        number = bisect_right(begins, at) - 1
        if number >= 0:
            spans[number].setdefault(name, at)
    return spans


def measure_stages(
    title: str, stages: Sequence[StageStamps], spans: Iterable[Mapping[str, float]], database: Database | None
) -> list[Figure]:
    """Return a figure for each stage."""
    return [
        measured(f"{title}: {what}", "µs", [(span[end] - span[begin]) * MILLION for span in spans], database=database)
        for begin, end, what in stages
    ]
