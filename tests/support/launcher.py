"""Run `askback`, or a program of the tests, in separate processes that start within milliseconds.

A launcher imports the program once, since that is most of a start's time, and forks a process for each order. A client
sends orders as JSON: order, program (a file to run; null means `askback`), arguments, folder, environment. With each
order come three descriptors, which become the process's 0, 1 and 2. The launcher answers with a JSON of the order, a
word and a number: `runs` and the process id, `halted` (the process has stopped itself), `ended` and its code. When a
client closes, it kills the client's remaining processes. It ends after the last client.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from support.file_lock import lock

LARGEST = 2**17
MANY = 1024
"""A number above all descriptors of the launcher."""


class Launcher:
    """The processes that were forked, and the clients that ordered them."""

    def __init__(self, address: Path, listener: socket.socket) -> None:
        self._address = address
        self._listener = listener
        self._waiting = selectors.DefaultSelector()
        self._running: dict[int, tuple[socket.socket, int]] = {}
        """The client and the order of each process that was forked and has not ended."""
        self._clients: set[socket.socket] = set()
        self._gone: set[socket.socket] = set()
        """Clients that have closed, until their processes have ended."""

    def serve(self, woken: int) -> None:
        """Take orders until the last client has left. `woken` becomes readable when a process changes its state."""
        self._waiting.register(self._listener, selectors.EVENT_READ)
        self._waiting.register(woken, selectors.EVENT_READ)
        while True:
            for key, _ in self._waiting.select():
                if key.fileobj == woken:
                    os.read(woken, 4096)
                elif isinstance(key.fileobj, socket.socket):
                    self._read(key.fileobj)
            self._look()
            for client in [client for client in self._gone if not self._has_processes(client)]:
                self._gone.remove(client)
                client.close()
            if not self._clients and not self._gone and self._end():
                return

    def _read(self, ready: socket.socket) -> None:
        if ready is self._listener:
            self._accept()
        elif not self._obey(ready):
            self._waiting.unregister(ready)
            self._clients.remove(ready)
            self._gone.add(ready)
            for process, (client, _) in self._running.items():
                if client is ready:
                    os.kill(process, signal.SIGKILL)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        self._clients.add(client)
        self._waiting.register(client, selectors.EVENT_READ)

    def _obey(self, client: socket.socket) -> bool:
        """Take one order; return False if the client has closed."""
        data, streams, _, _ = socket.recv_fds(client, LARGEST, 3)
        if not data:
            return False
        order = json.loads(data)
        process = os.fork()
        if process == 0:
            become(order, streams)
        for stream in streams:
            os.close(stream)
        self._running[process] = client, order["order"]
        self._say(process, "runs", process)
        return True

    def _look(self) -> None:
        """Report the changed states of the processes."""
        while self._running:
            process, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if process == 0:
                return
            if os.WIFSTOPPED(status):
                self._say(process, "halted", 0)
            else:
                self._say(process, "ended", os.waitstatus_to_exitcode(status))
                del self._running[process]

    def _say(self, process: int, word: str, value: int) -> None:
        client, order = self._running[process]
        with suppress(ConnectionError):  # it may be gone
            client.send(json.dumps([order, word, value]).encode())

    def _has_processes(self, client: socket.socket) -> bool:
        return any(owner is client for owner, _ in self._running.values())

    def _end(self) -> bool:
        """Give the address up. Return False if a client has connected meanwhile."""
        if not self._address.parent.exists():
            return True  # the run has ended, and its folder is gone
        with lock(self._address.with_suffix(".lock")):
            self._listener.setblocking(False)
            try:
                self._accept()
            except BlockingIOError:
                self._address.unlink(missing_ok=True)  # the folder may be going, too
                return True
            self._listener.setblocking(True)
            return False


def become(order: dict[str, Any], streams: list[int]) -> None:
    """Run the order in the forked process; it never returns."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under `nohup`
    for descriptor, stream in enumerate(streams):
        os.dup2(stream, descriptor)
    os.closerange(3, MANY)
    if os.isatty(0):
        # Its own terminal, so that Ctrl-C there reaches it, and so that it asks nowhere else.
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
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
        from askback.cli.start import start

        start()
    else:
        sys.path.insert(0, str(Path(program).parent))
        runpy.run_path(program, run_name="__main__")


def serve(address: Path, listener: int, warm: Callable[[], None]) -> None:
    """Listen on the descriptor `listener`, and call `warm` before, which imports what the processes need."""
    if os.fork():
        os._exit(0)  # the program that started it need not outlive it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    warm()
    gc.collect()
    gc.freeze()
    Launcher(address, socket.socket(fileno=listener)).serve(woken)
