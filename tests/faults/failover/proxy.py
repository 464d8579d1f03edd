"""A TCP proxy in front of PostgreSQL, like a cloud's: it leads to one server, and can simulate failures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

CHUNK = 65536


class Proxy:
    """A proxy to `target`, the socket of a server or its host and port; with None it refuses connections."""

    def __init__(self, target: Path | tuple[str, int] | None) -> None:
        self.target = target
        self.port = 0
        self.swallows = False
        """True if new connections are accepted and never answered."""
        self.taken = 0
        """The number of accepted connections."""
        self._open: dict[asyncio.Task[None], _Line] = {}
        self._cut_on: bytes | None = None
        self.cuts = 0
        self._silenced_by: list[bytes] = []
        self._silenced_after: list[bytes] = []

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def cut(self) -> int:
        """Close every connection, in any state; return their number."""
        for task in self._open:
            task.cancel()
        return len(self._open)

    def cut_on(self, words: bytes | None) -> None:
        """Cut a connection as soon as its client sends these words, before the server receives them."""
        self._cut_on = words

    def swallow_on(self, *words: bytes) -> None:
        """For each of these words, freeze the first connection whose client sends them."""
        self._silenced_by = [*words]

    def swallow_after(self, *words: bytes) -> None:
        """For each of these words, freeze the first connection whose client sends them, once the server has them."""
        self._silenced_after = [*words]

    @property
    def is_swallowing(self) -> bool:
        """True if a connection is still to be frozen."""
        return bool(self._silenced_by or self._silenced_after)

    def swallow(self) -> None:
        """Freeze all current connections without closing them; new ones are accepted and not answered."""
        self.swallows = True
        for line in self._open.values():
            line.is_silent = True

    def answer(self) -> None:
        """Answer new connections again. The frozen ones stay silent."""
        self.swallows = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.taken += 1
        line = self._open[task] = _Line(is_silent=self.swallows)
        try:
            if not line.is_silent:
                await self._connect(line, reader, writer)
            else:
                await asyncio.Event().wait()
        except (OSError, EOFError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            del self._open[task]
            writer.close()

    async def _connect(self, line: _Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.target is None:
            raise ConnectionRefusedError
        if isinstance(self.target, Path):
            server_reader, server_writer = await asyncio.open_unix_connection(str(self.target))
        else:
            server_reader, server_writer = await asyncio.open_connection(*self.target)
        try:
            with suppress(ExceptionGroup):
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._pass_on(line, reader, server_writer, spoken=True))
                    tasks.create_task(self._pass_on(line, server_reader, writer, spoken=False))
        finally:
            server_writer.transport.abort()

    async def _pass_on(
        self, line: _Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, spoken: bool
    ) -> None:
        while data := await reader.read(CHUNK):
            for words in [words for words in self._silenced_by if spoken and words in data]:
                self._silenced_by.remove(words)
                line.is_silent = True
            if line.is_silent:
                await asyncio.Event().wait()
            if spoken and self._cut_on is not None and self._cut_on in data:
                self.cuts += 1
                break
            for words in [words for words in self._silenced_after if spoken and words in data]:
                self._silenced_after.remove(words)
                line.is_silent = True
            writer.write(data)
            await writer.drain()
        raise EOFError


class _Line:
    def __init__(self, *, is_silent: bool) -> None:
        self.is_silent = is_silent


@asynccontextmanager
async def proxy(target: Path | tuple[str, int] | None) -> AsyncGenerator[Proxy]:
    made = Proxy(target)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        made.cut()
        await asyncio.sleep(0)
