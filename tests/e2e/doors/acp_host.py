"""An ACP client that starts the small agent of `acp_agent.py`. Programs import this module, too."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import acp
from acp.schema import ClientCapabilities, ElicitationCapabilities, ElicitationFormCapabilities

AGENT = Path(__file__).with_name("acp_agent.py")
FORM = ClientCapabilities(elicitation=ElicitationCapabilities(form=ElicitationFormCapabilities()))


@runtime_checkable
class ClientDoor(Protocol):
    """The parts of a client that a door is."""

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **more: Any) -> Any: ...

    async def create_elicitation(self, message: str, mode: Any, **more: Any) -> Any: ...

    async def session_update(self, session_id: str, update: Any) -> None: ...


class Host(acp.Client):
    """Passes the agent's requests on to the door."""

    def __init__(self, door: ClientDoor) -> None:
        self.door = door
        self.said: list[Any] = []

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **more: Any) -> Any:
        return await self.door.request_permission(session_id, tool_call, options, **more)

    async def create_elicitation(self, message: str, mode: Any, **more: Any) -> Any:
        return await self.door.create_elicitation(message, mode, **more)

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        await self.door.session_update(session_id, update)
        if update.session_update == "agent_message_chunk":
            self.said.append(json.loads(update.content.text))


class Talk:
    """A session with the agent."""

    def __init__(self, connection: Any, host: Host, session: str, process: Any) -> None:
        self.connection = connection
        self.session = session
        self.process = process
        self._host = host

    async def ask(self, *wanted: dict[str, Any]) -> list[Any]:
        """Let the agent send these requests at the same time; return the answers that it got."""
        await self.connection.prompt(self.session, [acp.text_block(json.dumps(wanted))])
        said, self._host.said = self._host.said, []
        return said


@asynccontextmanager
async def talking(door: ClientDoor, session: str = "talk", host: Host | None = None) -> AsyncGenerator[Talk]:
    """Start the agent, and begin a session with it."""
    host = Host(door) if host is None else host
    started = acp.spawn_agent_process(host, sys.executable, str(AGENT), session, use_unstable_protocol=True)
    async with started as (connection, process):
        await connection.initialize(protocol_version=acp.PROTOCOL_VERSION, client_capabilities=FORM)
        begun = await connection.new_session(cwd=str(AGENT.parent), mcp_servers=[])
        yield Talk(connection, host, begun.session_id, process)
