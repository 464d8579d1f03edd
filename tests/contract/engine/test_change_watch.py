"""One look finds what has changed of all questions for which a process waits, also what others changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
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
from askback.store.queries.ask_changes import list_changed
from askback.store.snapshot_reader import SnapshotReader
from askback.store.store import Store
from support.board import ANN, HERE
from support.stores import url_in

pytestmark = pytest.mark.usefixtures("stored")

COUNT = 10
TEA = Form(questions=(Question(id="tea", prompt="Tea?", options=(Option(value="y", label="Yes"),)),))
WITHIN = 20.0


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncGenerator[SnapshotReader]:
    where = tmp_path / "askback.db" if (url := url_in(tmp_path)) is None else PostgresAddress.read(url)
    reader = SnapshotReader(where)
    yield reader
    await reader.close()


async def test_one_look_serves_all_that_wait_and_wakes_only_those_whose_question_changed(
    store: Store, reader: SnapshotReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    monkeypatch.setattr(change_watch, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(change_watch, "list_changed", counting(looks))
    manager = QuestionManager(store)
    policy = Policy(who=Who.from_people(ANN))
    asked = [await manager.submit(build_ask(TEA, to=HERE, policy=policy)) for _ in range(COUNT)]
    watch = ChangeWatch(reader)
    woken: list[str] = []
    waits = [asyncio.create_task(wait(watch, ask, woken)) for ask in asked]
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


async def test_signals_of_other_processes_share_one_look_and_wake_nobody_else(
    store: Store, reader: SnapshotReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each question that anybody asks is such a signal. Otherwise, all that wait would read the database for it."""
    looks: list[int] = []
    monkeypatch.setattr(change_watch, "LOOK_SECONDS", 10 * WITHIN)
    monkeypatch.setattr(change_watch, "list_changed", counting(looks))
    manager = QuestionManager(store)
    policy = Policy(who=Who.from_people(ANN))
    asked = [await manager.submit(build_ask(TEA, to=HERE, policy=policy)) for _ in range(COUNT)]
    watch = ChangeWatch(reader)
    woken: list[str] = []
    waits = [asyncio.create_task(wait(watch, ask, woken)) for ask in asked]
    await asyncio.sleep(0)
    assert await manager.cancel(asked[3].id)
    for _ in range(COUNT):
        watch.look()
    watch.start()
    try:
        await asyncio.wait_for(asyncio.shield(waits[3]), WITHIN)
        assert (woken, looks) == ([asked[3].id], [COUNT])
        # A later signal is another look.
        assert await manager.cancel(asked[5].id)
        watch.look()
        await asyncio.wait_for(asyncio.shield(waits[5]), WITHIN)
        assert (woken, looks) == ([asked[3].id, asked[5].id], [COUNT, COUNT - 1])
    finally:
        await watch.close()
        for task in waits:
            task.cancel()
        await asyncio.wait(waits)


async def test_a_wait_that_read_an_older_state_than_another_is_woken(store: Store, reader: SnapshotReader) -> None:
    """Otherwise, a look would compare with the newer state, and find no change."""
    manager = QuestionManager(store)
    older = await manager.submit(build_ask(TEA, to=HERE, policy=Policy(who=Who.from_people(ANN))))
    newer = older.evolve(interview=older.interview.evolve(revision=older.interview.revision + 1))
    watch = ChangeWatch(reader)
    first = asyncio.create_task(wait(watch, older, []))
    await asyncio.sleep(0)
    second = asyncio.create_task(wait(watch, newer, []))
    try:
        await asyncio.wait_for(asyncio.shield(first), WITHIN)
    finally:
        for task in (first, second):
            task.cancel()
        await asyncio.wait([first, second])


async def wait(watch: ChangeWatch, ask: Ask, woken: list[str]) -> None:
    """Wait until an ask may differ from what was read, and note its id then."""
    with watch.register(ask.id) as waiting:
        waiting.begin_read()
        await waiting.wait(ask)
        woken.append(ask.id)


def counting(looks: list[int]) -> Callable[..., Any]:
    """Return the query, which notes the number of asks of each look."""

    def look(connection: Any, known: Any) -> Any:
        looks.append(len(known))
        return list_changed(connection, known)

    return look
