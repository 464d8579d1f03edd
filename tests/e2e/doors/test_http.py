"""`askback mcp --http`: agents on other machines, each with its own token."""

from __future__ import annotations

import asyncio
import io
import json
import re
from contextlib import AsyncExitStack, suppress
from typing import Any

import aiohttp
import pytest

from askback.doors.mcp_sessions import SESSIONS_EACH
from e2e.ask.office import Office

from .http_agent import FIRST, HELLO, INITIALIZE, SECOND, agent, serve


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_each_token_is_an_agent_of_its_own(office: Office, mode: str) -> None:
    process, address = await serve(office, "--call-wait", "1s")
    async with agent(process, address, FIRST, mode) as one, agent(process, address, SECOND, mode) as other:
        mine = await one.deploy()
        assert mine["status"] == "open"
        assert (await other.error("wait", id=mine["id"])).startswith("You have no question")
        assert (await other.call("pending"))["pending"] == []
        await office.click("ada", "Yes")
        assert (await one.call("wait", id=mine["id"]))["answer"] == "Yes"


async def test_without_a_valid_token_or_from_a_web_page_nothing_is_done(office: Office) -> None:
    _, address = await serve(office)
    right = {"Authorization": f"Bearer {FIRST}", "Accept": "application/json, text/event-stream"}
    async with aiohttp.ClientSession() as session:

        async def status(headers: dict[str, str], **more: Any) -> int:
            async with session.post(address, headers=headers, **({"json": HELLO} | more)) as answer:
                return answer.status

        for wrong in (
            {},
            {"Authorization": FIRST},
            {"Authorization": "Bearer "},
            {"Authorization": f"Bearer {FIRST}x"},
        ):
            assert await status(wrong) == 401
        assert await status(right | {"Host": "evil.example"}) == 421
        assert await status(right | {"Origin": "https://evil.example"}) == 403
        large = json.dumps(HELLO | {"params": {"x": "x" * 5_000_000}}).encode()
        kind = {"Content-Type": "application/json"}
        assert await status(right | kind, json=None, data=io.BytesIO(large)) == 413
        assert await status(kind, json=None, data=io.BytesIO(large)) == 401
    assert office.shown() == []


async def test_sessions_that_an_agent_leaves_behind_are_its_own_loss(office: Office) -> None:
    process, address = await serve(office, "--call-wait", "30s")
    async with agent(process, address, FIRST, "legacy") as busy, aiohttp.ClientSession() as session:
        waiting = asyncio.create_task(busy.deploy())
        await office.card()
        for token in (FIRST, SECOND):
            headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
            opened: list[str] = []
            for _ in range(2 * SESSIONS_EACH + 5 if token == FIRST else 1):
                async with session.post(address, headers=headers, json=INITIALIZE) as answer:
                    assert answer.status == 200
                    opened.append(answer.headers["mcp-session-id"])
            ended: list[bool] = []
            for one in dict.fromkeys((opened[0], opened[-1])):
                async with session.post(address, headers=headers | {"mcp-session-id": one}, json=HELLO) as answer:
                    ended.append(answer.status == 404)
            assert ended == ([True, False] if token == FIRST else [False]), "the one that was used longest ago ends"
        await office.click("ada", "Yes")
        assert (await waiting)["answer"] == "Yes", "a session with an open call is not ended"


async def test_connections_without_a_request_lock_nobody_out(office: Office) -> None:
    process, address = await serve(office, "--call-wait", "30s")
    host, port = re.findall(r"http://(.+):(\d+)/", address)[0]
    async with AsyncExitStack() as stack:
        silent: list[asyncio.StreamReader] = []
        for _ in range(1100):
            reader, writer = await asyncio.open_connection(host, int(port))
            stack.callback(writer.close)
            writer.write(b"POST /mcp HTTP/1.1\r\nHost: x\r\nX: ")
            silent.append(reader)
        async with agent(process, address, FIRST) as one:
            waiting = asyncio.create_task(one.deploy())
            await office.card()
            async with asyncio.timeout(30):
                for reader in silent:
                    with suppress(ConnectionError):
                        await reader.read()
            await office.click("ada", "Yes")
            assert (await waiting)["answer"] == "Yes"


async def test_what_would_be_open_to_others_does_not_start(office: Office) -> None:
    common = ("mcp", "--to", f"{office.platform}:#deploys", "--who", "anyone", "--http")
    said = await (await office.start(*common, "0.0.0.0:0", ASKBACK_MCP_TOKENS=f"a:{FIRST}")).refused(2)
    assert "--allow-host NAME" in said
    said = await (await office.start(*common, "0")).refused(2)
    assert "Put lines NAME:TOKEN into a file" in said
    said = await (await office.start(*common, "0", ASKBACK_MCP_TOKENS="a:short")).refused(2)
    assert "so it could be guessed" in said
    assert "short\n" not in said


async def test_a_client_that_disconnects_settles_nothing(office: Office) -> None:
    process, address = await serve(office, "--call-wait", "30s")
    async with agent(process, address, FIRST) as one:
        asking = asyncio.create_task(one.deploy())
        await office.card()
        asking.cancel()
    async with agent(process, address, FIRST) as one:
        asking = asyncio.create_task(one.deploy())
        await office.click("ada", "Yes")
        assert (await asking)["answer"] == "Yes"
    assert len(office.shown()) == 1
