"""A proxy that opens tunnels, as companies have it, and the TLS of the one server behind it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from support.gate import copy


class Tunnel:
    """A proxy for CONNECT, which leads every name to one server that has no TLS itself."""

    def __init__(self, behind: str, context: ssl.SSLContext, *, refuses: bool = False) -> None:
        """With `refuses`, the proxy wants a name and a password, and knows none."""
        self._behind = urlsplit(behind)
        self._context = context
        self._refuses = refuses
        self._port = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests: list[str] = []
        """The head of each request to the proxy."""
        self.url = ""

    @asynccontextmanager
    async def serve(self) -> AsyncGenerator[Tunnel]:
        origin = await asyncio.start_server(
            lambda reader, writer: self._start(self._pass_on(reader, writer)), "127.0.0.1", 0, ssl=self._context
        )
        proxy = await asyncio.start_server(
            lambda reader, writer: self._start(self._connect(reader, writer)), "127.0.0.1", 0
        )
        self._port = origin.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        try:
            async with origin, proxy:
                yield self
        finally:
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
        if self._refuses:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            writer.close()
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await _join(reader, writer, "127.0.0.1", self._port)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _join(reader, writer, self._behind.hostname or "", self._behind.port or 0)


async def _join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int) -> None:
    there, back = await asyncio.open_connection(host, port)
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(copy(reader, back))
            tasks.create_task(copy(there, writer))
    finally:
        back.close()
        writer.close()
