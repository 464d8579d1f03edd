"""Processes whose clocks differ by minutes: leases and deadlines use the database's clock."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from askback.domain.ask import Ask, create_ask_id
from askback.domain.ask_policy import Policy
from askback.domain.form import Form, Option, Question
from askback.domain.interview import start_interview
from askback.domain.open_ask_limits import Limits
from askback.domain.who import Who
from askback.internal.clock import utc_now
from support.board import HERE
from support.engine import eventually
from support.processes import Launcher

from .processes import Replicas, on

FORM = Form(
    questions=(
        Question(
            id="colour",
            prompt="Which colour?",
            options=(Option(value="g", label="Green"), Option(value="b", label="Blue")),
        ),
    )
)
ASKS = 14
MINUTES = 300.0


@pytest.fixture
async def replicas(postgres_url: str, tmp_path: Path, launcher: Launcher) -> AsyncIterator[Replicas]:
    async with on(postgres_url, tmp_path, launcher) as replicas:
        yield replicas


@pytest.mark.parametrize("ahead", [MINUTES, -MINUTES])
async def test_two_processes_five_minutes_apart_never_show_two_cards_of_one_ask(
    replicas: Replicas, ahead: float
) -> None:
    await asyncio.gather(replicas.start(latency=1.0), replicas.start(latency=1.0, ahead=ahead))
    async with replicas.store() as store:
        for number in range(ASKS):
            now = utc_now()
            place = HERE.evolve(thread=f"skew {number}")
            policy = Policy(who=Who(anyone=True))
            ask = Ask(
                id=create_ask_id(),
                place=place,
                policy=policy,
                interview=start_interview(FORM),
                created_at=now,
                post_after=now,
            )
            await store.ask(ask, Limits())

        async def all_shown() -> bool:
            return await store.get_time_until_due() is None

        await eventually(all_shown)
        posts = Counter(post["name"] for post in replicas.posts())
        assert (len(posts), max(posts.values())) == (ASKS, 1), posts


@pytest.mark.parametrize("ahead", [MINUTES, -MINUTES])
async def test_a_deadline_comes_in_time_whichever_process_asks_and_whichever_judges(
    replicas: Replicas, ahead: float
) -> None:
    right, wrong = await asyncio.gather(replicas.start(), replicas.start(ahead=ahead))
    by_right = right.order("ask", key="right", thread="1", seconds=4.0)
    by_wrong = wrong.order("ask", key="wrong", thread="2", seconds=4.0)
    for outcome in await asyncio.wait_for(asyncio.gather(by_right, by_wrong), 60):
        assert outcome["status"] == "timed_out"
        assert 3.9 <= outcome["seconds"] < 30
