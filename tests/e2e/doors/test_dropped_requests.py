"""An HTTP client that closes the connection waits no longer, also if its protocol has another way to say so."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

import pytest

from e2e.ask.office import Office

from .http_agent import serve
from .old_client import APPROVAL, OPTIONS, QUESTION, old_client
from .waits import run, waited_for


async def drop(call: asyncio.Task[str]) -> None:
    """Close the connection of a call, and tell the server nothing else."""
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call


async def ends_to_wait(office: Office, before: int) -> None:
    """Wait until the database knows that no caller waits for the question."""
    await office.until(lambda: run(office, "SELECT waits_until FROM waits")[0][0] < before)


@pytest.mark.parametrize("how", ["drop", "delete"])
async def test_a_client_with_a_session_that_is_gone_counts_as_waiting_no_longer(office: Office, how: str) -> None:
    await office.bot()
    _, address = await serve(office, *OPTIONS)
    async with old_client(address) as one:
        call = asyncio.create_task(one.call(QUESTION))
        await office.card()
        await waited_for(office)
        ((before,),) = run(office, "SELECT waits_until FROM waits")
        if how == "delete":
            await one.end()
        await drop(call)
        await ends_to_wait(office, before)
        await office.click("ada", "Yes")
        await office.settled("Deploy 1.4.2?", "Yes")
    async with old_client(address) as one:
        assert '"answer":"Yes"' in await one.call(QUESTION)
    assert len(office.shown()) == 1


async def test_an_equal_call_finds_the_approval_of_a_client_that_is_gone(office: Office) -> None:
    office.settings = {"ASKBACK_APPROVAL_REASONS": "none"}
    await office.bot()
    _, address = await serve(office, *OPTIONS)
    async with old_client(address) as one:
        call = asyncio.create_task(one.call(APPROVAL))
        await office.card("Run Bash?")
        await waited_for(office)
        ((before,),) = run(office, "SELECT waits_until FROM waits")
        await drop(call)
        await ends_to_wait(office, before)
    async with old_client(address) as one:
        call = asyncio.create_task(one.call(APPROVAL))
        await office.click("ada", "Approve", "Run Bash?")
        assert "allow" in await call
    assert len(office.shown()) == 1
    await office.until(lambda: run(office, "SELECT state FROM hand_overs") == [("acknowledged",)])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such filter")
async def test_a_client_that_vanishes_without_a_word_counts_as_waiting_no_longer(office: Office) -> None:
    """A machine that loses its power or its network closes no connection, and acknowledges nothing."""
    await office.bot()
    file = office.folder / "impatient.py"
    file.write_text(
        "from askback.network import connection_limits, socket_probes\n"
        "connection_limits.PROBE_SECONDS = socket_probes.PROBE_AGAIN_SECONDS = 1\n"
        "connection_limits.UNANSWERED_SECONDS = 2\n"
        "from askback.cli.main import main\n"
        "main()\n"
    )
    _, address = await serve(office, *OPTIONS, program=file)
    async with old_client(address) as one:
        call = asyncio.create_task(one.call(QUESTION))
        await office.card()
        await waited_for(office)
        ((before,),) = run(office, "SELECT waits_until FROM waits")
        one.vanish()
        await ends_to_wait(office, before)
        await drop(call)
