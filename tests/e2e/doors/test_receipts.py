"""An answer counts as received once the response that has it was written, whatever is killed in between."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import suppress
from typing import Any

import aiohttp
import pytest

from e2e.ask.office import Office

from . import client, http_agent, http_caller
from .client import Agent
from .http_caller import HttpCaller
from .killed_servers import DOORS, SERVER, Door, press_until_killed
from .tasks_client import TasksClient
from .waits import run

BEFORE_RESPONSE, BEFORE_RECORD = "result", "before:receive_hand_over"
"""Windows between the answer and the response, and between the response and the record of its receipt."""
CALL = {"tool_name": "Bash", "input": {"command": "rm -r build"}}
UNKNOWN = "was interrupted while it acted on the answer"
OPTIONS = [{"label": "Yes", "description": "Now."}, {"label": "No", "description": "Never."}]
QUESTIONS = [{"question": "Deploy 1.4.2?", "header": "Deploy", "options": OPTIONS, "multiSelect": False}]


@pytest.fixture(params=DOORS, ids=lambda one: f"{one.transport}-{one.mode}")
def door(request: pytest.FixtureRequest) -> Door:
    return request.param


async def lose(office: Office, door: Door, call: Any, *options: str, window: str, label: str = "Yes") -> Any:
    """Let a server be killed in a window after people have answered; return what the client has received."""
    words = "Run Bash?" if label == "Approve" else "Deploy 1.4.2?"
    received = None
    try:
        async with door.open(office, *options, window=window) as one:
            await one.client.list_tools()  # the client checks a result against it, and could not ask for it later
            asking = asyncio.create_task(call(one))
            try:
                await press_until_killed(office, one.process, label, words)
            finally:
                await asyncio.wait([asking])
            received = asking.result()
    except (Exception, BaseExceptionGroup):
        # The client tells in several ways that its server was killed.
        if (await office._processes[-1].ended())[0] != -signal.SIGKILL:
            raise
    assert (await office._processes[-1].ended())[0] == -signal.SIGKILL
    return received


async def deploy(one: Agent) -> dict[str, Any]:
    return await one.deploy()


async def permit(one: Agent, call_id: str | None = None) -> dict[str, Any]:
    """Call `permit`; return its answer."""
    result = await one.call_raw("permit", CALL if call_id is None else CALL | {"tool_use_id": call_id})
    return json.loads(result.content[0].text)


async def asks_again(office: Office, one: Agent) -> None:
    """Check that the same call is a new question."""
    count = len(office.shown())
    asking = asyncio.create_task(one.deploy())
    await office.until(lambda: len(office.shown()) == count + 1)
    # A server that was killed may not have drawn the end of the card before it.
    async with asyncio.timeout(40):
        while True:
            if await office.press("ben", office.shown()[-1], "No"):
                break
            await asyncio.sleep(0.05)
    assert (await asking)["status"] == "refused"


async def test_an_answer_that_is_lost_with_the_server_reaches_the_same_call_once(
    stored_office: Office, door: Door
) -> None:
    office = stored_office
    assert await lose(office, door, deploy, window=BEFORE_RESPONSE) is None
    async with door.open(office) as one:
        assert (await one.deploy())["answer"] == "Yes"
        assert len(office.shown()) == 1
        await asks_again(office, one)


async def test_the_answers_to_claudes_questions_are_not_lost_either(office: Office) -> None:
    async def ask(one: Agent) -> dict[str, Any]:
        return await one.call("AskUserQuestion", questions=QUESTIONS)

    door = DOORS[0]
    assert await lose(office, door, ask, window=BEFORE_RESPONSE) is None
    async with door.open(office) as one:
        assert (await ask(one))["answers"] == {"Deploy 1.4.2?": "Yes"}
    assert len(office.shown()) == 1


async def test_an_answer_that_was_received_but_not_recorded_is_given_again_and_asks_nobody(
    office: Office, door: Door
) -> None:
    received = await lose(office, door, deploy, window=BEFORE_RECORD)
    assert received["answer"] == "Yes"
    async with door.open(office) as one:
        assert await one.deploy() == received
        assert len(office.shown()) == 1
        await asks_again(office, one)


async def test_what_was_received_is_a_new_question_for_the_next_server(office: Office, door: Door) -> None:
    async with door.open(office) as one:
        asking = asyncio.create_task(one.deploy())
        await office.click("ada", "Yes")
        assert (await asking)["answer"] == "Yes"
    async with door.open(office) as one:
        await asks_again(office, one)


async def test_an_answer_to_a_call_that_its_client_gave_up_reaches_the_next_server(office: Office, door: Door) -> None:
    await office.bot()
    async with door.open(office) as one:
        asking = asyncio.create_task(one.deploy())
        await office.card()
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
        await office.click("ada", "Yes")
        await office.settled("Deploy 1.4.2?", "Yes")
    async with door.open(office) as one:
        assert (await one.deploy())["answer"] == "Yes"
        assert len(office.shown()) == 1


async def test_what_people_answer_while_no_server_runs_reaches_the_same_call(stored_office: Office) -> None:
    office = stored_office
    await office.bot()
    async with DOORS[0].open(office, "--call-wait", "1s") as one:
        assert (await one.deploy())["status"] == "open"
    await office.click("ada", "Yes")
    await office.settled("Deploy 1.4.2?", "Yes")
    async with DOORS[0].open(office) as one:
        assert (await one.deploy())["answer"] == "Yes"
        assert len(office.shown()) == 1
        await asks_again(office, one)


async def test_a_question_that_an_earlier_release_asked_is_found_and_its_answer_is_kept(stored_office: Office) -> None:
    office = stored_office
    async with DOORS[0].open(office, "--call-wait", "1s") as one:
        assert (await one.deploy())["status"] == "open"
    run(office, "DELETE FROM hand_overs")
    await lose(office, DOORS[0], deploy, window=BEFORE_RESPONSE)
    async with DOORS[0].open(office) as one:
        assert (await one.deploy())["answer"] == "Yes"
        assert len(office.shown()) == 1
        await asks_again(office, one)


@pytest.mark.parametrize(("hours", "is_given"), [(23, True), (25, False)])
async def test_an_answer_waits_a_day_for_the_same_call(stored_office: Office, hours: int, *, is_given: bool) -> None:
    office = stored_office
    await lose(office, DOORS[0], deploy, window=BEFORE_RESPONSE)
    run(office, f"UPDATE asks SET settled_at = settled_at - {hours * 3_600_000_000}")
    async with DOORS[0].open(office) as one:
        if is_given:
            assert (await one.deploy())["answer"] == "Yes"
            assert len(office.shown()) == 1
        else:
            await asks_again(office, one)


async def test_two_equal_calls_at_once_lose_no_answer(office: Office) -> None:
    door = DOORS[0]
    await lose(office, door, deploy, window=BEFORE_RESPONSE)
    async with door.open(office, "--call-wait", "1s") as one:
        found = await asyncio.gather(one.deploy(), one.deploy())
    # The second one may begin after the first one has received the answer.
    assert {one["status"] for one in found} <= {"answered", "open"}
    assert "Yes" in [one.get("answer") for one in found]


async def test_nobody_else_gets_a_lost_answer(office: Office) -> None:
    door = Door("http")
    await lose(office, door, deploy, "--call-wait", "60s", window=BEFORE_RESPONSE)
    async with door.open(office, "--call-wait", "1s", token=http_agent.SECOND) as other:
        assert (await other.deploy())["status"] == "open"
    async with Door("stdio").open(office, "--call-wait", "1s") as other:
        assert (await other.deploy())["status"] == "open"
        # Nor does a call with other options, or in another order.
        other_options = {"question": "Deploy 1.4.2?", "options": ["No", "Yes"]}
        assert (await other.call("ask", **other_options))["status"] == "open"
    async with door.open(office, "--who", "@ada", "--call-wait", "1s") as strict:
        assert (await strict.deploy())["status"] == "open", "other people answer it"
    async with door.open(office) as one:
        assert (await one.deploy())["answer"] == "Yes"


async def test_a_task_whose_result_was_received_is_a_new_question(office: Office) -> None:
    async with client.agent(office, extensions=[TasksClient()]) as one:
        asking = asyncio.create_task(one.deploy())
        await office.click("ada", "Yes")
        assert (await asking)["answer"] == "Yes"
    async with DOORS[0].open(office) as one:
        await asks_again(office, one)


async def test_an_approval_with_an_unclear_receipt_is_told_as_unknown_and_given_to_no_other_call(
    stored_office: Office,
) -> None:
    office, door = stored_office, DOORS[0]
    office.settings = office.settings | {"ASKBACK_APPROVAL_REASONS": "none"}
    options = ("--permit", "--approvers", "anyone", "--call-wait", "60s")
    await lose(office, door, permit, *options, window="after:claim_hand_overs", label="Approve")
    run(office, "UPDATE hand_overs SET claimed_until = claimed_until - 60000000")
    async with door.open(office, *options) as one:
        await office.until(lambda: UNKNOWN in office.picture())
        asking = asyncio.create_task(permit(one))
        await office.click("ada", "Deny", "Run Bash?")
        assert (await asking)["behavior"] == "deny"
    assert sum("Run Bash?" in office.reads(card) for card in office.shown()) == 2
    assert run(office, "SELECT state FROM hand_overs WHERE claimed_at IS NOT NULL") == [("unknown",)]


SLOW = """
import asyncio

from askback.cli.main import main
from askback.doors import door, receipt_records
from askback.store.queries import hand_overs

hand_overs.CLAIM_SECONDS = receipt_records.CLAIM_SECONDS = 0.5
decide = door.Door._decide

async def decide_slowly(self, *given):
    found = await decide(self, *given)
    await asyncio.sleep(60)
    return found

door.Door._decide = decide_slowly
main()
"""


async def test_an_approval_whose_client_gives_up_before_the_response_is_told_as_unknown(office: Office) -> None:
    office.settings = {"ASKBACK_APPROVAL_REASONS": "none"}
    program = office.folder / "slow.py"
    program.write_text(SLOW, encoding="utf-8")
    async with client.agent(office, "--permit", "--approvers", "anyone", "--call-wait", "60s", program=program) as one:
        asking = asyncio.create_task(permit(one))
        await office.click("ada", "Approve", "Run Bash?")
        await office.until(lambda: run(office, "SELECT state FROM hand_overs") == [("claimed",)])
        asking.cancel()
        await office.until(lambda: UNKNOWN in office.picture())
    assert run(office, "SELECT state FROM hand_overs") == [("unknown",)]


async def test_an_approval_that_another_call_has_received_is_not_given_after_a_restart(office: Office) -> None:
    office.settings = {"ASKBACK_APPROVAL_REASONS": "none"}
    options = ("--permit", "--approvers", "anyone", "--call-wait", "1s")
    async with DOORS[0].open(office, *options) as one:
        assert (await permit(one, "toolu_1"))["behavior"] == "deny"  # nobody has decided yet
        await office.click("ada", "Approve", "Run Bash?")
        await office.settled("Run Bash?")
        assert (await permit(one, "toolu_2"))["behavior"] == "allow"
    async with DOORS[0].open(office, *options) as one:
        assert "given to an earlier call" in (await permit(one, "toolu_1"))["message"]
    assert len(office.shown()) == 1


async def test_a_program_without_a_key_gets_an_answer_that_was_lost_with_the_server(stored_office: Office) -> None:
    office = stored_office
    file = http_caller.write_callers(office)
    async with aiohttp.ClientSession() as session:
        process, address = await http_caller.serve(office, file=file, program=SERVER, RIG_WINDOW=BEFORE_RESPONSE)
        asking = asyncio.create_task(HttpCaller(session, address).ask(wait=60))
        await press_until_killed(office, process, "Yes")
        with suppress(aiohttp.ClientError):
            await asking
        _, address = await http_caller.serve(office, file=file)
        one = HttpCaller(session, address)
        assert (await one.ask())["answer"] == "Yes"
        assert (await one.ask())["status"] == "open"
