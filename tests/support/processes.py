"""Real processes of `askback`, without the import time of each start; see `launcher.py`."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile

from support.file_lock import lock

LAUNCHER = Path(__file__).with_name("askback_launcher.py")
ROOT = Path(__file__).parents[2]
END_SECONDS = 30.0
RUN_SECONDS = 100.0


async def communicate(process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    """Return the output of a process when it has ended. If the caller is cancelled first, kill the process."""
    try:
        return await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


class Launched:
    """A process that was launched."""

    def __init__(self) -> None:
        self.pid = 0
        self.returncode: int | None = None
        self.begun = asyncio.Event()
        self.halted = asyncio.Event()
        """Set when the process has stopped itself permanently, and waits to be killed."""
        self.halted_at: float | None = None
        """The Unix time of that."""
        self._still = asyncio.Event()
        self._ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def hear(self, word: str, value: int) -> None:
        """Handle the launcher's report, in another thread. If the loop is closed, the report is dropped."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._hear, word, value)

    def _hear(self, word: str, value: int) -> None:
        if word == "runs":
            self.pid = value
            self.begun.set()
        elif word == "halted":
            self.halted_at = time.time()
            self.halted.set()
            self._still.set()
        else:
            self.returncode = value
            self.begun.set()
            self._still.set()
            self._ended.set()

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            # It may have ended before its report arrived.
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    async def stands_still(self) -> None:
        """Wait until it has halted, or ended."""
        await self._still.wait()

    async def wait(self) -> int:
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode


class Launcher:
    """Starts processes quickly. Launchers with the same address share one process, which lives until all are closed.

    `program` is the file of that process. It gets the address, the descriptor that listens there, and the arguments.
    """

    def __init__(self, address: Path, program: Path = LAUNCHER, *arguments: str) -> None:
        self._socket = _connect(address, program, arguments)
        self._orders = count(1)
        self._launched: dict[int, Launched] = {}
        self._reader = threading.Thread(target=self._read, name="launcher", daemon=True)
        self._reader.start()

    async def start(
        self,
        *arguments: str,
        folder: Path,
        environment: Mapping[str, str],
        streams: Sequence[int],
        program: Path | None = None,
    ) -> Launched:
        """Run `askback`, or a Python file, with these arguments; return as soon as it exists.

        `streams`: the descriptors of its standard input, output and error; the caller closes them.
        """
        number = next(self._orders)
        launched = self._launched[number] = Launched()
        order = {
            "order": number,
            "program": None if program is None else str(program),
            "arguments": arguments,
            "folder": str(folder),
            "environment": dict(environment),
        }
        socket.send_fds(self._socket, [json.dumps(order).encode()], streams)
        await launched.begun.wait()
        assert launched.pid, "the launcher has ended: what it imports may be broken"
        return launched

    async def start_into(
        self,
        output: Path,
        *arguments: str,
        folder: Path,
        environment: Mapping[str, str],
        program: Path | None = None,
        errors: Path | None = None,
    ) -> Launched:
        """Run it without input; append its output to that file, or to these two."""
        streams = [os.open(os.devnull, os.O_RDONLY)]
        try:
            streams += [
                os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) for file in (output, errors or output)
            ]
            return await self.start(
                *arguments, folder=folder, environment=environment, streams=streams, program=program
            )
        finally:
            for stream in streams:
                os.close(stream)

    def run(
        self, *arguments: str, folder: Path, environment: Mapping[str, str], program: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run it until its end; call this from a thread without an event loop."""

        async def run(streams: Sequence[int]) -> int:
            started = await self.start(
                *arguments, folder=folder, environment=environment, streams=streams, program=program
            )
            try:
                async with asyncio.timeout(RUN_SECONDS):
                    return await started.wait()
            finally:
                started.send_signal(signal.SIGKILL)

        with Path(os.devnull).open("rb") as nothing, TemporaryFile() as output, TemporaryFile() as errors:
            code = asyncio.run(run([nothing.fileno(), output.fileno(), errors.fileno()]))
            said = [(file.seek(0), file.read().decode())[1] for file in (output, errors)]
        return subprocess.CompletedProcess(arguments, code, *said)

    def _read(self) -> None:
        with suppress(ConnectionResetError):  # the launcher has ended before it accepted this client
            while data := self._socket.recv(4096):
                order, word, value = json.loads(data)
                self._launched[order].hear(word, value)
                if word == "ended":
                    del self._launched[order]
        for launched in self._launched.values():
            launched.hear("ended", -signal.SIGKILL)

    def close(self) -> None:
        """Kill all remaining processes."""
        self._socket.shutdown(socket.SHUT_WR)
        self._reader.join(END_SECONDS)
        self._socket.close()


def _connect(address: Path, program: Path, arguments: Sequence[str]) -> socket.socket:
    """Connect to the launcher at an address. Start it if there is none."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with lock(address.with_suffix(".lock")):
        try:
            connection.connect(str(address))
        except (FileNotFoundError, ConnectionRefusedError):
            address.unlink(missing_ok=True)
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
                listener.bind(str(address))
                listener.listen()
                _start([str(program), str(address), str(listener.fileno()), *arguments], listener.fileno())
            connection.connect(str(address))
    return connection


def _start(command: Sequence[str], listener: int) -> None:
    paths = os.pathsep.join(
        [*(str(ROOT / name) for name in ("core", "bots", "tests")), os.environ.get("PYTHONPATH", "")]
    )
    subprocess.run(
        [sys.executable, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[listener],
        env=os.environ | {"PYTHONPATH": paths},
        check=True,
    )
