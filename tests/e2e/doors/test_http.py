"""`askback mcp --http`: agents on other machines, each with its own token."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from e2e.ask.office import Office, Process

from .client import Agent

FIRST, SECOND = "first-token-of-an-agent-1", "second-token-of-an-agent-2"
HELLO: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


async def serve(office: Office, *options: str) -> tuple[Process, str]:
    """Start a server; return it and its address."""
    tokens = office.folder / "tokens"
    tokens.write_text(f"first:{FIRST}\nsecond:{SECOND}\n")
    process = await office.start(
        "mcp",
        "--to",
        f"{office.platform}:#deploys",
        "--who",
        "anyone",
        "--http",
        "0",
        "--tokens",
        str(tokens),
        *options,
    )
    await process.said("Serving MCP at ")
    (address,) = re.findall(r"Serving MCP at (http\S+/mcp)\.", process.err)
    return process, address


@asynccontextmanager
async def agent(process: Process, address: str, token: str, mode: Any = "auto") -> AsyncGenerator[Agent]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        yield Agent(client, process)


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
