"""Fork processes of `askback` and programs of the tests from one process that has imported the package.

Its arguments are the address of a socket and the descriptor that listens there.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import pkgutil
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import anyio
import anyio.lowlevel
import httpx2
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

import askback
import askback_discord
import askback_sandbox
import askback_slack
from askback.ports.installed_bots import list_entries
from support import launcher


def import_all(package: ModuleType) -> None:
    """Import every module of a package, except those that run a program or a migration."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not found.name.endswith("__main__") and ".migrations" not in found.name:
            import_module(found.name)


async def read_a_stream() -> None:
    """Read a stream of the Messages API. The client builds the types of its events when the first one arrives."""

    async def answer(request: httpx2.Request) -> httpx2.Response:
        event = {"type": "message_stop"}
        text = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=text, request=request)

    http = DefaultAsyncHttpxClient(transport=httpx2.MockTransport(answer))
    async with AsyncAnthropic(api_key="-", http_client=http) as client:
        message = {"role": "user", "content": "-"}
        async for _ in await client.messages.create(model="-", max_tokens=1, messages=[message], stream=True):
            pass
    await anyio.lowlevel.checkpoint()  # imports the part of anyio for asyncio


def warm() -> None:
    """Do once the work that would otherwise slow down each process's start."""
    for package in (askback, askback_slack, askback_discord, askback_sandbox):
        import_all(package)
    asyncio.run(read_a_stream())
    list_entries()
    inspect.stack()  # slack_bolt reads the source of every module that it finds


if __name__ == "__main__":
    launcher.serve(Path(sys.argv[1]), int(sys.argv[2]), warm)
