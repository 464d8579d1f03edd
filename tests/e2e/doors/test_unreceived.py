"""The card of an answer says that no program has received it, once its caller was killed, and until one has."""

from __future__ import annotations

import asyncio
import signal

import aiohttp
import pytest

from e2e.ask.office import Office

from .ended_servers import end_during_permit
from .http_caller import HttpCaller, serve, write_callers
from .langgraph_programs import done, program
from .looking_bot import looking_bot
from .waits import LOST, UNRECEIVED, pass_time, run, waited_for

HOOK = {"hook_event_name": "PermissionRequest", "tool_name": "Bash", "session_id": "s", "tool_use_id": "toolu_1"}
CALL = {"command": "rm -r build"}


async def missed(office: Office, *words: str) -> None:
    """Let the time pass in which a program receives an answer, and wait until the card has these words."""
    await office.until(lambda: run(office, "SELECT id FROM asks WHERE status = 'answered'"))
    pass_time(office)
    await office.settled(*words)


async def corrected(office: Office, words: str, line: str) -> None:
    """Wait until the card no longer has a line, and check that no other card was posted."""
    await office.until(
        lambda: any(words in office.reads(one) and line not in office.reads(one) for one in office.shown())
    )
    assert len(office.shown()) == 1


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_card_of_an_approval_for_a_killed_server_says_that_nobody_received_it(
    stored_office: Office, transport: str
) -> None:
    office = stored_office
    office.settings |= {"ASKBACK_APPROVAL_REASONS": "none"}
    await looking_bot(office)
    await end_during_permit(office, transport, signal.SIGKILL)
    await office._processes[-1].ended()
    await office.click("ada", "Approve", "Run Bash?")
    await missed(office, "Run Bash?", "Approved", LOST)


async def test_the_same_hook_gets_the_approval_from_the_next_server_and_the_card_is_corrected(
    stored_office: Office,
) -> None:
    office = stored_office
    office.settings |= {"ASKBACK_APPROVAL_REASONS": "none"}
    await looking_bot(office)
    file = write_callers(office, first='scopes = ["permit"]\napprovers = "anyone"')
    async with aiohttp.ClientSession() as session:
        first, address = await serve(office, file=file)
        path, body = "/v1/hooks/claude-code", HOOK | {"tool_input": CALL}
        asking = asyncio.create_task(HttpCaller(session, address).request("POST", path, json=body))
        await office.card("Run Bash?")
        await waited_for(office)
        await first.kill()
        await asyncio.wait([asking])
        assert asking.exception() is not None
        await office.click("ada", "Approve", "Run Bash?")
        await missed(office, "Run Bash?", "Approved", LOST)

        _, address = await serve(office, file=file)
        status, answer = await HttpCaller(session, address).request("POST", path, json=body)
    assert (status, answer["hookSpecificOutput"]["decision"]["behavior"]) == (200, "allow")
    await corrected(office, "Approved", LOST)
    await office.until(lambda: run(office, "SELECT state FROM hand_overs") == [("acknowledged",)])


async def test_the_same_question_gets_the_answer_from_the_next_server_and_the_card_is_corrected(
    office: Office,
) -> None:
    await looking_bot(office)
    async with aiohttp.ClientSession() as session:
        first, address = await serve(office)
        asking = asyncio.create_task(HttpCaller(session, address).ask(60))
        await office.card()
        await waited_for(office)
        await first.kill()
        await asyncio.wait([asking])
        assert asking.exception() is not None
        await office.click("ada", "Yes")
        await missed(office, "Deploy 1.4.2?", UNRECEIVED)

        _, address = await serve(office)
        assert (await HttpCaller(session, address).ask(60))["answer"] == "Yes"
        await corrected(office, "Deploy 1.4.2?", UNRECEIVED)
        # It was given once: the same request is a new question.
        assert (await HttpCaller(session, address).ask())["status"] == "open"


async def test_the_same_command_gets_the_answer_and_the_card_is_corrected(stored_office: Office) -> None:
    office = stored_office
    await looking_bot(office)
    first = await office.ask("--key", "1.4.2")
    await office.card()
    await waited_for(office)
    await first.kill()
    await office.click("ada", "Yes")
    await missed(office, "Deploy 1.4.2?", UNRECEIVED)
    second = await office.ask("--key", "1.4.2")
    assert (await second.outcome())["answer"] == "Yes"
    await corrected(office, "Deploy 1.4.2?", UNRECEIVED)


async def test_a_run_of_a_framework_is_continued_by_the_next_process_and_the_card_is_corrected(
    stored_office: Office,
) -> None:
    office = stored_office
    await looking_bot(office)
    first = await program(office, 'run({}, "thread")')
    await office.card("Which version?")
    await office.until(lambda: run(office, "SELECT ask_id FROM hand_overs WHERE ask_id <> ''"))
    await first.kill()
    await office.fill("ada", "Write an answer…", "1.4.2", "Which version?")
    await missed(office, "Which version?", UNRECEIVED)
    second = await program(office, 'resume("thread")')
    await second.ended()
    assert done(office) == ["1.4.2"]
    await corrected(office, "Which version?", UNRECEIVED)
