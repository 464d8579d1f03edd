"""The library's own MCP client, connected to a real process of `askback mcp`."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import mcp_types
from mcp import Client
from mcp.client import ClientExtension
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from e2e.ask.office import Office, Process

OPTIONS = ["Yes", "No"]
CALL = {"command": "rm -r build", "description": "Clean up"}


@dataclass
class Agent:
    """An agent that calls the tools of a process."""

    client: Client
    process: Process

    async def call(self, tool: str, *, call_id: str | None = None, **given: Any) -> dict[str, Any]:
        """Call a tool; return its structured result. `call_id` is the id that Claude Code gives the call."""
        result = await self.call_raw(tool, given, call_id=call_id)
        assert not result.is_error, result.content
        text = result.content[0].text
        assert result.structured_content["message"] == text
        return result.structured_content

    async def call_raw(self, tool: str, given: dict[str, Any], *, call_id: str | None = None) -> Any:
        meta: Any = None if call_id is None else {"claudecode/toolUseId": call_id}
        return await self.client.call_tool(tool, given, meta=meta)

    async def error(self, tool: str, **given: Any) -> str:
        """Call a tool; return the text of the error that it must end with."""
        result = await self.call_raw(tool, given)
        assert result.is_error, result
        return result.content[0].text

    async def deploy(self, *, call_id: str | None = None, **more: Any) -> dict[str, Any]:
        """Ask if version 1.4.2 may be deployed."""
        return await self.call("ask", call_id=call_id, question="Deploy 1.4.2?", options=OPTIONS, **more)


async def permit(one: Agent, call_id: str, tool: str = "Bash", given: dict[str, Any] = CALL) -> dict[str, Any]:
    """Call `permit` as Claude Code does; return its answer."""
    result = await one.call_raw("permit", {"tool_name": tool, "input": given, "tool_use_id": call_id})
    assert (result.is_error, result.structured_content, len(result.content)) == (False, None, 1)
    return json.loads(result.content[0].text)


@asynccontextmanager
async def over_pipes(reading: int, writing: int) -> AsyncGenerator[TransportStreams]:
    """Speak MCP over two descriptors, as the library's client does with a process that it starts."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=2**24)
    incoming, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb"))
    outgoing, _ = await loop.connect_write_pipe(asyncio.Protocol, os.fdopen(writing, "wb"))
    to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with to_session:
            async for line in reader:
                message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                await to_session.send(SessionMessage(message))

    async def write() -> None:
        async with from_session:
            async for message in from_session:
                outgoing.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    async with anyio.create_task_group() as tasks, from_server, to_server:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield from_server, to_server
        finally:
            outgoing.close()
            incoming.close()
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def agent(
    office: Office,
    *options: str,
    client: str = "a-client",
    mode: Any = "auto",
    to: str = "#deploys",
    who: str | None = "anyone",
    program: Path | None = None,
    extensions: Sequence[ClientExtension] = (),
    **environment: str,
) -> AsyncGenerator[Agent]:
    """Start `askback mcp` and connect a client to it. At the end, the client closes the connection, as clients do."""
    people = () if who is None else ("--who", who)
    process, reading, writing = await start(
        office, "--to", f"{office.platform}:{to}", *people, *options, program=program, **environment
    )
    info = mcp_types.Implementation(name=client, version="1")
    async with Client(over_pipes(reading, writing), client_info=info, mode=mode, extensions=extensions) as connected:
        yield Agent(connected, process)


async def start(
    office: Office, *options: str, program: Path | None = None, **environment: str
) -> tuple[Process, int, int]:
    """Start `askback mcp`; return it, and the descriptors for reading its output and writing its input."""
    number = len(office._processes)
    out, err = (office.folder / f"mcp-{number}.{name}" for name in ("out", "err"))
    out.touch()
    theirs_in, writing = os.pipe()
    reading, theirs_out = os.pipe()
    errors = os.open(err, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        launched = await office.launcher.start(
            "mcp", *options, folder=office.folder,
            environment={"ASKBACK_QUESTION_PACE": "0s"} | office.environment() | environment,
            streams=[theirs_in, theirs_out, errors], program=program,
        )  # fmt: skip
    finally:
        for stream in (theirs_in, theirs_out, errors):
            os.close(stream)
    process = Process(launched, office, out, err)
    office._processes.append(process)
    return process, reading, writing
