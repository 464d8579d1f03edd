"""A gate before a platform's API: it lets connections through, refuses them, or accepts them and never answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from support.free_port import free_port


class Gate:
    """A port of this machine in place of another one."""

    def __init__(self, url: str) -> None:
        """`url` is the address behind the gate."""
        self._behind = urlsplit(url)
        self._port = free_port()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._hangs = False
        self.tries = 0
        """Number of connections that the gate accepted."""
        self.url = self._behind._replace(netloc=f"127.0.0.1:{self._port}").geturl()

    async def refuse(self) -> None:
        """Accept no connections, and cut those that exist."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._server = None

    async def hang(self) -> None:
        """Accept connections, and never answer."""
        await self.refuse()
        await self._listen(hangs=True)

    async def open(self) -> None:
        """Pass everything on."""
        await self.refuse()
        await self._listen(hangs=False)

    async def _listen(self, *, hangs: bool) -> None:
        self._hangs = hangs
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tries += 1
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self._hangs:
                await asyncio.Event().wait()
            there, back = await asyncio.open_connection(self._behind.hostname, self._behind.port)
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(copy(reader, back))
                    tasks.create_task(copy(there, writer))
            finally:
                back.close()
        finally:
            writer.close()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what arrives, until its end."""
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


@asynccontextmanager
async def gate_before(url: str) -> AsyncGenerator[Gate]:
    """Open a gate before this address until the block ends."""
    gate = Gate(url)
    await gate.open()
    try:
        yield gate
    finally:
        await gate.refuse()
