"""`askback mcp --http` ends: each waiting call learns that its question stays open, and the log has no errors."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import suppress
from typing import Any

import httpx2
import pytest

from e2e.ask.office import Office

from .http_agent import FIRST, agent, serve
from .old_client import APPROVAL, OPTIONS, QUESTION, old_client


@pytest.mark.parametrize(("end", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_that_waits_when_the_server_ends_returns_the_open_question(
    office: Office, mode: str, end: signal.Signals, code: int
) -> None:
    process, address = await serve(office, "--call-wait", "10m")
    found: dict[str, Any] = {}
    with suppress(BaseExceptionGroup, httpx2.ConnectError):  # the client says good-bye to a server that has ended
        async with agent(process, address, FIRST, mode) as one:
            await one.client.list_tools()  # otherwise, it does that after the call
            asking = asyncio.create_task(one.deploy())
            await office.card()
            process.signal(end)
            found = await asking
    assert (found["status"], found["question"]) == ("open", "Deploy 1.4.2?")
    assert (await process.ended())[0] == code
    assert "ERROR" not in process.err, process.err
    assert "Traceback" not in process.err
    process, address = await serve(office)
    async with agent(process, address, FIRST, mode) as one:
        asking = asyncio.create_task(one.call("wait", id=found["id"]))
        await office.click("ada", "Yes")
        assert (await asking)["answer"] == "Yes"
    assert len(office.shown()) == 1


async def test_an_approval_that_waits_when_the_server_ends_is_told_as_undecided(office: Office) -> None:
    process, address = await serve(office, *OPTIONS)
    async with old_client(address) as one, one.listen():
        asking = asyncio.create_task(one.call(APPROVAL))
        question = asyncio.create_task(one.call(QUESTION))
        await office.card("Run Bash?")
        await office.card()
        process.signal(signal.SIGTERM)
        (line,) = [line for line in (await asking).splitlines() if line.startswith("data: {")]
        (text,) = json.loads(line.removeprefix("data: "))["result"]["content"]
        assert json.loads(text["text"])["message"].startswith("Nobody has decided yet whether Bash may run")
        assert '"status":"open"' in await question
    assert (await process.ended())[0] == 0
    assert "ERROR" not in process.err, process.err


async def test_a_server_ends_at_once_while_a_client_only_listens(office: Office) -> None:
    process, address = await serve(office)
    async with old_client(address) as one, one.listen():
        process.signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            assert (await process.ended())[0] == 0
    assert "ERROR" not in process.err, process.err
