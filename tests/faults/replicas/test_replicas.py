"""Two processes on one PostgreSQL database keep their promises together, even if one of them fails."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from askback.domain.ask import Ask, create_ask_id
from askback.domain.ask_policy import Approval, Policy
from askback.domain.form import Form, Option, Question
from askback.domain.interview import start_interview
from askback.domain.open_ask_limits import Limits
from askback.domain.who import Who
from askback.internal.clock import utc_now
from askback.store.store import Store
from askback_sandbox.model.script import Fault, turn
from support.board import HERE
from support.engine import eventually, last_request, question, results
from support.postgres_servers import Restartable, restartable_server
from support.processes import Launcher

from .processes import WITHIN, Process, Replicas, on

LABELS = ("Green", "Blue")
COLOUR = Form(
    questions=(
        Question(id="colour", prompt="Which colour?", options=tuple(Option(value=one, label=one) for one in LABELS)),
    )
)


@pytest.fixture
async def replicas(postgres_url: str, tmp_path: Path, launcher: Launcher) -> AsyncIterator[Replicas]:
    async with on(postgres_url, tmp_path, launcher) as replicas:
        yield replicas


async def asked(store: Store, count: int, approval: Approval | None = None) -> list[str]:
    """Store N open asks, each in its own place; return their ids."""
    now = utc_now()
    policy = Policy(who=Who(anyone=True), approval=approval)

    async def one(number: int) -> str:
        place = HERE.evolve(thread=f"asked {number}")
        ask = Ask(
            id=create_ask_id(),
            place=place,
            policy=policy,
            interview=start_interview(COLOUR),
            created_at=now,
            post_after=now,
        )
        return (await store.ask(ask, Limits())).id

    return list(await asyncio.gather(*map(one, range(count))))


async def outcomes(store: Store, ids: list[str]) -> Counter[tuple[str, str]]:
    """Return how often each person gave each answer."""
    found = [await store.get(ask_id) for ask_id in ids]
    assert all(ask is not None and ask.outcome is not None for ask in found)
    return Counter((ask.outcome.by.name, ask.outcome["colour"].choices[0].label) for ask in found)  # type: ignore[union-attr]


async def test_asks_answered_from_both_sides_at_once_have_an_outcome_each_and_every_loser_is_told(
    replicas: Replicas,
) -> None:
    first, second = await asyncio.gather(replicas.start(), replicas.start())
    async with replicas.store() as store:
        ids = await asked(store, 300)
        began = time.perf_counter()
        left, right = await asyncio.gather(
            first.order("answer", ids=ids, by="Ann", index=0), second.order("answer", ids=ids, by="Ben", index=1)
        )
        seconds = time.perf_counter() - began
        print(f"{len(ids)} asks from both sides in {seconds:.1f} s: {len(left['won'])}, {len(right['won'])}")
        assert sorted(left["won"] + right["won"]) == sorted(ids)
        assert sorted(left["told"]) == sorted(right["won"])
        assert sorted(right["told"]) == sorted(left["won"])
        assert left["won"], "only one side was there in time"
        assert right["won"], "only one side was there in time"
        assert await outcomes(store, ids) == {
            ("Ann", "Green"): len(left["won"]),
            ("Ben", "Blue"): len(right["won"]),
        }


async def test_two_approvals_at_the_same_instant_from_two_processes_count_as_two(replicas: Replicas) -> None:
    first, second = await asyncio.gather(replicas.start(), replicas.start())
    async with replicas.store() as store:
        ids = await asked(store, 300, Approval(quorum=2))
        both = await asyncio.gather(
            first.order("answer", ids=ids, by="Ann", index=0), second.order("answer", ids=ids, by="Ben", index=0)
        )
        for one in both:
            assert (sorted(one["won"]), one["told"]) == (sorted(ids), [])
        last = Counter[str]()
        for ask_id in ids:
            ask = await store.get(ask_id)
            assert ask is not None
            assert ask.outcome is not None
            assert ask.outcome.by is not None
            assert (ask.outcome.status, ask.outcome["colour"].labels) == ("answered", ("Green",))
            assert {vote.by.name for vote in ask.outcome.votes} == {"Ann", "Ben"}
            assert (len(ask.outcome.votes), ask.interview.revision) == (2, 3)
            last[ask.outcome.by.name] += 1
        print(f"the second vote was {dict(last)}")


async def test_the_same_person_twice_from_two_processes_at_once_counts_as_one(replicas: Replicas) -> None:
    first, second = await asyncio.gather(replicas.start(), replicas.start())
    async with replicas.store() as store:
        ids = await asked(store, 300, Approval(quorum=2))
        left, right = await asyncio.gather(
            *(one.order("answer", ids=ids, by="Ann", index=0) for one in (first, second))
        )
        assert sorted(left["won"] + right["won"]) == sorted(ids)
        assert sorted(left["told"] + right["told"]) == sorted(ids)
        print(f"counted of each side: {len(left['won'])}, {len(right['won'])}")
        for ask_id in ids:
            ask = await store.get(ask_id)
            assert ask is not None
            assert ask.outcome is None
            assert [vote.by.name for vote in ask.interview.votes] == ["Ann"]


async def test_a_turn_of_a_process_that_is_killed_is_taken_over_and_every_call_is_answered_once(
    replicas: Replicas,
) -> None:
    replicas.services.model.script(
        turn("Let me think about that.", question("A or B?", "A", "B")), turn("Well chosen.")
    )
    replicas.services.model.fail(Fault(kind="stall", after=16))
    first = await replicas.start()
    assert (await first.order("write", text="hello", key="1"))["new"]
    await replicas.until(lambda: [one for one in replicas.posts() if "Let me" in one["text"]])
    second = await replicas.start()
    # The other process's turn is stalled, and this process does not begin it a second time.
    assert (await second.order("write", text="are you there?", key="2"))["new"]
    assert not (await second.order("write", text="hello", key="1"))["new"]
    await first.kill()
    async with replicas.store() as store:
        killed = time.monotonic()
        (ask,) = await eventually(lambda: store.list_open(HERE))
        # An ask that is settled before anyone saw it is never posted.
        await replicas.until(lambda: any(one["name"] == ask.id for one in replicas.posts()))
        print(f"taken over after {time.monotonic() - killed:.1f} s")
        assert time.monotonic() - killed < 20
        assert (await second.order("answer", ids=[ask.id], by="Ann", index=0))["won"] == [ask.id]
    await replicas.until(lambda: len(replicas.services.model.log) == 3)
    history = last_request(replicas.services)
    assert [result["content"] for result in results(history)] == [
        'User has answered your questions: "A or B?"="A". You can now continue with the user\'s answers in mind.'
    ]


async def test_a_card_that_a_killed_process_had_taken_is_posted_by_the_other_one_once(replicas: Replicas) -> None:
    first = await replicas.start()
    await first.order("hold", call="show")
    first.order("ask", key="k")
    await first.order("calls", count=1, call="show")
    second = await replicas.start()
    waiting = second.order("ask", key="k")
    await first.kill()
    seconds = await replicas.until(replicas.posts, within=15)
    print(f"posted by the other one after {seconds:.1f} s")
    async with replicas.store() as store:
        (ask,) = await store.list_open()
        await second.order("answer", ids=[ask.id], by="Ann", index=1)
    assert (await waiting)["label"] == "Blue"
    assert [one["name"] for one in replicas.posts()] == [ask.id]


@pytest.mark.parametrize("deaf", [False, True], ids=["told", "deaf"])
async def test_whoever_waits_in_one_process_hears_of_the_answer_in_another(replicas: Replicas, deaf: bool) -> None:
    first, second = await asyncio.gather(replicas.start(), replicas.start())
    waiting = first.order("ask", key="k")
    async with replicas.store() as store:
        (ask,) = await eventually(store.list_open)
    if deaf:
        listening = "FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'LISTEN askback'"
        # A process is ready before it listens: until then, it polls.
        await replicas.until(lambda: len(replicas.execute(f"SELECT pid {listening}")) == 2)
        assert len(replicas.execute(f"SELECT pg_terminate_backend(pid) {listening}")) == 2
    won = await second.order("answer", ids=[ask.id], by="Ben", index=1)
    answered = time.time()
    assert won["won"] == [ask.id]
    heard = await waiting
    assert heard["label"] == "Blue"
    print(f"heard {max(heard['at'] - answered, 0) * 1000:.0f} ms after the answer")
    assert heard["at"] - answered < (8 if deaf else 2), "it looks by itself every 3 s"


# Failures of the server


@pytest.fixture
def restartable() -> Iterator[Restartable]:
    with restartable_server() as server:
        yield server


async def goes_on(replicas: Replicas, break_off: Callable[[], Awaitable[None]]) -> None:
    """Generate traffic on both processes during a failure of the database: work continues, and acks hold."""
    model = replicas.services.model
    model.script(turn("Let me think about that.", question("A or B?", "A", "B")), turn("Well chosen."))
    first, second = await asyncio.gather(replicas.start(), replicas.start())
    async with replicas.store() as store:
        ids = await asked(store, 300)
        # The permanent tasks; a delivery in progress ends normally, and the renewal of its lease with it.
        passing = ("askback deliver ", "askback lease ")
        before = [
            [name for name in (await one.order("tasks"))["names"] if not name.startswith(passing)]
            for one in (first, second)
        ]
        waiting = first.order("ask", key="k", thread="waits")
        (waits,) = [ask for ask in await eventually(store.list_open) if ask.id not in ids] or [None]
        answering = asyncio.gather(
            first.order("answer", ids=ids, by="Ann", index=0),
            second.order("answer", ids=ids[::-1], by="Ben", index=1),
        )
        await break_off()
        left, right = await asyncio.wait_for(answering, WITHIN)
        back = time.monotonic()
        assert not set(left["won"]) & set(right["won"])
        # A click whose commit was in doubt was delivered again, and counted once.
        counts = {("Ann", "Green"): len(left["won"]), ("Ben", "Blue"): len(right["won"])}
        assert await outcomes(store, ids) == {who: count for who, count in counts.items() if count}
        assert sum(counts.values()) == len(ids)
        for ask_ids, name in ((left["won"], "Ann"), (right["won"], "Ben")):
            assert {who for who, _ in await outcomes(store, ask_ids)} <= {name}
        if waits is None:
            (waits,) = [ask for ask in await store.list_open() if ask.id not in ids]
        await second.order("answer", ids=[waits.id], by="Ben", index=1)
        assert (await asyncio.wait_for(waiting, WITHIN))["label"] == "Blue"
        assert (await second.order("write", text="hello", key="1"))["new"]
        (ask,) = await eventually(lambda: store.list_open(HERE))

        def cards() -> int:
            return sum(one["name"] == ask.id for one in replicas.posts())

        # An ask that is answered before it was posted has no card, and needs none.
        await replicas.until(cards)
        await first.order("answer", ids=[ask.id], by="Ann", index=0)
        await replicas.until(lambda: len(model.log) == 2)
        print(
            f"all goes on {time.monotonic() - back:.1f} s after; refused {left['refused']} and {right['refused']} times"
        )
        for one, names in zip((first, second), before, strict=True):

            async def same(one: Process = one, names: list[str] = names) -> bool:
                return set(names) <= set((await one.order("tasks"))["names"])

            await eventually(same)
        assert cards() == 1


async def test_connections_that_are_terminated_in_the_middle_of_traffic_lose_nothing(replicas: Replicas) -> None:
    async def terminated() -> None:
        every = """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
        """
        for _ in range(5):
            await asyncio.sleep(0.2)
            assert await asyncio.to_thread(replicas.execute, every)

    await goes_on(replicas, terminated)


async def test_a_server_that_is_restarted_in_the_middle_of_traffic_loses_nothing(
    restartable: Restartable, tmp_path: Path, launcher: Launcher
) -> None:
    async def restarted() -> None:
        await asyncio.sleep(0.2)
        await asyncio.to_thread(restartable.stop)
        await asyncio.sleep(1.0)
        await asyncio.to_thread(restartable.start)

    with restartable.database() as url:
        async with on(url, tmp_path, launcher) as replicas:
            await goes_on(replicas, restarted)
