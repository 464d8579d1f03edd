"""A lock that lets one worker at a time use a database file, under any of the file's names."""

from __future__ import annotations

__all__ = ["ASKING", "DatabaseInUse", "WorkerLock", "lock_path", "read_lock"]

import errno
import fcntl
import json
import logging
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from askback.errors import OperatorError
from askback.store.queries.platform_claims import ServedPlatforms, encode_platforms
from askback.store.sqlite.files import ELSEWHERE, create_private, make_directories, open_beside

log = logging.getLogger("askback.store")

ASKING = "askback ask"
"""Name in the lock file of a process that holds the lock only until its own question is answered."""

_OFD_SETLK: int | None = getattr(fcntl, "F_OFD_SETLK", None)
_LOCKED_BYTE = 1 << 62
"""A byte far behind those that SQLite locks."""
_LONGEST = 4096
_LONGEST_REASON = 300


class DatabaseInUse(OperatorError):
    """Raised when another process has locked the database."""


def lock_path(database: Path) -> Path:
    return database.with_name(database.name + ".lock")


def read_lock(database: Path) -> tuple[str, os.stat_result] | None:
    """Return the text that a worker wrote into the lock file, and that file's status. None if the file does not exist.

    Raises `OperatorError`.
    """
    path = lock_path(database)
    try:
        descriptor = open_beside(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OperatorError(
            f"Could not read the lock file {path}: {error.strerror}. Correct its permissions."
        ) from error
    try:
        return os.pread(descriptor, _LONGEST, 0).decode("utf-8", "replace"), os.fstat(descriptor)
    finally:
        os.close(descriptor)


class WorkerLock:
    """The lock of the single process that works on a database.

    It consists of two locks. One is on a lock file next to the database, which names the holder. The other is on the
    database file itself, so that it also holds for a renamed file. The kernel releases both when the process ends in
    any way.

    The lock file is never deleted, since two processes could then lock two files of the same name. It contains the
    process id, the kind of process unless it is a bot, its platforms, and those that it cannot serve now. Other
    processes decide by it if they can leave their questions to this one.
    """

    def __init__(
        self,
        database: Path,
        holder: str = "",
        served: ServedPlatforms = None,
        connecting: frozenset[str] = frozenset(),
    ) -> None:
        """`served` are the platforms of this process, and `connecting` those that `announce` may add."""
        self.path = lock_path(database)
        self._database = database
        self._holder = holder
        # An empty list of platforms is written too. Without one, the process may serve every platform.
        self._lines = [holder] if served is None else [holder, encode_platforms(served)]
        if connecting:
            self._lines.append(_encode_away(dict.fromkeys(connecting, "")))
        self._descriptors: list[int] = []
        self._written = 0
        """Length of the text in the lock file, in bytes."""

    def acquire(self) -> None:
        """Take the lock without waiting.

        Raises `DatabaseInUse` if another process has it, and `OperatorError` for other failures.
        """
        try:
            self._lock_name()
            create_private(self._database)
            self._lock_file()
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Release the lock. Does nothing if it is not held."""
        while self._descriptors:
            os.close(self._descriptors.pop())

    def announce(self, served: frozenset[str], away: Mapping[str, str]) -> None:
        """Write which platforms this process serves now, and for each of the others the reason.

        Does nothing if the lock is not held. An empty reason means that the process is still connecting.
        """
        self._lines = [self._holder, encode_platforms(served), _encode_away(away)]
        if self._descriptors:
            try:
                self._write(self._descriptors[0])
            except OSError as error:
                log.warning(
                    "Could not write the lock file %s: %s.", self.path, error.strerror, extra={"action": "lock_file"}
                )

    def _write(self, descriptor: int) -> None:
        # In one call, and never shorter than before: another process may read at any time.
        text = "\n".join((str(os.getpid()), *self._lines)).encode()
        os.pwrite(descriptor, text.ljust(self._written, b"\n"), 0)
        self._written = max(self._written, len(text))

    def _lock_name(self) -> None:
        try:
            make_directories(self.path.parent)
            descriptor = open_beside(self.path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise OperatorError(f"Could not open the lock file {self.path}: {error.strerror}. {ELSEWHERE}") from error
        self._descriptors.append(descriptor)
        try:
            os.fchmod(descriptor, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            self._written = 0
            self._write(descriptor)
        except BlockingIOError as error:
            raise self._build_in_use_error(descriptor) from error
        except OSError as error:
            raise OperatorError(f"Could not lock the lock file {self.path}: {error.strerror}. {ELSEWHERE}") from error

    def _lock_file(self) -> None:
        """Lock the database file itself.

        Closing the descriptor drops SQLite's locks on the file, so it must be closed after SQLite's own connections.
        """
        if _OFD_SETLK is None:
            return  # the system has no such locks, so a database in use must not be renamed
        descriptor = open_beside(self._database, os.O_RDWR)
        self._descriptors.append(descriptor)
        try:
            # This lock belongs to the open file and not to the process. So SQLite's own locks neither conflict with it
            # nor drop it.
            fcntl.fcntl(descriptor, _OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, _LOCKED_BYTE, 1, 0))
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise DatabaseInUse(
                    f"Another askback already uses the file {self._database}, which was renamed after that one "
                    "started. Stop it first, or set ASKBACK_DATABASE_URL to another database."
                ) from error
            log.warning(
                "Could not lock the database file %s itself (%s): do not rename it while askback runs.",
                self._database,
                error.strerror,
                extra={"action": "no_file_lock"},
            )

    def _build_in_use_error(self, descriptor: int) -> DatabaseInUse:
        number, _, more = os.pread(descriptor, _LONGEST, 0).decode("utf-8", "replace").partition("\n")
        holder = more.partition("\n")[0]
        who = f"process {number.strip()}" if number.strip() else "it is just starting"
        if holder == ASKING:
            return DatabaseInUse(
                f"`{ASKING}` uses this database until its question is answered ({who}, lock file {self.path}). "
                "Stop it with Ctrl-C; its question stays open. Start the bot, and then run the command that it "
                f"printed, `{ASKING} --key …`, to wait for the answer again."
            )
        return DatabaseInUse(
            f"Another askback already uses this database ({who}, lock file {self.path}). "
            "Stop it first, or set ASKBACK_DATABASE_URL to another database."
        )

    def __enter__(self) -> WorkerLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()


def _encode_away(away: Mapping[str, str]) -> str:
    return json.dumps({name: reason[:_LONGEST_REASON] for name, reason in sorted(away.items())}, ensure_ascii=False)
