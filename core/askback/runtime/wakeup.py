"""How a command tells the running worker that it changed something: a datagram to a socket beside the database.

The socket says nothing but "look again", so that nothing depends on it: what was committed is found by the
worker's own next look, or at the next start.
"""

from __future__ import annotations

__all__ = ["listening", "nudge"]

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

log = logging.getLogger("askback.nudge")

LONGEST = 100
"""Bytes in the address of a socket: Linux takes 107, macOS 103."""
LONGEST_NAME = 72
AT_ONCE = 64
"""How many nudges are read at one go; the rest comes with the event loop's next round."""


@contextmanager
def listening(database: Path, look: Callable[[], None]) -> Generator[None]:
    """Call `look` for every nudge until the block ends.

    Only for whoever holds the database's lock: a socket that an ended process left behind is taken over.
    Where none can be had, that is logged, and the worker finds what was changed when it next looks by itself.
    """
    path = _path(database)
    try:
        listener = _bind(path)
    except OSError as error:
        log.warning(
            "Commands cannot nudge this process (%s): what they change is found within half a minute.",
            error.strerror or "the path is too long",
            extra={"action": "no_nudges", "path": str(path)},
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


def nudge(database: Path) -> bool:
    """Ask the process that works on this database to look again. False: none listens."""
    path = _path(database)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        try:
            with _address(path) as address:
                sender.sendto(b"\n", address)
        except BlockingIOError:
            return True  # so many are waiting there already that no further one is needed
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ECONNREFUSED):
                log.warning(
                    "The running process cannot be nudged: %s.",
                    error.strerror or "the path is too long",
                    extra={"action": "nudge_failed", "path": str(path)},
                )
            return False
    return True


def _path(database: Path) -> Path:
    name = f"{database.name}.sock"
    if len(os.fsencode(name)) > LONGEST_NAME:
        name = f".{hashlib.sha256(os.fsencode(name)).hexdigest()[:32]}.sock"
    return database.with_name(name)


@contextmanager
def _address(path: Path) -> Generator[str]:
    """The socket's path, or a short one that leads to the same file."""
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
            raise FileExistsError(errno.EEXIST, "a file of that name is in the way")
        path.unlink()
    except FileNotFoundError:
        pass
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        listener.setblocking(False)
        # Before it has a name: nobody else can reach it for a moment. Where that does nothing, the second does.
        os.fchmod(listener.fileno(), 0o600)
        with _address(path) as address:
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
