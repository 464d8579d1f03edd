"""One look finds what has changed of all questions for which a process waits, also what others changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from askback.client import change_watch
from askback.client.change_watch import ChangeWatch
from askback.domain.ask import Ask
from askback.domain.ask_policy import Policy
from askback.domain.form import Form, Option, Question
from askback.domain.who import Who
from askback.manager import QuestionManager, build_ask
from askback.store.postgres.address import PostgresAddress
from askback.store.queries.ask_changes import list_versions
from askback.store.store import Store
from support.engine import ANN, HERE
from support.stores import url_in

pytestmark = pytest.mark.usefixtures("stored")

COUNT = 10
TEA = Form(questions=(Question(id="tea", prompt="Tea?", options=(Option(value="y", label="Yes"),)),))
WITHIN = 20.0


async def test_one_look_serves_all_that_wait_and_wakes_only_those_whose_question_changed(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    monkeypatch.setattr(change_watch, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(change_watch, "list_versions", counting(looks))
    where = tmp_path / "askback.db" if (url := url_in(tmp_path)) is None else PostgresAddress.read(url)
    manager = QuestionManager(store)
    policy = Policy(who=Who.from_people(ANN))
    asked = [await manager.submit(build_ask(TEA, to=HERE, policy=policy)) for _ in range(COUNT)]
    watch = ChangeWatch(where)
    woken: list[str] = []

    async def wait(ask: Ask) -> None:
        with watch.register(ask.id) as waiting:
            waiting.begin_read()
            await waiting.wait(ask)
            woken.append(ask.id)

    waits = [asyncio.create_task(wait(ask)) for ask in asked]
    watch.start()
    try:
        async with asyncio.timeout(WITHIN):
            while len(looks) < 3:  # noqa: ASYNC110 - a thread looks
                await asyncio.sleep(0.01)
            assert woken == []
            assert {*looks} == {COUNT}
            assert await manager.cancel(asked[3].id)
            await waits[3]
            assert woken == [asked[3].id]
            # Its own process wakes it without a look.
            watch.wake(asked[5].id)
            await waits[5]
            assert woken == [asked[3].id, asked[5].id]
            looks.clear()
            while not looks:  # noqa: ASYNC110 - a thread looks
                await asyncio.sleep(0.01)
            assert looks[0] == COUNT - 2
    finally:
        await watch.close()
        for task in waits:
            task.cancel()
        await asyncio.wait(waits)


async def test_a_wait_that_read_an_older_state_than_another_is_woken(store: Store, tmp_path: Path) -> None:
    """Otherwise, a look would compare with the newer state, and find no change."""
    where = tmp_path / "askback.db" if (url := url_in(tmp_path)) is None else PostgresAddress.read(url)
    manager = QuestionManager(store)
    older = await manager.submit(build_ask(TEA, to=HERE, policy=Policy(who=Who.from_people(ANN))))
    newer = older.evolve(interview=older.interview.evolve(revision=older.interview.revision + 1))
    watch = ChangeWatch(where)

    async def wait(read: Ask) -> None:
        with watch.register(older.id) as waiting:
            waiting.begin_read()
            await waiting.wait(read)

    first = asyncio.create_task(wait(older))
    await asyncio.sleep(0)
    second = asyncio.create_task(wait(newer))
    try:
        await asyncio.wait_for(asyncio.shield(first), WITHIN)
    finally:
        for task in (first, second):
            task.cancel()
        await asyncio.wait([first, second])


def counting(looks: list[int]) -> Callable[..., Any]:
    """Return the query, which notes the number of asks of each look."""

    def look(connection: Any, ask_ids: Any) -> Any:
        looks.append(len(ask_ids))
        return list_versions(connection, ask_ids)

    return look
