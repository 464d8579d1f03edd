"""An answer is handed over to a LangGraph graph once, even if its process dies or fails with it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from askback.doors import hand_over
from askback.doors.hand_over import HandOvers, OutcomeUnknown
from askback.store.queries import hand_overs
from e2e.ask.office import Office

from .environment import settle_in
from .graphs import Gated, State, asking
from .langgraph_programs import FINISHED, THREAD, WRITE, done, door, program


async def test_a_process_that_dies_with_the_answer_leaves_it_unknown(
    stored_office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = stored_office
    dying = await program(office, 'run({}, "thread")', "lambda _: os.kill(os.getpid(), signal.SIGKILL)")
    await office.fill("ada", WRITE, "1.4.2", "Which version?")
    await dying.ended()
    assert done(office) == ["1.4.2"]
    settle_in(office, monkeypatch)
    async with asking(office.folder, "Which version?") as graph, door(office, graph) as one:
        for _ in range(2):
            with pytest.raises(OutcomeUnknown, match="check that first"):
                await one.resume("thread")
        await office.until(lambda: "was interrupted while it acted on the answer" in office.picture())
        assert done(office) == ["1.4.2"]
        # Only a decision of the caller hands it over once more.
        assert await one.resume("thread", again=True) == {"answers": ["1.4.2"]}
    assert len([text for text in map(office.reads, office.shown()) if "was interrupted" in text]) == 1
    assert done(office) == ["1.4.2"] * 2


async def test_whoever_knows_what_happened_continues_a_lost_thread_at_once(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = await program(office, 'run({}, "thread")', "lambda _: os.kill(os.getpid(), signal.SIGKILL)")
    await office.fill("ada", WRITE, "1.4.2", "Which version?")
    await dying.ended()
    settle_in(office, monkeypatch)
    async with asking(office.folder, "Which version?") as graph, door(office, graph) as one:
        assert await one.resume("thread", again=True) == {"answers": ["1.4.2"]}
    assert done(office) == ["1.4.2"] * 2


async def test_a_process_that_dies_once_the_graph_has_finished_leaves_nothing_unknown(
    stored_office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph's own checkpoint proves that it has acted on the answer to its end."""
    office = stored_office
    await office.bot()
    dying = await program(office, 'run({}, "thread")', graph="Dying(graph)")
    await office.fill("ada", WRITE, "1.4.2", "Which version?")
    await dying.ended()
    settle_in(office, monkeypatch)
    async with asking(office.folder, "Which version?") as graph, door(office, graph) as one:
        for _ in range(2):
            assert await one.resume("thread") == {"answers": ["1.4.2"]}
        assert await one.list_waiting() == ()
    assert done(office) == ["1.4.2"]
    assert "was interrupted" not in office.picture()


async def test_people_learn_once_that_a_graph_has_finished_after_all(here: Office) -> None:
    failures = iter([RuntimeError("no space left")])

    def fail_once(_: object) -> None:
        for failure in failures:
            raise failure

    async with asking(here.folder, "Which version?", then=fail_once) as graph, door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.fill("ada", WRITE, "1.4.2", "Which version?")
        with pytest.raises(RuntimeError, match="no space left"):
            await running
        await here.until(lambda: "was interrupted while it acted on the answer" in here.picture())
        await graph.ainvoke(None, THREAD)  # its developer has checked that
        for _ in range(2):
            assert await one.resume("thread") == {"answers": ["1.4.2"]}
        await here.until(lambda: FINISHED in here.picture())
    assert len([text for text in map(here.reads, here.shown()) if FINISHED in text]) == 1


@pytest.mark.parametrize("how", ["update", "another input"])
async def test_a_graph_that_finished_in_another_way_proves_nothing(here: Office, how: str) -> None:
    def fail(answer: str) -> None:
        if answer == "1.4.2":
            raise RuntimeError("no space left")

    async with asking(here.folder, "Which version?", then=fail) as graph, door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.fill("ada", WRITE, "1.4.2", "Which version?")
        with pytest.raises(RuntimeError, match="no space left"):
            await running
        if how == "update":
            await graph.aupdate_state(THREAD, {"answers": ["none"]}, as_node="node 0")
            await one.resume("thread")
        else:
            later = asyncio.create_task(one.run({}, "thread"))
            await here.fill("ada", WRITE, "1.5", "Which version?")
            assert await later == {"answers": ["1.5"]}
        (known,) = [
            found
            for found in await HandOvers(here.database).list_of_run("langgraph", "thread")
            if found.state != "acknowledged"
        ]
        assert known.state == "unknown"
    assert FINISHED not in here.picture()


async def test_two_that_resume_at_once_resume_once(stored_here: Office) -> None:
    here = stored_here
    async with asking(here.folder, "Which version?") as graph, door(here, graph) as one, door(here, graph) as other:
        running = [asyncio.create_task(one.run({}, "thread"))]
        await here.card("Which version?")
        running.append(asyncio.create_task(other.resume("thread")))
        await here.fill("ada", WRITE, "1.4.2", "Which version?")
        assert await asyncio.gather(*running) == [{"answers": ["1.4.2"]}] * 2
    assert (len(here.shown()), done(here)) == (1, ["1.4.2"])


async def test_two_that_resume_at_once_with_two_answers_resume_one_after_the_other(stored_here: Office) -> None:
    """LangGraph loses the end of a graph that is resumed twice at once, although it keeps both answers."""
    here = stored_here

    def ask(question: str) -> Any:
        async def node(_: State) -> State:
            answer = interrupt(question)
            await asyncio.sleep(1.0)
            return {"answers": [answer]}

        return node

    ended: list[int] = []
    built = StateGraph(State).add_node("first", ask("First?")).add_node("second", ask("Second?"))
    built.add_node("end", lambda state: ended.append(len(state["answers"])))
    built.add_edge(START, "first").add_edge(START, "second").add_edge(["first", "second"], "end")
    async with AsyncSqliteSaver.from_conn_string(str(here.folder / "graph.db")) as saver:
        early, late = (Gated(built.compile(checkpointer=saver)) for _ in range(2))
        early.resuming.clear()
        async with door(here, early) as one, door(here, late) as other:
            running = asyncio.create_task(one.run({}, "thread"))
            await here.card("First?")
            await here.card("Second?")
            late.reading.clear()
            resumed = asyncio.create_task(other.resume("thread"))
            await here.until(lambda: late.waits == ["reading"])
            await here.fill("ada", WRITE, "2", "Second?")
            await here.until(lambda: early.waits == ["resuming"])
            await here.fill("ada", WRITE, "1", "First?")
            late.reading.set()
            await asyncio.sleep(0.5)
            early.resuming.set()
            results = await asyncio.gather(running, resumed)
    assert [sorted(one["answers"]) for one in results] == [["1", "2"]] * 2
    assert ended == [2]


async def test_a_graph_that_works_for_long_keeps_its_claim(here: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (hand_overs, hand_over):
        monkeypatch.setattr(module, "CLAIM_SECONDS", 1.0)
    slow: dict[str, Any] = {"then": lambda _: time.sleep(4.0)}
    async with (
        asking(here.folder, "Which version?", **slow) as graph,
        door(here, graph) as one,
        door(here, graph) as other,
    ):
        running = [asyncio.create_task(one.run({}, "thread"))]
        await here.fill("ada", WRITE, "1.4.2", "Which version?")
        await here.until(lambda: done(here))
        running.append(asyncio.create_task(other.resume("thread")))
        assert await asyncio.gather(*running) == [{"answers": ["1.4.2"]}] * 2
    assert (len(here.shown()), done(here)) == (1, ["1.4.2"])


async def test_a_graph_that_fails_with_the_answer_raises_and_is_not_resumed_again(here: Office) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("no space left")

    async with asking(here.folder, "Which version?", then=fail) as graph, door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.fill("ada", WRITE, "1.4.2", "Which version?")
        with pytest.raises(RuntimeError, match="no space left"):
            await running
        with pytest.raises(OutcomeUnknown):
            await one.resume("thread")
        await here.until(lambda: "was interrupted while it acted on the answer" in here.picture())
    assert done(here) == ["1.4.2"]


async def test_the_error_of_the_graph_is_not_hidden_by_a_notice_that_fails(
    office: Office, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The disk fails while the graph works: neither the end of the claim nor the notice can be written."""
    kept = office.folder / "kept.db"

    def fail(_: object) -> None:
        office.database.rename(kept)
        raise RuntimeError("no space left")

    await office.bot()
    settle_in(office, monkeypatch)
    async with asking(office.folder, "Which version?", then=fail) as graph, door(office, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await office.fill("ada", WRITE, "1.4.2", "Which version?")
        with pytest.raises(RuntimeError, match="no space left"):
            await running
        kept.rename(office.database)
    logged = {getattr(record, "action", "") for record in caplog.records}
    assert {"claim_not_ended", "notice_failed"} <= logged
