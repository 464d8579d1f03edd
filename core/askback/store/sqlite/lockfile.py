"""The files of the database: private to their owner, and one worker at a time."""

from __future__ import annotations

__all__ = ["ASKING", "InUse", "WorkerLock", "create_private"]

import fcntl
import logging
import os
import stat
from pathlib import Path
from types import TracebackType

from askback.errors import OperatorError
from askback.store.served import Served, written_served

log = logging.getLogger("askback.store")

ASKING = "askback ask"
"""What a process calls itself that holds the lock only until its own question is answered."""

_ELSEWHERE = "Set ASKBACK_DATABASE_URL to a file that askback may create and write."


class InUse(OperatorError):
    """Another process works on the database."""


def create_private(path: Path) -> None:
    """See to it that `path` is a file to open: created with mode 0600, missing directories with 0700.

    The umask has no say. SQLite gives its -wal and -shm files the mode of the database. A file that
    is already there keeps its mode, with a warning if others can read it.
    """
    try:
        if path.exists() and not path.is_file():
            kind = "a directory" if path.is_dir() else "not a regular file"
            raise OperatorError(f"The database cannot be {path}: that is {kind}. {_ELSEWHERE}")
        _make_directories(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        _check_existing(path)
    except OSError as error:
        raise OperatorError(f"The database {path} cannot be created: {error.strerror}. {_ELSEWHERE}") from error
    else:
        try:
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)


def _make_directories(directory: Path) -> None:
    missing: list[Path] = []
    while not directory.exists():
        missing.append(directory)
        directory = directory.parent
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
        each.chmod(0o700)


def _check_existing(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_RDWR))
        mode = path.stat().st_mode
    except OSError as error:
        raise OperatorError(f"The database {path} cannot be opened: {error.strerror}. {_ELSEWHERE}") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        log.warning(
            "Other users of this machine can read the database %s, which holds conversations: run chmod 600 on it.",
            path,
            extra={"action": "database_readable", "mode": oct(stat.S_IMODE(mode))},
        )


class WorkerLock:
    """Held by the one process that works on a database.

    The kernel lets go of it when the process ends, however it ends. The file stays behind on purpose:
    deleting it would let two processes hold locks on two files of the same name. The number in it, what the process is
    where that is no bot, and the platforms that it serves are for messages only.
    """

    def __init__(self, database: Path, holder: str = "", served: Served = None) -> None:
        self.path = database.with_name(database.name + ".lock")
        # Whoever serves nothing says so; whoever does not say may serve everything.
        self._tells = (holder,) if served is None else (holder, written_served(served))
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock, or say who has it. Does not wait."""
        try:
            _make_directories(self.path.parent)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise OperatorError(
                f"The lock file {self.path} cannot be opened: {error.strerror}. {_ELSEWHERE}"
            ) from error
        try:
            os.fchmod(descriptor, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, "\n".join((str(os.getpid()), *self._tells)).encode(), 0)
        except BlockingIOError as error:
            number, _, more = os.pread(descriptor, 64, 0).decode("utf-8", "replace").partition("\n")
            holder = more.partition("\n")[0]
            os.close(descriptor)
            who = f"process {number.strip()}" if number.strip() else "it is just starting"
            if holder == ASKING:
                raise InUse(
                    f"`{ASKING}` works on this database until its question is answered ({who}, lock file {self.path}). "
                    "End it with Ctrl-C: its question stays open. Start this, and then what it told you to come back "
                    f"with, `{ASKING} --key …`, which waits beside it."
                ) from error
            raise InUse(
                f"Another askback already works on this database ({who}, lock file {self.path}). "
                "Stop it first, or give this one a database of its own with ASKBACK_DATABASE_URL."
            ) from error
        except OSError as error:
            os.close(descriptor)
            raise OperatorError(
                f"The lock file {self.path} cannot be locked: {error.strerror}. {_ELSEWHERE}"
            ) from error
        self._descriptor = descriptor

    def release(self) -> None:
        """Let go. Calling it again, or without having the lock, does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> WorkerLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()
