"""Servers that are killed in a window of the hand-over of an answer."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.ask.office import Office, Process

from . import client, http_agent
from .client import Agent

SERVER = Path(__file__).parents[2] / "faults" / "server.py"


async def press_until_killed(office: Office, process: Process, label: str, words: str = "Deploy 1.4.2?") -> None:
    """Press a button until the server is killed, which may be before it acknowledges the click."""
    card = await office.card(words)
    async with asyncio.timeout(40):
        while not process.is_over:
            if await office.press("ada", card, label):
                await process.ended()
            await asyncio.sleep(0.05)


@dataclass(frozen=True)
class Door:
    """A way to call the tools of `askback mcp`."""

    transport: str
    mode: str = "auto"

    @asynccontextmanager
    async def open(
        self, office: Office, *options: str, window: str | None = None, token: str = http_agent.FIRST
    ) -> AsyncGenerator[Agent]:
        """Start a server, which is killed in the window if one is named, and connect a client."""
        how: dict[str, Any] = {} if window is None else {"program": SERVER, "RIG_WINDOW": window}
        if self.transport == "stdio":
            async with client.agent(office, *options, mode=self.mode, **how) as one:
                yield one
            return
        process, address = await http_agent.serve(office, *options, ASKBACK_QUESTION_PACE="0s", **how)
        async with http_agent.agent(process, address, token, self.mode) as one:
            yield one
        process.signal(signal.SIGTERM)
        await process.ended()


DOORS = [Door("stdio"), Door("stdio", "legacy"), Door("http"), Door("http", "legacy")]
