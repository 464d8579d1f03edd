"""Serves MCP over standard input and output, for one user: the one who started the process."""

from __future__ import annotations

__all__ = ["build_stdio_principal", "serve_stdio"]

import asyncio
import getpass
import logging
import socket
import sys
from collections.abc import AsyncIterator
from typing import Any, Final, cast

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

log = logging.getLogger("askback.door")

MAX_LINE: Final = 8 * 1024 * 1024
"""Largest message of a client, in bytes."""


def build_stdio_principal(name: str | None) -> str:
    """Return the principal of the user who started the process. `name` distinguishes several agents of one user."""
    if name is not None:
        return f"stdio:{name}"
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown"
    return f"stdio:{user}@{socket.gethostname()}"


async def serve_stdio(server: Server[dict[str, Any]]) -> None:
    """Serve MCP until the client closes standard input, or this is cancelled."""
    lines = await _Lines.open()
    async with stdio_server(stdin=None if lines is None else cast("anyio.AsyncFile[str]", lines)) as (
        incoming,
        outgoing,
    ):
        await server.run(incoming, outgoing, server.create_initialization_options())


class _Lines:
    """The lines of standard input. Unlike the library's reader, it can be cancelled, and a line has a limit."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    @classmethod
    async def open(cls) -> _Lines | None:
        """Return the lines. None if standard input is a file, which the event loop cannot read."""
        reader = asyncio.StreamReader(limit=MAX_LINE)
        loop = asyncio.get_running_loop()
        try:
            await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
        except ValueError:
            return None
        return cls(reader)

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                line = end.partial
            except asyncio.LimitOverrunError:
                log.error(
                    "A message of the client is larger than %d MB, so the connection ends.",
                    MAX_LINE // 1024**2,
                    extra={"action": "message_too_large"},
                )
                return
            if not line:
                return
            yield line.decode("utf-8", "replace")
