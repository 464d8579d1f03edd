"""Wakes the running worker after a command changed something, through a datagram socket next to the database.

The datagram only means "check again", so nothing depends on it. The worker also finds each commit at its next check, or
at the next start.
"""

from __future__ import annotations

__all__ = ["listen_for_wakeups", "wake_worker"]

import asyncio
import errno
import hashlib
import logging
import os
import socket
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger("askback.wakeup")

LONGEST = 100
"""Maximum length of a socket's address in bytes: 107 on Linux, 103 on macOS."""
LONGEST_NAME = 72
AT_ONCE = 64
"""Maximum number of wake-ups to read at once. The next iteration of the event loop reads the rest."""


@contextmanager
def listen_for_wakeups(database: Path, look: Callable[[], None]) -> Generator[None]:
    """Call `look` for every wake-up until the block ends.

    Only for the process that holds the database's lock, since this replaces a socket that a dead process left behind.
    If it cannot bind a socket, it logs that, and the worker finds changes at its next check.
    """
    path = _get_socket_path(database)
    try:
        listener = _bind(path)
    except OSError as error:
        log.warning(
            "Commands cannot wake this process (%s). It finds their changes within 30 seconds.",
            error.strerror or "the path is too long",
            extra={"action": "no_wakeups", "path": str(path)},
        )
        yield
        return
    loop = asyncio.get_running_loop()
    loop.add_reader(listener, _read, listener, look)
    try:
        yield
    finally:
        loop.remove_reader(listener)
        listener.close()
        path.unlink(missing_ok=True)


def wake_worker(database: Path) -> bool:
    """Ask the process that works on this database to look again. Return False if none listens."""
    path = _get_socket_path(database)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        try:
            with _shorten_path(path) as address:
                sender.sendto(b"\n", address)
        except BlockingIOError:
            return True  # the queue is full, so the worker will check anyway
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ECONNREFUSED):
                log.warning(
                    "Could not wake the running process: %s. It finds the change within 30 seconds.",
                    error.strerror or "the path is too long",
                    extra={"action": "wakeup_failed", "path": str(path)},
                )
            return False
    return True


def _get_socket_path(database: Path) -> Path:
    name = f"{database.name}.sock"
    if len(os.fsencode(name)) > LONGEST_NAME:
        name = f".{hashlib.sha256(os.fsencode(name)).hexdigest()[:32]}.sock"
    return database.with_name(name)


@contextmanager
def _shorten_path(path: Path) -> Generator[str]:
    """Yield the socket's path, or a short one that leads to the same file."""
    if len(os.fsencode(path)) <= LONGEST or not Path("/proc/self/fd").is_dir():
        yield str(path)
        return
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


def _bind(path: Path) -> socket.socket:
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError(errno.EEXIST, "another file has the socket's name")
        path.unlink()
    except FileNotFoundError:
        pass
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        listener.setblocking(False)
        # Set the mode before the socket has a name, so that nobody can reach it in between. Where that has no effect,
        # the second chmod sets it.
        os.fchmod(listener.fileno(), 0o600)
        with _shorten_path(path) as address:
            listener.bind(address)
        path.chmod(0o600)
    except BaseException:
        listener.close()
        raise
    return listener


def _read(listener: socket.socket, look: Callable[[], None]) -> None:
    for _ in range(AT_ONCE):
        try:
            listener.recv(16)
        except BlockingIOError:
            break
    look()
