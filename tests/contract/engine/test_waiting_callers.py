"""The card of a program's question says that no program waits for the answer, as long as that is so."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event, insert, select, text, update

from askback.client import presence
from askback.client.presence import Presence
from askback.domain.ask import Ask, create_ask_id
from askback.domain.form import Form, Option, Question
from askback.domain.wait_report import WaitReport
from askback.domain.who import Who
from askback.internal.clock import SECOND
from askback.manager import build_ask, build_policy
from askback.runtime import maintenance
from askback.store.database import Database
from askback.store.queries import asks
from askback.store.queries.waits import GRACE_SECONDS, WAIT_SECONDS
from askback.store.schema import asks as asks_table
from askback.store.schema import waits
from askback.store.store import Store
from support.board import ANN, HERE, WITHIN, Board
from support.engine import engine

pytestmark = pytest.mark.usefixtures("stored")

OPTIONS = (Option(value="yes", label="Yes"), Option(value="no", label="No"))
TEA = Form(questions=(Question(id="tea", prompt="Tea?", options=OPTIONS),))


def new_ask() -> Ask:
    return build_ask(TEA, to=HERE, policy=build_policy(Who.from_people(ANN), 3600.0))


async def add(database: Database, count: int = 1) -> tuple[str, ...]:
    """Store open asks, and return their ids."""
    first = new_ask()
    ids = [first.id, *(create_ask_id() for _ in range(count - 1))]

    def insert_all(connection: Connection) -> None:
        asks.insert(connection, first)
        row = connection.execute(select(asks_table)).mappings().first()
        assert row is not None
        if others := [{**row, "id": one} for one in ids[1:]]:
            connection.execute(insert(asks_table), others)

    await database.run(insert_all)
    return tuple(sorted(ids))


@contextmanager
def list_statements(table: str) -> Generator[list[str]]:
    """Collect the statements about a table that are executed in this block."""
    found: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        if table in statement:
            found.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", note)


async def pass_time(database: Database, seconds: float) -> None:
    """Move what is known of all waits into the past."""
    passed = int(seconds * SECOND)
    moved = update(waits).values(waits_until=waits.c.waits_until - passed, kept_until=waits.c.kept_until - passed)

    def move(connection: Connection) -> None:
        connection.execute(moved)

    await database.run(move)


async def look(store: Store) -> dict[str, str | None]:
    """Do what the bot does now and then; return what the cards that changed say."""
    changed = await store.list_changed_waits()
    for ask_id in changed:
        assert await store.apply_wait(ask_id)
    found = [await store.get(ask_id) for ask_id in changed]
    return {ask.id: ask.absence for ask in found if ask is not None}


async def test_a_card_says_so_once_nobody_has_waited_for_the_whole_bound(database: Database, store: Store) -> None:
    (ask_id,) = await add(database)
    await store.record_waits(WaitReport(waiting=(ask_id,)))
    await pass_time(database, WAIT_SECONDS - 5)
    assert await look(store) == {}
    await pass_time(database, 5)
    assert await look(store) == {ask_id: "away"}
    assert await look(store) == {}, "it is said once"
    ask = await store.get(ask_id)
    assert ask is not None
    assert ask.to_card().absence == "away"

    await store.record_waits(WaitReport(waiting=(ask_id,)))
    assert await look(store) == {ask_id: None}
    assert await look(store) == {}


async def test_an_end_of_the_wait_counts_sooner_than_a_process_that_was_killed(
    database: Database, store: Store
) -> None:
    (ask_id,) = await add(database)
    await store.record_waits(WaitReport(waiting=(ask_id,)))
    await store.record_waits(WaitReport(ended=(ask_id,)))
    assert await look(store) == {}, "a program that polls comes back"
    await pass_time(database, GRACE_SECONDS)
    assert await look(store) == {ask_id: "away"}


async def test_a_card_says_that_nobody_receives_an_answer_that_no_later_call_can_receive(
    database: Database, store: Store
) -> None:
    one, two = await add(database, 2)
    await store.record_waits(WaitReport(waiting=(one, two), lost=frozenset({two})))
    await pass_time(database, WAIT_SECONDS)
    assert await look(store) == {one: "away", two: "gone"}


async def test_an_answer_that_one_process_keeps_is_lost_once_that_process_is_gone(
    database: Database, store: Store
) -> None:
    killed, closed, soon = ids = await add(database, 3)
    kept = WaitReport(kept=frozenset(ids))
    await store.record_waits(WaitReport(waiting=ids, lost=frozenset(ids)))
    await store.record_waits(WaitReport(ended=ids, kept=kept.kept))
    for _ in range(3):
        await pass_time(database, GRACE_SECONDS)
        await store.record_waits(kept)
        await look(store)
    found = [await store.get(one) for one in ids]
    assert [one.absence for one in found if one is not None] == ["away"] * 3

    await store.record_waits(WaitReport(lost=frozenset({closed})))
    assert await look(store) == {closed: "gone"}, "at once"
    assert await look(store) == {}
    await store.record_waits(WaitReport(waiting=(soon,), lost=frozenset({soon})))
    assert await look(store) == {soon: None}, "the same process received a later call"
    await store.record_waits(WaitReport(lost=frozenset({soon})))
    assert await look(store) == {soon: "gone"}, "although its caller has come and gone before"
    await pass_time(database, WAIT_SECONDS)
    assert await look(store) == {killed: "gone"}


async def test_an_answer_that_nobody_can_receive_is_told_even_if_no_wait_was_reported(
    database: Database, store: Store
) -> None:
    kept, lost = await add(database, 2)
    await store.record_waits(WaitReport(ended=(kept,), kept=frozenset({kept}), lost=frozenset({lost})))
    assert await look(store) == {lost: "gone"}
    await pass_time(database, GRACE_SECONDS)
    assert await look(store) == {kept: "away"}


async def test_no_card_speaks_of_callers_that_never_waited(database: Database, store: Store) -> None:
    (ask_id,) = await add(database)
    await store.record_waits(WaitReport(ended=(ask_id,)))
    await pass_time(database, 10 * WAIT_SECONDS)
    assert await look(store) == {}


async def test_a_caller_that_comes_and_goes_changes_the_card_less_and_less_often(
    database: Database, store: Store
) -> None:
    (ask_id,) = await add(database)
    for number, added in enumerate((0, 90, 180, 360, 720, 1440, 2880, 3600, 3600)):
        await store.record_waits(WaitReport(waiting=(ask_id,)))
        assert await look(store) == ({ask_id: None} if number else {})
        await pass_time(database, WAIT_SECONDS + added - 5)
        assert await look(store) == {}, number
        await pass_time(database, 5)
        assert await look(store) == {ask_id: "away"}, number


async def test_one_of_two_processes_that_waits_is_enough(database: Database, store: Store) -> None:
    (ask_id,) = await add(database)
    for _ in range(2):
        await store.record_waits(WaitReport(waiting=(ask_id,)))
    await store.record_waits(WaitReport(ended=(ask_id,)))
    await pass_time(database, presence.RENEWAL_SECONDS + presence.RETRY_SECONDS)
    assert await look(store) == {}, "the other one has not had the time to renew its wait"
    await store.record_waits(WaitReport(waiting=(ask_id,)))
    await pass_time(database, GRACE_SECONDS)
    assert await look(store) == {}


async def test_one_of_several_bots_draws_the_card_once(database: Database, store: Store) -> None:
    (ask_id,) = await add(database)
    await store.record_waits(WaitReport(waiting=(ask_id,)))
    await pass_time(database, WAIT_SECONDS)
    others = [Store(database) for _ in range(4)]
    assert sum(await asyncio.gather(*(other.apply_wait(ask_id) for other in others))) == 1
    ask = await store.get(ask_id)
    assert ask is not None
    assert ask.interview.revision == 1


async def test_a_settled_card_says_nothing_of_the_caller(database: Database, store: Store) -> None:
    one, two = await add(database, 2)
    await store.record_waits(WaitReport(waiting=(one, two)))
    await pass_time(database, WAIT_SECONDS)
    assert await look(store) == {one: "away", two: "away"}
    await database.run(
        lambda connection: (
            connection.execute(text("UPDATE asks SET status = 'cancelled' WHERE id = :id"), {"id": one}) and None
        )
    )
    assert await look(store) == {}
    await store.record_waits(WaitReport(waiting=(one,)))
    assert await look(store) == {}, "nobody waits for a settled question"
    await store.forget_ended_waits()
    left = await database.read(lambda connection: tuple(connection.execute(select(waits.c.ask_id)).scalars()))
    assert left == (two,)


async def test_a_process_serves_the_cards_of_its_own_platforms(database: Database) -> None:
    (ask_id,) = await add(database)
    store = Store(database, frozenset({"another"}))
    await store.record_waits(WaitReport(waiting=(ask_id,)))
    await pass_time(database, WAIT_SECONDS)
    assert await look(store) == {}
    assert await look(Store(database, frozenset({HERE.platform}))) == {ask_id: "away"}


async def test_an_ask_of_a_newer_release_holds_up_no_other(database: Database, store: Store) -> None:
    newer, (other,) = new_ask(), await add(database)

    def insert_newer(connection: Connection) -> None:
        asks.insert(connection, newer)
        changed = update(asks_table).where(asks_table.c.id == newer.id)
        connection.execute(changed.values(form='{"of": "a newer release"}'))

    await database.run(insert_newer)
    await store.record_waits(WaitReport(waiting=(newer.id,)))
    await pass_time(database, 10)
    await store.record_waits(WaitReport(waiting=(other,)))
    await pass_time(database, WAIT_SECONDS)
    assert await store.list_changed_waits() == (newer.id, other)
    assert not await store.apply_wait(newer.id)
    assert await look(store) == {other: "away"}


async def test_thousands_of_waits_are_one_statement(database: Database, store: Store) -> None:
    ids = await add(database, 10_000)
    reports: list[str] = []
    recorded = asyncio.Event()

    async def record(report: WaitReport) -> None:
        reports.append(f"{len(report.waiting)} {len(report.ended)}")
        await store.record_waits(report)
        recorded.set()

    waiting = Presence(record)
    async with waiting.running():
        with ExitStack() as stack:
            for ask_id in ids:
                stack.enter_context(waiting.wait(ask_id))
            async with asyncio.timeout(WITHIN):
                await recorded.wait()
            with list_statements("waits") as executed:
                await store.record_waits(WaitReport(waiting=ids))
            assert len(executed) == 1, executed
    assert reports == ["10000 0", "0 10000"]
    await pass_time(database, GRACE_SECONDS)
    assert len(await store.list_changed_waits()) == 100, "the rest follows in the next rounds"


async def test_the_bot_looks_at_the_callers_by_itself(
    tmp_path: Path, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "RENEWAL_SECONDS", 0.2)
    monkeypatch.setattr(maintenance, "LOOK_SECONDS", 0.05)
    async with engine(tmp_path, board) as one:
        ask = await one.manager.submit(new_ask())
        await board.until(board.open)
        await one.store.record_waits(WaitReport(waiting=(ask.id,)))
        await pass_time(one.store._database, WAIT_SECONDS)
        await board.until(lambda: [shown for shown in board.cards() if shown.absence == "away"])
        await one.store.record_waits(WaitReport(waiting=(ask.id,)))
        await board.until(lambda: [shown for shown in board.cards() if shown.absence is None])
        assert len(board.messages) == 1, "the card is edited"
        await pass_time(one.store._database, 3 * WAIT_SECONDS)
        await board.until(lambda: [shown for shown in board.cards() if shown.absence == "away"])
    # A bot that starts again finds the card as it is, and the caller that has come back meanwhile.
    async with engine(tmp_path, board) as one:
        await one.store.record_waits(WaitReport(waiting=(ask.id,)))
        await board.until(lambda: [shown for shown in board.cards() if shown.absence is None])
