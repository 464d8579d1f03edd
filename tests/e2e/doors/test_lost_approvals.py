"""An approval that no later call can receive: its card says so, and the same call asks again without a second card."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import Any

import aiohttp
import pytest

from e2e.ask.office import Office, Process

from .ended_servers import end_during_permit
from .http_caller import HttpCaller, caller, serve, write_callers
from .looking_bot import looking_bot
from .waits import AWAY, GONE, pass_time, reads, run, waited_for

HOOK = {"hook_event_name": "PermissionRequest", "tool_name": "Bash", "session_id": "s"}
CALL = {"command": "rm -r build"}
CALLERS = 'scopes = ["permit"]\napprovers = "anyone"'
ALLOWED = {
    "hookSpecificOutput": {
        "hookEventName": "PermissionRequest", "decision": {"behavior": "allow", "updatedInput": CALL}
    }
}  # fmt: skip
ENDS = pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])


def hook(http: HttpCaller, **more: str) -> asyncio.Task[tuple[int, Any]]:
    """Send the hook as Claude Code does, which names no call."""
    body = HOOK | {"tool_input": CALL} | more
    return asyncio.create_task(http.request("POST", "/v1/hooks/claude-code", json=body))


async def give_up(office: Office, *asking: asyncio.Task[Any]) -> None:
    """Let callers give up, and wait until the card says that none waits."""
    before = max(until for (until,) in run(office, "SELECT waits_until FROM waits"))
    for one in asking:
        one.cancel()
        with suppress(asyncio.CancelledError):
            await one
    await office.until(lambda: all(until < before for (until,) in run(office, "SELECT waits_until FROM waits")))
    pass_time(office)
    await reads(office, AWAY)


async def finish(office: Office, process: Process, number: int) -> None:
    """End a server. If it is killed, let the time pass until it counts as gone."""
    process.signal(number)
    await process.ended()
    if number == signal.SIGKILL:
        pass_time(office, of="kept_until")


@ENDS
async def test_the_card_of_an_approval_says_so_once_no_call_can_receive_it(
    stored_office: Office, end: signal.Signals
) -> None:
    office = stored_office
    office.settings |= {"ASKBACK_APPROVAL_REASONS": "none"}
    await looking_bot(office)
    file = write_callers(office, first=CALLERS)
    async with aiohttp.ClientSession() as session:
        first, address = await serve(office, file=file)
        asking = hook(HttpCaller(session, address))
        await office.card("Run Bash?")
        await waited_for(office)
        await give_up(office, asking)
        await finish(office, first, end)
        await reads(office, "Run Bash?", GONE)

        _, address = await serve(office, file=file)
        asking = hook(HttpCaller(session, address))
        await office.settled("Run Bash?", GONE)
        await office.click("ada", "Approve", "Run Bash?")
        assert await asking == (200, ALLOWED)
    assert len(office.shown()) == 2


async def test_the_same_hook_attaches_to_the_card_while_the_server_runs_and_gets_the_approval_once(
    stored_office: Office,
) -> None:
    office = stored_office
    office.settings |= {"ASKBACK_APPROVAL_REASONS": "none"}
    await looking_bot(office)
    async with caller(office, file=write_callers(office, first=CALLERS)) as one:
        asking = hook(one)
        await office.card("Run Bash?")
        await waited_for(office)
        await give_up(office, asking)
        asking = hook(one)
        await reads(office, "Run Bash?", without=AWAY)
        await office.click("ada", "Approve", "Run Bash?")
        assert await asking == (200, ALLOWED)
        assert len(office.shown()) == 1
        asking = hook(one)
        await office.until(lambda: len(office.shown()) == 2)
        asking.cancel()


async def test_a_hook_that_names_its_call_finds_the_card_of_an_earlier_server_again(office: Office) -> None:
    office.settings |= {"ASKBACK_APPROVAL_REASONS": "none"}
    await looking_bot(office)
    file = write_callers(office, first=CALLERS)
    async with aiohttp.ClientSession() as session:
        first, address = await serve(office, file=file)
        asking = hook(HttpCaller(session, address), tool_use_id="toolu_1")
        await office.card("Run Bash?")
        await waited_for(office)
        first.signal(signal.SIGTERM)
        await asyncio.wait([asking])
        await first.ended()
        await reads(office, "Run Bash?", GONE)

        _, address = await serve(office, file=file)
        asking = hook(HttpCaller(session, address), tool_use_id="toolu_1")
        await reads(office, "Run Bash?", without=GONE)
        await office.click("ada", "Approve", "Run Bash?")
        assert await asking == (200, ALLOWED)
    assert len(office.shown()) == 1


async def test_each_of_two_equal_hooks_finds_a_card_again(office: Office) -> None:
    office.settings |= {"ASKBACK_APPROVAL_REASONS": "none"}
    await looking_bot(office)
    async with caller(office, file=write_callers(office, first=CALLERS)) as one:
        asking: list[asyncio.Task[tuple[int, Any]]] = []
        for number in (1, 2):
            asking.append(hook(one))
            await office.until(lambda number=number: len(office.shown()) == number)
        await waited_for(office, 2)
        await give_up(office, *asking)
        for _ in range(2):
            again = hook(one)
            await office.click("ada", "Approve", "Run Bash?")
            assert await again == (200, ALLOWED)
    assert len(office.shown()) == 2


@ENDS
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_an_approval_for_permit_is_lost_with_the_server(
    office: Office, transport: str, end: signal.Signals
) -> None:
    await looking_bot(office)
    await end_during_permit(office, transport, end)
    await office._processes[-1].ended()
    if end == signal.SIGKILL:
        pass_time(office)
    await reads(office, "Run Bash?", GONE)
