"""A program that waits for people at one door: `python -m tests.bench.door_programs NAME FOLDER [ADDRESS TOKEN BARE]`.

On `once` from standard input it asks, and prints when it continues with the answer, in seconds since the epoch. On
`bare` it lets the framework wait and continue without askback, and prints when it was resumed and when it continued.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path

from .program import Program

Opener = Callable[[Path], AbstractAsyncContextManager[Program]]


def find(name: str) -> Opener:
    """Return the opener of a program. Only its own libraries are imported."""
    match name:
        case "langgraph" | "langchain" | "pydantic-ai" | "openai-agents":
            from . import frameworks

            return {
                "langgraph": frameworks.open_langgraph,
                "langchain": frameworks.open_langchain,
                "pydantic-ai": frameworks.open_pydantic_ai,
                "openai-agents": frameworks.open_openai_agents,
            }[name]
        case "claude deferred" | "claude waiting":
            from . import claude

            return claude.open_deferring if name == "claude deferred" else claude.open_waiting
        case _:
            from . import clients

            return {
                "mcp": clients.open_mcp(tasks=False),
                "mcp tasks": clients.open_mcp(tasks=True),
                "acp": clients.open_acp,
                "long poll": clients.open_http(events=False),
                "events": clients.open_http(events=True),
            }[name]


async def main(name: str, folder: Path) -> None:
    # What the program has started must end with it.
    loop, task, reader = asyncio.get_running_loop(), asyncio.current_task(), asyncio.StreamReader()
    assert task is not None
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with find(name)(folder) as program:
        print("ready", flush=True)
        while line := await reader.readline():
            if line == b"bare\n":
                began = await program.bare()
                print(json.dumps([began, program.went_on]), flush=True)
            else:
                await program.once()
                print(json.dumps(program.went_on), flush=True)


if __name__ == "__main__":
    with suppress(asyncio.CancelledError):
        asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
