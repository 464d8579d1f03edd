"""Count a process's flushes to the disk, by strace."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .figures import Fsyncs

ATTACH_SECONDS = 10.0
CALLS = ("fsync(", "fdatasync(")


@dataclass(slots=True)
class Counted:
    """The time of each flush, in seconds since the epoch; None if they cannot be counted here."""

    at: list[float] | None = field(default_factory=list[float])

    def each(self, times: int) -> Fsyncs | None:
        """Return the flushes per item, for N items."""
        return None if self.at is None else Fsyncs(each=len(self.at) / times, counted_by="strace")

    def within(self, spans: list[tuple[float, float]]) -> Fsyncs | None:
        """Return the flushes per span of time."""
        if self.at is None:
            return None
        inside = sum(begin <= at <= end for at in self.at for begin, end in spans)
        return Fsyncs(each=inside / len(spans), counted_by="strace")


@asynccontextmanager
async def counting(*pids: int) -> AsyncGenerator[Counted]:
    """Count the flushes of processes and their threads until the block ends. It slows them, so time nothing
    meanwhile.
    """
    counted = Counted()
    strace = shutil.which("strace")
    if strace is None or not pids:
        counted.at = None
        yield counted
        return
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "calls"
        process = await asyncio.create_subprocess_exec(
            *(strace, "-f", "-ttt", "-e", "trace=fsync,fdatasync", "-o", str(output), "-p", ",".join(map(str, pids))),
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        try:
            async with asyncio.timeout(ATTACH_SECONDS):
                for _ in pids:
                    if b"attached" not in await process.stderr.readline():
                        counted.at = None  # not allowed here
                        break
            yield counted
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGINT)
            await process.communicate()
        if counted.at is not None:
            lines = output.read_text(encoding="utf-8").splitlines()
            counted.at += [float(line.split()[1]) for line in lines if any(call in line for call in CALLS)]
