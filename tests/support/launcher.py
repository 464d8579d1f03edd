"""Run `askback`, or a program of the tests, in separate processes that start within milliseconds.

It imports the program once, since that is most of a start's time, and forks a process for each order. Orders are JSON
on the socket whose descriptor is its argument: order, program (a file to run; null means `askback`), arguments, folder,
environment. With each order come three descriptors, which become the process's 0, 1 and 2. It answers with a JSON of
the order, a word and a number: `runs` and the process id, `halted` (the process has stopped itself), `ended` and its
code. When the other end closes, it kills all remaining processes.
"""

from __future__ import annotations

import asyncio
import fcntl
import gc
import inspect
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import termios
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

import askback
import askback_discord
import askback_sandbox
import askback_slack
from askback.cli import main as cli
from askback.ports.installed_bots import list_entries

LARGEST = 2**17
MANY = 1024
"""A number above all descriptors of the launcher."""


class Launcher:
    """The processes that were forked."""

    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders
        self._running: dict[int, int] = {}
        """The order of each process that was forked and has not ended."""

    def obey(self) -> bool:
        """Take one order; return False if the other end has closed."""
        data, streams, _, _ = socket.recv_fds(self._orders, LARGEST, 3)
        if not data:
            return False
        order = json.loads(data)
        process = os.fork()
        if process == 0:
            become(order, streams)
        for stream in streams:
            os.close(stream)
        self._running[process] = order["order"]
        self._say(order["order"], "runs", process)
        return True

    def look(self) -> None:
        """Report the changed states of the processes."""
        while self._running:
            process, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if process == 0:
                return
            if os.WIFSTOPPED(status):
                self._say(self._running[process], "halted", 0)
            else:
                self._say(self._running.pop(process), "ended", os.waitstatus_to_exitcode(status))

    def kill(self) -> None:
        for process in self._running:
            os.kill(process, signal.SIGKILL)

    def _say(self, order: int, word: str, value: int) -> None:
        self._orders.send(json.dumps([order, word, value]).encode())


def become(order: dict[str, Any], streams: list[int]) -> None:
    """Run the order in the forked process; it never returns."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for descriptor, stream in enumerate(streams):
        os.dup2(stream, descriptor)
    os.closerange(3, MANY)
    if os.isatty(0):
        # Its own terminal, so that Ctrl-C there reaches it, and so that it asks nowhere else.
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    code = 0
    try:
        run(order["program"], order["arguments"])
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 - the child must not continue as the launcher
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run(program: str | None, arguments: list[str]) -> None:
    sys.argv = [program or "askback", *arguments]
    if program is None:
        cli.main()
    else:
        sys.path.insert(0, str(Path(program).parent))
        runpy.run_path(program, run_name="__main__")


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
    gc.collect()
    gc.freeze()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    warm()
    orders = socket.socket(fileno=int(sys.argv[1]))
    launcher = Launcher(orders)
    waiting = selectors.DefaultSelector()
    waiting.register(orders, selectors.EVENT_READ)
    waiting.register(woken, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj == woken:
                os.read(woken, 4096)
            elif not launcher.obey():
                launcher.kill()
                return
        launcher.look()


if __name__ == "__main__":
    main()
