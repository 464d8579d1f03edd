"""People answer the interrupts of a real LangGraph graph, whatever process runs it."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from sqlalchemy import Engine, event

from askback.doors import resume_worker
from askback.doors.call_question import Unanswered
from askback.doors.hand_over import HandOvers
from askback.errors import CallerError
from e2e.ask.office import Office

from .environment import settle_in
from .graphs import asking
from .langgraph_programs import THREAD, WRITE, done, door, program


async def test_a_written_answer_resumes_the_graph(stored_here: Office) -> None:
    here = stored_here
    async with asking(here.folder, "Which version?") as graph, door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.fill("ada", WRITE, "1.4.2", "Which version?")
        assert await running == {"answers": ["1.4.2"]}
        assert await one.resume("thread") == {"answers": ["1.4.2"]}
        assert await one.list_waiting() == ()
    assert done(here) == ["1.4.2"]


async def test_an_answer_is_handed_over_without_looking_for_its_question_again(here: Office) -> None:
    searches: list[str] = []

    def note(*given: Any) -> None:
        if re.search(r"WHERE asks\.\W?key\W? =", given[2]):
            searches.append(given[2])

    async with asking(here.folder, "Which version?") as graph, door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.card("Which version?")
        event.listen(Engine, "before_cursor_execute", note)
        try:
            await here.fill("ada", WRITE, "1.4.2", "Which version?")
            assert await running == {"answers": ["1.4.2"]}
        finally:
            event.remove(Engine, "before_cursor_execute", note)
    assert searches == []


async def test_each_of_several_interrupts_gets_its_own_answer(here: Office) -> None:
    async with asking(here.folder, "First?", "Second?") as graph, door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.fill("ada", WRITE, "to the second", "Second?")
        await here.until(lambda: done(here) == ["to the second"])
        await here.fill("ben", WRITE, "to the first", "First?")
        result: Any = await running
    assert sorted(result["answers"]) == ["to the first", "to the second"]
    assert done(here) == ["to the second", "to the first"]


async def test_equal_questions_of_two_threads_are_two_questions(here: Office) -> None:
    async with asking(here.folder, "Which version?") as graph, door(here, graph) as one:
        both = [asyncio.create_task(one.run({}, thread)) for thread in ("one", "two")]
        await here.until(lambda: len(here.shown()) == 2)
        await here.fill("ada", WRITE, "1.4.2", "Which version?")
        ended, waiting = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        assert (len(ended), len(waiting)) == (1, 1)
        await here.fill("ada", WRITE, "1.5", "Which version?")
        await asyncio.gather(*both)
    assert done(here) == ["1.4.2", "1.5"]


class Release(BaseModel):
    """What to release."""

    where: Literal["staging", "production"]
    urgent: bool


async def test_the_schema_of_an_answer_becomes_a_form(here: Office) -> None:
    async with asking(here.folder, "What to release?", schema=Release) as graph, door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.click("ada", "production", "What to release?")
        await here.click("ada", "No", "Urgent")
        await here.click("ada", "Submit", "Review your answers")
        assert await running == {"answers": [Release(where="production", urgent=False)]}


async def test_a_schema_that_is_no_object_is_one_question(here: Office) -> None:
    value = {"question": "Go?", "of": "1.4"}
    async with asking(here.folder, value, schema={"type": "boolean"}) as graph, door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.click("ada", "Yes", "Go?")
        assert await running == {"answers": [True]}


async def test_what_people_cannot_be_asked_is_refused_and_nothing_is_posted(here: Office) -> None:
    nested = {"type": "object", "properties": {"of": {"type": "object"}}}
    async with asking(here.folder, "Go?", schema=nested) as graph, door(here, graph) as one:
        with pytest.raises(CallerError, match="is an object"):
            await one.run({}, "thread")
    assert here.shown() == []


async def test_nobody_answered_is_no_answer_and_the_question_can_be_asked_again(here: Office) -> None:
    async with asking(here.folder, "Which version?") as graph:
        async with door(here, graph, wait="1s") as one:
            for number in (1, 2):
                with pytest.raises(Unanswered) as caught:
                    await one.resume("thread") if number == 2 else await one.run({}, "thread")
                assert caught.value.outcome.status == "timed_out"
        async with door(here, graph, wait="1s", unanswered=lambda error: error.outcome.status) as other:
            assert await other.resume("thread") == {"answers": ["timed_out"]}
    assert done(here) == ["timed_out"]


async def test_a_timeout_applies_the_defaults_of_a_schema_and_is_no_answer(here: Office) -> None:
    schema = {"type": "object", "properties": {"count": {"type": "integer", "default": 3}}, "required": ["count"]}
    async with (
        asking(here.folder, "How many?", schema=schema) as graph,
        door(here, graph, wait="1s", on_timeout="default") as one,
    ):
        with pytest.raises(Unanswered) as caught:
            await one.run({}, "thread")
    outcome = caught.value.outcome
    assert (outcome.status, outcome.answers) == ("timed_out", ())
    assert [one.labels for one in outcome.fallback] == [("3",)]
    assert await here.settled("“3” applies, as announced.")


async def test_a_question_without_a_default_is_only_reported_and_can_halt(here: Office) -> None:
    async with asking(here.folder, "Which version?") as graph:
        for action, halted in (("default", False), ("halt", True)):
            async with door(here, graph, wait="1s", on_timeout=action) as one:
                with pytest.raises(Unanswered) as caught:
                    await one.resume("thread") if halted else await one.run({}, "thread")
            assert (caught.value.outcome.fallback, caught.value.outcome.halted) == ((), halted)


async def test_a_lost_caller_settles_nothing_and_the_next_one_gets_the_answer(stored_office: Office) -> None:
    office = stored_office
    first = await program(office, 'run({}, "thread")')
    await office.card("Which version?")
    await first.kill()
    second = await program(office, 'resume("thread")')
    await office.fill("ada", WRITE, "1.4.2", "Which version?")
    assert await second.ended() == (0, "{'answers': ['1.4.2']}\n")
    third = await program(office, 'resume("thread")')
    assert await third.ended() == (0, "{'answers': ['1.4.2']}\n")
    assert (len(office.shown()), done(office)) == (1, ["1.4.2"])


async def test_what_was_answered_while_nobody_ran_is_found(stored_office: Office) -> None:
    office = stored_office
    await office.bot()
    first = await program(office, 'run({}, "thread")')
    await office.card("Which version?")
    waiting = await program(office, "list_waiting()")
    assert await waiting.ended() == (0, "('thread',)\n")
    await first.kill()
    await office.fill("ada", WRITE, "1.4.2", "Which version?")
    await office.settled("Which version?")
    answered = await program(office, "list_answered()")
    assert await answered.ended() == (0, "('thread',)\n")
    second = await program(office, 'resume("thread")')
    assert await second.ended() == (0, "{'answers': ['1.4.2']}\n")
    none = await program(office, "list_answered()")
    assert await none.ended() == (0, "()\n")
    assert done(office) == ["1.4.2"]


async def test_a_worker_continues_what_people_answer_while_nobody_else_waits(
    stored_office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No bot runs, so the worker receives the answer as well. What another process waits for is left to that one."""
    office = stored_office
    monkeypatch.setattr(resume_worker, "GRACE_SECONDS", 1.0)
    lost = await program(office, 'run({}, "lost")')
    await office.card("Which version?")
    await lost.kill()
    settle_in(office, monkeypatch)
    elsewhere = office.folder / "elsewhere"
    elsewhere.mkdir()
    async with (
        asking(office.folder, "Which version?") as graph,
        asking(elsewhere, "Which region?") as other,
        door(office, graph) as one,
        door(office, other) as two,
    ):
        own = asyncio.create_task(two.run({}, "own"))
        await office.card("Which region?")
        resumed: list[str] = []

        async def resume(thread: str) -> None:
            resumed.append(thread)
            await one.resume(thread)

        working = asyncio.create_task(one.work(resume))
        await office.fill("ada", WRITE, "eu", "Which region?")
        await office.fill("ada", WRITE, "1.4.2", "Which version?")
        assert await own == {"answers": ["eu"]}
        await office.until(lambda: done(office) == ["1.4.2"])
        working.cancel()
        await asyncio.wait([working])
        assert working.cancelled()
    assert resumed == ["lost"]


async def test_a_run_that_fails_does_not_end_the_worker(
    here: Office, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(resume_worker, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(resume_worker, "RETRY_SECONDS", 0.0)
    async with asking(here.folder, "Which version?") as graph, door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.card("Which version?")
        running.cancel()
        await asyncio.wait([running])
        await here.fill("ada", WRITE, "1.4.2", "Which version?")
        tries = 0

        async def resume(thread: str) -> None:
            nonlocal tries
            tries += 1
            if tries == 1:
                raise ValueError("the program has a defect")
            await one.resume(thread)

        working = asyncio.create_task(one.work(resume))
        await here.until(lambda: done(here) == ["1.4.2"])
        working.cancel()
        await asyncio.wait([working])
    assert tries == 2
    assert "thread failed after it was continued" in caplog.text


async def test_a_question_that_changed_meanwhile_is_asked_again(here: Office) -> None:
    versions = iter(["Deploy 1.4?", *["Deploy 1.5?"] * 9])
    async with asking(here.folder, "Ready?", lambda: next(versions)) as graph, door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.card("Deploy 1.4?")
        # The graph runs all waiting nodes again when one of them gets its answer.
        await here.fill("ada", WRITE, "ready", "Ready?")
        await here.settled("Deploy 1.4?", "since the call has changed")
        await here.fill("ada", WRITE, "yes to 1.5", "Deploy 1.5?")
        result: Any = await running
    assert sorted(result["answers"]) == ["ready", "yes to 1.5"]


async def test_a_question_that_the_graph_no_longer_asks_is_withdrawn(here: Office) -> None:
    async with asking(here.folder, "Which version?") as graph, door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.card("Which version?")
        await cancel(running)
        assert await one.list_waiting() == ("thread",)
        await graph.aupdate_state(THREAD, {"answers": []}, as_node="node 0")
        await one.resume("thread")
        await here.settled("Which version?", "no longer waits")
        assert await one.list_waiting() == ()


@pytest.mark.parametrize("lost", ["record", "forget"])
async def test_a_lost_caller_hides_no_question_that_the_graph_no_longer_asks(
    here: Office, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """The caller is lost before the hand-over names the ask, or while it withdraws the question."""

    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    async with asking(here.folder, "Which version?") as graph, door(here, graph) as one:
        with monkeypatch.context() as patch:
            patch.setattr(HandOvers, lost, never)
            asked = asyncio.create_task(one.run({}, "thread"))
            await here.card("Which version?")
            await cancel(asked)
            await graph.aupdate_state(THREAD, {"answers": []}, as_node="node 0")
            if lost == "forget":
                withdrawing = asyncio.create_task(one.resume("thread"))
                await here.settled("Which version?", "no longer waits")
                await cancel(withdrawing)
        assert await one.list_waiting() == ("thread",)
        await one.resume("thread")
        await here.settled("Which version?", "no longer waits")
        assert await one.list_waiting() == ()


async def cancel(task: asyncio.Task[object]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_graph_without_a_checkpointer_cannot_wait(here: Office) -> None:
    async with asking(here.folder, "Which version?", durable=False) as graph:
        with pytest.raises(CallerError, match="no checkpointer"):
            door(here, graph)
