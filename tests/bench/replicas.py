"""An answer in one process, until the waiter in another continues. PostgreSQL only.

This process gives the answers. In the other process waits a program that asked through the library, or an agent: the
real `askback slack`, which has resumed once it calls the model again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial

from askback.domain.decision import decide
from askback.manager import QuestionManager
from askback.runtime.backend import open_backend
from askback.store.store import Store

from . import postgres
from .asked import answer
from .bot import child, running_bot
from .figures import Figure, measured
from .fsyncs import counting
from .runner import Bench
from .stage import Stage

TIMES, WARM, COUNTED = 100, 20, 10
GOAL_MS = 10.0
LOOK_SECONDS = 0.005
WHAT = "answer on one replica → {} on another, PostgreSQL"


async def run(bench: Bench) -> AsyncIterator[Figure]:
    async with postgres.fresh(bench) as (url, about), open_backend(url) as kept:
        # It has no bot, so it tells the process that has one about the card.
        store = Store(kept.database, frozenset())
        manager = QuestionManager(store)

        async with child("waiter", url) as waiter:

            async def once() -> tuple[float, float]:
                ask_id = await waiter.tell("ask")
                began = time.time()
                await manager.act(answer(ask_id))
                return began, float(await waiter.answer())

            for _ in range(bench.times(WARM, 1)):
                await once()
            spans = [await once() for _ in range(bench.times(TIMES))]
            async with counting(*await postgres.processes(url)) as counted:
                counted_spans = [await once() for _ in range(bench.times(COUNTED, 1))]
        yield _figure("`ask` returns", spans, about=about, fsyncs=counted.within(counted_spans))

        async with Stage.open("slack") as stage:
            folder = bench.folder / "replica"
            async with running_bot("slack", stage, folder, ASKBACK_DATABASE_URL=url):
                spans = []
                for number in range(bench.times(TIMES) + bench.times(WARM, 1)):
                    began = await answer_elsewhere(stage, store, manager)
                    if number >= bench.times(WARM, 1):
                        spans.append((began, stage.model.called))
        yield replace(_figure("agent resumed", spans, about=about), note="until the model is asked again")


async def answer_elsewhere(stage: Stage, store: Store, manager: QuestionManager) -> float:
    """Have the bot ask, answer in this process, and wait until the agent is done. Return the time of the answer."""
    card = await stage.asks()
    while not (ask := (await manager.list_open_asks())[0]).messages:  # noqa: ASYNC110 - the other process sends nothing
        await asyncio.sleep(LOOK_SECONDS)
    action = answer(ask.id).evolve(actor=ask.policy.who.people[0], message=None)
    began = time.time()
    # Only a process with the bot knows who is admitted.
    admitted = partial(decide, action=action, is_admitted=lambda *_: True)
    await store.decide(ask.id, admitted, action=action)
    await stage.calm(card)
    return began


def _figure(what: str, spans: list[tuple[float, float]], **more: object) -> Figure:
    took = [(went_on - began) * 1000 for began, went_on in spans]
    figure = measured(WHAT.format(what), "ms", took, database=more.get("about"), fsyncs=more.get("fsyncs"))
    return replace(figure, goal=f"≤ {GOAL_MS:g} ms", met=figure.median <= GOAL_MS)
