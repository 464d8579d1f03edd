"""Create and check the database's files, which are private to their owner and must not be links."""

from __future__ import annotations

__all__ = ["ELSEWHERE", "check_files", "create_private", "make_directories", "open_beside"]

import errno
import logging
import os
import shlex
import stat
from pathlib import Path

from askback.errors import OperatorError

log = logging.getLogger("askback.store")

ELSEWHERE = "Set ASKBACK_DATABASE_URL to a file that askback may create and write."
_BESIDE = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps next to the database."""


def create_private(path: Path) -> None:
    """Make sure that `path` can be opened. Create the file with mode 0600 and missing directories with 0700.

    The umask has no effect. SQLite gives its -wal and -shm files the mode of the database. An existing file keeps its
    mode, with a warning if other users can access it. Raises `OperatorError`, also for everything that `check_files`
    rejects.
    """
    try:
        mode = check_files(path)
        if mode is None:
            make_directories(path.parent)
            _create(path)
        elif not os.access(path, os.R_OK | os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        elif mode & (stat.S_IRWXG | stat.S_IRWXO):
            log.warning(
                "Other users of this machine can read the database %s, which holds conversations: run chmod 600 on it.",
                path,
                extra={"action": "database_readable", "mode": oct(stat.S_IMODE(mode))},
            )
    except OSError as error:
        raise OperatorError(f"Could not open the database {path}: {error.strerror}. {ELSEWHERE}") from error


def check_files(path: Path) -> int | None:
    """Return the mode of the database file without opening it. None if it does not exist.

    Opening and closing the file would drop the locks that SQLite holds on it in this process.

    Raises `OperatorError` for the database and for the files that SQLite keeps next to it. Each must be a regular file
    of this user, with a single name (no links).
    """
    try:
        for end in _BESIDE:
            _check_status(path.with_name(path.name + end))
        status = _check_status(path)
    except OSError as error:
        raise OperatorError(f"The database {path} cannot be opened: {error.strerror}. {ELSEWHERE}") from error
    return None if status is None else status.st_mode


def open_beside(path: Path, flags: int) -> int:
    """Open a file that askback keeps next to the database, and return its descriptor.

    Raises `OperatorError` for everything that `check_files` rejects, and `OSError`.
    """
    try:
        # O_NONBLOCK, because opening a named pipe would block.
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.EISDIR, errno.ENXIO):
            _check_status(path)
        raise
    try:
        _check(path, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def make_directories(directory: Path) -> None:
    """Create the missing parts of a directory's path, accessible to this user only."""
    missing: list[Path] = []
    while not directory.exists():
        missing.append(directory)
        directory = directory.parent
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
        each.chmod(0o700)


def _create(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        _check_status(path)  # another process created it first
        return
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _check_status(path: Path) -> os.stat_result | None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    _check(path, status)
    return status


def _check(path: Path, status: os.stat_result) -> None:
    """Raise `OperatorError` unless it is a regular file of this user with a single name."""
    shown = shlex.quote(str(path))
    if stat.S_ISLNK(status.st_mode):
        raise OperatorError(
            f"{path} is a symbolic link. askback does not follow links to its database, because the link's owner could "
            f"choose what is overwritten. Set ASKBACK_DATABASE_URL to the file itself (readlink -f {shown}), or remove "
            "the link."
        )
    if not stat.S_ISREG(status.st_mode):
        kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise OperatorError(f"{path} cannot be the database, because it is {kind}. {ELSEWHERE}")
    if status.st_nlink > 1:
        raise OperatorError(
            f"{path} has {status.st_nlink} names (hard links), so two processes could use it without noticing each "
            f"other. List the names with find / -xdev -samefile {shown}, and remove all but one."
        )
    if status.st_uid not in (os.geteuid(), 0) and (os.geteuid() != 0 or _is_open_to_all(path.parent)):
        raise OperatorError(
            f"{path} belongs to another user, who could change people's answers in it. Run askback as that user, or "
            "set ASKBACK_DATABASE_URL to a file of your own."
        )


def _is_open_to_all(directory: Path) -> bool:
    return bool(directory.stat().st_mode & stat.S_IWOTH)
