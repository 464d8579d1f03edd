"""Serves MCP over standard input and output, for one user: the one who started the process."""

from __future__ import annotations

__all__ = ["build_stdio_principal", "serve_stdio"]

import asyncio
import fcntl
import getpass
import io
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, BinaryIO, Final, Self, cast

import anyio
import anyio.to_thread
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

from askback.doors.receipts import get_receipts

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
    if cast("object", sys.stdin) is None:
        return  # whoever started the process closed standard input
    lines = await _Lines.open()
    stdin = None if lines is None else cast("anyio.AsyncFile[str]", lines)
    with _claim_output() as output:
        # The library's own writer does not tell when a message was written, so it gets none.
        async with stdio_server(stdin=stdin, stdout=anyio.wrap_file(io.StringIO())) as (incoming, unused):
            await unused.aclose()
            await server.run(incoming, _Messages(output), server.create_initialization_options())


@contextmanager
def _claim_output() -> Generator[BinaryIO]:
    """Yield standard output for messages alone. Whatever else the process prints goes to standard error meanwhile."""
    sys.stdout.flush()
    own = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    try:
        os.dup2(2, 1)
    except OSError:  # the client gave the process no standard error
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        # A thread may still write when this ends, so the descriptor is not closed.
        yield os.fdopen(own, "wb", closefd=False)
    finally:
        os.dup2(own, 1)


class _Messages:
    """The messages to the client. What a response contains counts as received once it was written."""

    def __init__(self, output: BinaryIO) -> None:
        self._output = output
        self._writing = anyio.Lock()

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message. Raises `BrokenResourceError` if the client is gone."""
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        try:
            async with self._writing:
                await anyio.to_thread.run_sync(self._write, line)
        except OSError:
            raise anyio.BrokenResourceError from None
        if isinstance(item.message, JSONRPCResponse):
            get_receipts().confirm()

    def _write(self, line: bytes) -> None:
        self._output.write(line)
        self._output.flush()

    async def aclose(self) -> None:
        """Do nothing: the process owns its standard output."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class _Lines:
    """The lines of standard input. Unlike the library's reader, it can be cancelled, and a line has a limit."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    @classmethod
    async def open(cls) -> _Lines | None:
        """Return the lines. None if the event loop cannot watch standard input, such as a file or /dev/null."""
        reader = asyncio.StreamReader(limit=MAX_LINE)
        loop = asyncio.get_running_loop()
        try:
            # The pipe below adds its reader later, where nobody receives the error.
            loop.add_reader(sys.stdin.fileno(), _do_nothing)
            loop.remove_reader(sys.stdin.fileno())
            await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
        except (PermissionError, ValueError):
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


def _do_nothing() -> None:
    """Do nothing."""
