"""A person at a terminal, in front of a real process."""

from __future__ import annotations

import asyncio
import os
import pty
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from signal import SIGKILL
from typing import Protocol, Self

from support.processes import Launcher

SECONDS = 60.0
CONTROL_C = "\x03"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def read_process_file(pid: int, name: str) -> str:
    """Return what Linux says about a process."""
    return Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")


class Running(Protocol):
    """A process on a terminal."""

    @property
    def pid(self) -> int: ...

    def send_signal(self, number: int, /) -> None: ...

    async def wait(self) -> int: ...


class Terminal:
    """A terminal of 80 columns, and the process on it."""

    def __init__(self, process: Running, master: int) -> None:
        self.process = process
        self.seen = ""
        """Everything that the terminal has shown, without colours."""
        self._master = master
        self._read = 0
        self._changed = asyncio.Event()
        asyncio.get_running_loop().add_reader(master, self._receive)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, launcher: Launcher, *arguments: str, folder: Path, environment: Mapping[str, str]
    ) -> AsyncIterator[Self]:
        master, slave = pty.openpty()
        try:
            process = await launcher.start(
                *arguments, folder=folder, environment=environment, streams=[slave, slave, slave]
            )
        finally:
            os.close(slave)
        terminal = cls(process, master)
        try:
            yield terminal
        finally:
            process.send_signal(SIGKILL)
            await process.wait()
            terminal.close()

    def close(self) -> None:
        """Stop reading, once the process has ended."""
        asyncio.get_running_loop().remove_reader(self._master)
        os.close(self._master)

    async def sees(self, words: str) -> str:
        """Wait until the terminal shows these words after the last ones; return the text between."""
        try:
            async with asyncio.timeout(SECONDS):
                while (found := self.seen.find(words, self._read)) < 0:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"the terminal does not show {words!r}:\n{self.seen}") from None
        between, self._read = self.seen[self._read : found], found + len(words)
        return between

    async def answer(self, question: str, line: str) -> None:
        """Type a line when the question is on the screen."""
        await self.sees(question)
        self.type(f"{line}\n")

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    async def interrupt(self) -> None:
        """Press Ctrl-C once the process waits.

        Python does not notice a signal that arrives right before it begins to read.
        """
        async with asyncio.timeout(SECONDS):
            while True:
                if read_process_file(self.process.pid, "stat").rpartition(")")[2].split()[0] == "S":
                    break
                await asyncio.sleep(0.005)
        self.type(CONTROL_C)

    async def end(self) -> int:
        """Return the exit code, when the process has ended and everything it wrote was read."""
        async with asyncio.timeout(SECONDS):
            code = await self.process.wait()
        self._receive()
        return code

    def _receive(self) -> None:
        # With no process left on the terminal, Linux answers with an error.
        with suppress(OSError):
            while data := self._read_some():
                self.seen += _COLOUR.sub("", data.decode(errors="replace")).replace("\r\n", "\n")
        self._changed.set()

    def _read_some(self) -> bytes:
        os.set_blocking(self._master, False)
        try:
            return os.read(self._master, 65536)
        except BlockingIOError:
            return b""
