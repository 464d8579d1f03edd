"""An outcome is handed over to an agent framework at most once, even if a process dies in between."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from askback.domain.form import Form, Option, Question
from askback.domain.hand_over import CallId
from askback.domain.who import Who
from askback.doors.hand_over import HandOvers
from askback.internal.clock import utc_now
from askback.store.database import Database
from askback.store.external_access import open_for_writing
from askback.store.postgres.address import PostgresAddress
from askback.store.store import Store
from support.board import ANN, HERE, Board
from support.engine import Engine, engine, eventually
from support.stores import url_in

pytestmark = pytest.mark.usefixtures("stored")

OPTIONS = (Option(value="yes", label="Yes"), Option(value="no", label="No"))
TEA = Form(questions=(Question(id="tea", prompt="Tea?", options=OPTIONS),))
FIRST = CallId(framework="langgraph", run="thread", call="first")
SECOND = CallId(framework="langgraph", run="thread", call="second")


async def test_two_processes_at_once_claim_once(database: Database, tmp_path: Path) -> None:
    where = tmp_path / "askback.db" if (url := url_in(tmp_path)) is None else PostgresAddress.read(url)
    async with open_for_writing(where) as other:
        stores = (Store(database), Store(other))
        for number in range(10):
            call = FIRST.evolve(call=str(number))
            await asyncio.gather(*(store.record_hand_over(call, "ask", "digest") for store in stores))
            results = await asyncio.gather(
                *(store.claim_hand_overs({call: "digest"}, f"holder {one}") for one in range(2) for store in stores)
            )
            # Each name claims through both stores, and so twice if it is the first.
            assert sorted(results) == ["claimed", "claimed", "taken", "taken"]
            (found,) = [one for one in await stores[0].list_hand_overs("langgraph", "thread") if one.id == call]
            assert found.state == "claimed"


async def test_what_was_handed_over_is_never_claimed_again(store: Store) -> None:
    await store.record_hand_over(FIRST, "ask", "digest")
    assert await store.claim_hand_overs({FIRST: "digest"}, "one") == "claimed"
    assert await store.acknowledge_hand_overs("one")
    assert await store.claim_hand_overs({FIRST: "digest"}, "two") == "acknowledged"
    # Nor if somebody asks again.
    await store.record_hand_over(FIRST, "another ask", "digest")
    assert await store.claim_hand_overs({FIRST: "digest"}, "three") == "acknowledged"
    assert not await store.release_hand_overs([FIRST])


async def test_a_claim_is_repeated_after_a_commit_in_doubt(store: Store) -> None:
    await store.record_hand_over(FIRST, "ask", "digest")
    for _ in range(2):
        assert await store.claim_hand_overs({FIRST: "digest"}, "one") == "claimed"


async def test_another_call_than_people_were_shown_is_not_claimed(store: Store) -> None:
    assert await store.claim_hand_overs({FIRST: "digest"}, "one") == "missing"
    await store.record_hand_over(FIRST, "ask", "digest")
    assert await store.claim_hand_overs({FIRST: "other"}, "one") == "changed"
    # People are asked again, so the earlier ask has to be withdrawn.
    await store.record_hand_over(FIRST, "new ask", "other")
    assert await store.claim_hand_overs({FIRST: "digest"}, "two") == "changed"
    assert await store.claim_hand_overs({FIRST: "other"}, "two") == "claimed"


async def test_calls_that_belong_together_are_claimed_together_or_not_at_all(store: Store) -> None:
    await store.record_hand_over(FIRST, "ask", "digest")
    await store.record_hand_over(SECOND, "second ask", "second")
    assert await store.claim_hand_overs({FIRST: "digest", SECOND: "changed"}, "one") == "changed"
    assert [one.state for one in await store.list_hand_overs("langgraph", "thread")] == ["asked", "asked"]
    assert await store.claim_hand_overs({FIRST: "digest", SECOND: "second"}, "two") == "claimed"
    assert await store.acknowledge_hand_overs("two")
    assert [one.state for one in await store.list_hand_overs("langgraph", "thread")] == ["acknowledged"] * 2


async def test_a_renewed_claim_is_not_lost_and_says_who_holds_it_since_when(store: Store) -> None:
    await store.record_hand_over(FIRST, "ask", "digest")
    began = await store.get_current_time()
    assert await store.claim_hand_overs({FIRST: "digest"}, "one") == "claimed"
    await lapse(store)
    assert await store.renew_hand_overs("one")
    (found,) = await store.list_hand_overs("langgraph", "thread")
    assert (found.state, found.holder) == ("claimed", "one")
    assert found.claimed_at is not None
    assert began - timedelta(seconds=1) <= found.claimed_at <= await store.get_current_time()


async def test_a_claim_whose_holder_died_is_unknown_and_people_learn_it_once(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        ask_id = await answered(one, board)
        store = one.store
        await store.record_hand_over(FIRST, ask_id, "digest")
        assert await store.list_answered_runs("langgraph") == ("thread",)
        assert await store.claim_hand_overs({FIRST: "digest"}, "dead") == "claimed"
        assert await store.list_answered_runs("langgraph") == ()
        assert await store.claim_hand_overs({FIRST: "digest"}, "other") == "taken"
        await lapse(store)
        assert await store.list_answered_runs("langgraph") == ("thread",)
        results = [await store.claim_hand_overs({FIRST: "digest"}, f"other {number}") for number in range(3)]
        assert results == ["unknown"] * 3
        assert not await store.renew_hand_overs("dead")
        assert await store.list_answered_runs("langgraph") == ()
        await board.until(board.texts)
        assert len(board.texts()) == 1
        assert "was interrupted while it acted on the answer" in board.texts()[0]
        # Only a decision lets it be handed over again.
        assert await store.release_hand_overs([FIRST])
        assert await store.claim_hand_overs({FIRST: "digest"}, "again") == "claimed"


async def test_a_holder_that_was_only_slow_still_acknowledges(store: Store) -> None:
    await store.record_hand_over(FIRST, "ask", "digest")
    assert await store.claim_hand_overs({FIRST: "digest"}, "slow") == "claimed"
    await lapse(store)
    assert await store.claim_hand_overs({FIRST: "digest"}, "other") == "unknown"
    assert not await store.acknowledge_hand_overs("other")
    assert await store.acknowledge_hand_overs("slow")
    assert await store.claim_hand_overs({FIRST: "digest"}, "other") == "acknowledged"


async def test_people_learn_once_that_an_unknown_outcome_is_known(tmp_path: Path, board: Board) -> None:
    """The holder was only slow, or the framework's own state proves that it has finished."""
    async with engine(tmp_path, board) as one:
        await one.store.record_hand_over(FIRST, await answered(one, board), "digest")
        assert await one.store.claim_hand_overs({FIRST: "digest"}, "slow") == "claimed"
        await lapse(one.store)
        (lost,) = await one.store.list_hand_overs_in_doubt("langgraph", "thread")
        assert lost.state == "claimed"  # nobody has been told yet
        assert await one.store.claim_hand_overs({FIRST: "digest"}, "other") == "unknown"
        await board.until(lambda: len(board.texts()) == 1)
        assert [await one.store.acknowledge_hand_overs("slow") for _ in range(2)] == [True, False]
        await board.until(lambda: len(board.texts()) == 2)
        assert "The outcome is known now" in board.texts()[1]
        assert await one.store.list_hand_overs_in_doubt("langgraph", "thread") == ()


async def test_a_lost_claim_is_released_even_if_nobody_has_looked_at_it(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        await one.store.record_hand_over(FIRST, await answered(one, board), "digest")
        assert await one.store.claim_hand_overs({FIRST: "digest"}, "dead") == "claimed"
        assert not await one.store.release_hand_overs([FIRST])
        await lapse(one.store)
        assert await one.store.release_hand_overs([FIRST])
        assert await one.store.claim_hand_overs({FIRST: "digest"}, "again") == "claimed"
        await board.until(lambda: len(board.texts()) == 1)  # people still learn what happened


async def test_nobody_is_told_of_a_lost_claim_whose_outcome_is_known(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        await one.store.record_hand_over(FIRST, await answered(one, board), "digest")
        assert await one.store.claim_hand_overs({FIRST: "digest"}, "dead") == "claimed"
        await lapse(one.store)
        assert await one.store.acknowledge_hand_overs("dead")
        assert await one.store.claim_hand_overs({FIRST: "digest"}, "other") == "acknowledged"
        assert board.texts() == []


async def test_a_framework_that_fails_leaves_the_outcome_unknown(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        await one.store.record_hand_over(FIRST, await answered(one, board), "digest")
        assert await one.store.claim_hand_overs({FIRST: "digest"}, "one") == "claimed"
        assert await one.store.abandon_hand_overs("one")
        assert not await one.store.abandon_hand_overs("one")
        assert await one.store.claim_hand_overs({FIRST: "digest"}, "two") == "unknown"
        await board.until(lambda: len(board.texts()) == 1)


async def test_open_questions_wait_and_only_answered_ones_are_to_hand_over(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        waiting = asyncio.create_task(one.manager.ask(TEA, to=HERE, who=Who.from_people(ANN)))
        await board.until(board.cards)
        (ask,) = await one.store.list_open()
        await one.store.record_hand_over(FIRST, ask.id, "digest")
        assert await one.store.list_waiting_runs("langgraph") == ("thread",)
        assert await one.store.list_answered_runs("langgraph") == ()
        assert await one.store.list_waiting_runs("pydantic-ai") == ()
        assert await one.manager.cancel(ask.id)
        await waiting
        assert await one.store.list_answered_runs("langgraph") == ("thread",)


async def test_a_process_that_dies_while_it_asks_leaves_a_trace(store: Store) -> None:
    await store.announce_hand_over(FIRST, "digest")
    assert await store.list_waiting_runs("langgraph") == await store.list_answered_runs("langgraph") == ("thread",)
    # The next process asks, and replaces no ask.
    await store.announce_hand_over(FIRST, "digest")
    await store.record_hand_over(FIRST, "ask", "digest")
    assert await store.list_answered_runs("langgraph") == ()
    await store.announce_hand_over(FIRST, "changed")
    assert [(one.ask_id, one.digest) for one in await store.list_hand_overs("langgraph", "thread")] == [
        ("ask", "digest")
    ]


async def test_a_hand_over_is_deleted_with_its_ask(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        await one.store.record_hand_over(FIRST, await answered(one, board), "digest")

        async def pruned() -> bool:
            return (await one.store.prune(utc_now() + timedelta(days=1), 10)).asks == 1

        await eventually(pruned)  # once its card is drawn
        assert await one.store.list_hand_overs("langgraph", "thread") == ()


async def answered(one: Engine, board: Board) -> str:
    """Ask about tea, and let the question end; return its id."""
    waiting = asyncio.create_task(one.manager.ask(TEA, to=HERE, who=Who.from_people(ANN)))
    await board.until(board.cards)
    (ask,) = await one.store.list_open()
    assert await one.manager.cancel(ask.id)
    await waiting
    await board.until(lambda: not board.open())
    return ask.id


async def lapse(store: Store) -> None:
    """Let the time of every claim pass."""
    past = text("UPDATE hand_overs SET claimed_until = 1")
    await store._database.run(lambda connection: connection.execute(past).rowcount)


async def test_a_claim_with_which_nothing_was_handed_over_can_be_claimed_again(store: Store) -> None:
    await store.record_hand_over(FIRST, "ask", "digest")
    assert await store.claim_hand_overs({FIRST: "digest"}, "one") == "claimed"
    assert not await store.unclaim_hand_overs("two")
    assert await store.unclaim_hand_overs("one")
    assert not await store.unclaim_hand_overs("one")
    assert await store.claim_hand_overs({FIRST: "digest"}, "two") == "claimed"
    assert await store.acknowledge_hand_overs("two")
    assert not await store.unclaim_hand_overs("two")


async def test_a_look_at_a_database_that_does_not_exist_creates_none(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    assert await HandOvers(folder / "askback.db").expire("langgraph") == ()
    assert not [*folder.iterdir()]


async def test_a_look_at_a_database_before_its_first_question_finds_nothing(tmp_path: Path) -> None:
    file = tmp_path / "empty.db"
    file.touch(0o600)
    assert await HandOvers(file).list_answered_runs("langgraph") == ()
