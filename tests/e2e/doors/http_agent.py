"""The library's own MCP client, connected to a real process of `askback mcp --http`."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from e2e.ask.office import Office, Process

from .client import Agent

FIRST, SECOND = "first-token-of-an-agent-1", "second-token-of-an-agent-2"
HELLO: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "pipeline", "version": "1"},
    },
}  # fmt: skip


async def serve(office: Office, *options: str, program: Path | None = None, **environment: str) -> tuple[Process, str]:
    """Start a server; return it and its address."""
    tokens = office.folder / "tokens"
    tokens.write_text(f"first:{FIRST}\nsecond:{SECOND}\n")
    process = await office.start(
        "mcp", "--to", f"{office.platform}:#deploys", "--who", "anyone", "--http", "0", "--tokens", str(tokens),
        *options, program=program, **environment,
    )  # fmt: skip
    await process.said("Serving MCP at ")
    (address,) = re.findall(r"Serving MCP at (http\S+/mcp)\.", process.err)
    return process, address


@asynccontextmanager
async def agent(process: Process, address: str, token: str, mode: Any = "auto") -> AsyncGenerator[Agent]:
    """Connect a client with a token to a server."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        yield Agent(client, process)
