"""The card says that no program waits for the answer: once the process is killed, or the call is dropped."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from mcp import MCPError

from askback.client.presence import PAUSE_SECONDS
from e2e.ask.office import Office

from .client import agent
from .environment import settle_in
from .graphs import asking as asking_graph
from .http_caller import QUESTION, caller
from .langgraph_programs import door as langgraph_door
from .looking_bot import looking_bot
from .tasks_client import TasksClient
from .waits import AWAY, GONE, pass_time, reads, run, waited_for

LIBRARY = """
import askback
print(askback.ask("Deploy 1.4.2?", to="{platform}:#deploys", options=("Yes", "No"), approvers=("anyone",)).status)
"""


async def test_a_killed_command_is_missed_and_the_same_command_is_back(stored_office: Office) -> None:
    office = stored_office
    await looking_bot(office)
    first = await office.ask("--key", "1.4.2")
    await office.card()
    await waited_for(office)
    posts = len(office.shown())
    await first.kill()
    pass_time(office)
    assert "Deploy 1.4.2?" in await reads(office, AWAY)

    second = await office.ask("--key", "1.4.2")
    await reads(office, "Deploy 1.4.2?", without=AWAY)
    assert len(office.shown()) == posts, "the card was edited, and nobody was notified"
    await office.click("ada", "Yes")
    assert (await second.outcome())["answer"] == "Yes"
    assert AWAY not in await office.settled("Deploy 1.4.2?")


async def test_an_answer_that_is_given_while_nobody_waits_is_kept(office: Office) -> None:
    await looking_bot(office)
    first = await office.ask("--key", "1.4.2")
    await office.card()
    await waited_for(office)
    await first.kill()
    pass_time(office)
    await reads(office, AWAY)
    await office.click("ada", "No")
    assert AWAY not in await office.settled("Deploy 1.4.2?")
    second = await office.ask("--key", "1.4.2")
    assert (await second.outcome(3))["answer"] == "No"


async def test_nobody_receives_an_answer_to_a_program_that_gave_no_key(office: Office) -> None:
    await looking_bot(office)
    file = office.folder / "program.py"
    file.write_text(LIBRARY.format(platform=office.platform))
    process = await office.start(program=file)
    await office.card()
    await waited_for(office)
    await process.kill()
    pass_time(office)
    await reads(office, GONE)


async def test_dropped_calls_over_http_are_missed_and_those_that_never_waited_are_not(stored_office: Office) -> None:
    office = stored_office
    await looking_bot(office)
    async with caller(office) as http:
        asked = [
            await http.ask(0, None, **(QUESTION | {"question": f"Question {name}?"}))
            for name in ("poll", "stream", "alone")
        ]
        polling = asyncio.create_task(http.get(asked[0]["id"], 60))
        stream = await http.open("GET", f"/v1/asks/{asked[1]['id']}/events")
        await waited_for(office, 2)
        before = dict(run(office, "SELECT ask_id, waits_until FROM waits"))
        polling.cancel()
        with suppress(asyncio.CancelledError):
            await polling
        stream.close()

        def have_ended() -> bool:
            now = dict(run(office, "SELECT ask_id, waits_until FROM waits"))
            return all(now[ask] < until for ask, until in before.items())

        await office.until(have_ended)
        pass_time(office)
        await reads(office, "Question poll?", AWAY)
        await reads(office, "Question stream?", AWAY)
        await reads(office, "Question alone?", without=AWAY)

        polling = asyncio.create_task(http.get(asked[0]["id"], 60))
        await reads(office, "Question poll?", without=AWAY)
        await office.click("ada", "Yes", "Question poll?")
        assert (await polling)["answer"] == "Yes"
        assert [one[0] for one in run(office, "SELECT ask_id FROM waits WHERE told")] == [asked[1]["id"]]


async def test_an_mcp_client_that_has_gone_is_missed(office: Office) -> None:
    await looking_bot(office)
    async with agent(office, "--call-wait", "10m") as one:
        asking = asyncio.create_task(one.deploy())
        await office.card()
        await waited_for(office)
    with suppress(MCPError, asyncio.CancelledError):
        await asking
    await one.process.ended()
    ((seconds,),) = run(office, "SELECT (waits_until - (SELECT max(created_at) FROM asks)) / 1000000 FROM waits")
    assert seconds < 90, "it said that it has gone"
    pass_time(office)
    await reads(office, "Deploy 1.4.2?", AWAY)
    async with agent(office, "--call-wait", "10m") as one:
        asking = asyncio.create_task(one.deploy())
        await reads(office, "Deploy 1.4.2?", without=AWAY)
        await office.click("ada", "Yes")
        assert (await asking)["answer"] == "Yes"


async def test_a_client_that_polls_its_task_counts_as_waiting(office: Office) -> None:
    await looking_bot(office)
    async with agent(office, mode="2026-07-28", extensions=(TasksClient(),)) as one:
        asking = asyncio.create_task(one.deploy())
        await office.card()
        await waited_for(office)
        await office.click("ada", "Yes")
        assert (await asking)["answer"] == "Yes"


async def test_a_run_of_a_framework_that_pauses_is_never_missed(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle_in(office, monkeypatch)
    async with asking_graph(office.folder, "Which version?") as graph, langgraph_door(office, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await office.card("Which version?")
        await asyncio.sleep(2 * PAUSE_SECONDS)
        assert run(office, "SELECT ask_id FROM waits") == []
        running.cancel()
        await asyncio.wait([running])
    assert run(office, "SELECT ask_id FROM waits") == []
