"""Run `askback backup FILE`: copy one snapshot of the database while the bot keeps running."""

from __future__ import annotations

__all__ = ["backup", "refuse_postgres"]

import errno
import os
import secrets
import shlex
import signal
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.progress import Progress
from rich.text import Text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from askback.errors import OperatorError
from askback.internal.clock import now
from askback.internal.folder import flush_folder
from askback.store.external_access import ELSEWHERE, check_version, find_worker_pid, is_older, open_file, read_version
from askback.store.sqlite.error_mapping import format_reason, get_code
from askback.text.terminal import to_terminal_text

STEP_PAGES = 256
"""Pages copied between two checks for a signal: about a megabyte."""
LOOK_EVERY = 100_000
"""SQLite's steps between two checks for a signal while the copy is checked."""
BESIDE = ("-wal", "-shm", "-journal")
"""Files that exist next to a database while it is used, or after a process died while using it."""
OURS = (*BESIDE, ".lock", ".sock")
REDRAW = (
    "UPDATE asks SET drawn_revision = -1 WHERE status = 'open' AND messages != '[]'",
    """INSERT OR IGNORE INTO outbox (target, kind, conversation_id, ask_id, revision, due_at)
    SELECT 'ask:' || id, 'card', conversation_id, id, revision, :now FROM asks
    WHERE status = 'open' AND messages != '[]'""",
)
"""Statements that queue every open card of the copy for redrawing. By the time the copy is restored, the chat may show
these questions as settled. A bot that starts on the copy draws their buttons again.
"""


class _Ended(Exception):
    """Raised when a signal ends the backup, so that no file is left behind."""


def backup(database: Path, target: Path, console: Console, *, force: bool) -> int:
    """Copy the database, check the copy, and only then give it its name. Return the exit code.

    Raises `OperatorError`; no new file exists then.
    """
    if not database.exists():
        raise OperatorError(f"There is no database {to_terminal_text(str(database))} to back up. {ELSEWHERE}")
    _check_target(database, target, force=force)
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    with _catch_signals() as ended:
        try:
            _create(part)
            older = _copy(database, part, ended)
            open_asks = _check(part, ended, redraw=older is None)
            size = _store(part)
            if ended():
                raise _Ended
            _name(part, target, force=force)
        except _Ended:
            console.print(Text("Interrupted, without a new backup."))
            return 128 + ended()
        except OSError as error:
            raise OperatorError(_describe_write_error(target, error)) from error
        except (sqlite3.Error, DBAPIError) as error:
            raise OperatorError(_describe_backup_error(database, target, error)) from error
        finally:
            _remove(part)
    console.print(
        Text(
            f"Backed up {_format_path(database)} to {_format_path(target)}: {_format_size(size)}, "
            f"{_format_question_count(open_asks)}."
        )
    )
    if older is not None:
        console.print(Text(f"An older askback wrote it (version {older}). A bot that starts on it upgrades it."))
    return 0


def refuse_postgres(url: str, target: Path) -> None:
    """Raise `OperatorError` with instructions if the database is PostgreSQL, which has its own tool for backups."""
    if url.strip().partition("://")[0].partition("+")[0].lower() not in {"postgres", "postgresql"}:
        return
    words = ["pg_dump", "--format=custom", f"--file={target}", _remove_password(url)]
    raise OperatorError(
        "askback does not back up PostgreSQL. Use pg_dump, also while bots run, with the password in PGPASSWORD or "
        f"~/.pgpass: {to_terminal_text(shlex.join(words))}"
    )


def _remove_password(url: str) -> str:
    try:
        parsed = make_url(url.strip()).set(drivername="postgresql")._replace(password=None)
    except (ArgumentError, ValueError):
        return "postgresql://…"
    secret = [name for name in parsed.query if "password" in name.lower()]
    return parsed.difference_update_query(secret).render_as_string()


def _check_target(database: Path, target: Path, *, force: bool) -> None:
    shown = _format_path(target)
    where = target.resolve()
    if not target.name:
        raise OperatorError(f"{shown} is a folder: give the name of a file for the backup.")
    if where in {database.resolve(), *(database.resolve().with_name(database.name + end) for end in OURS)}:
        raise OperatorError(f"{shown} belongs to the database itself: give another file for the backup.")
    if not target.parent.is_dir():
        raise OperatorError(f"There is no folder {_format_path(target.parent)} for the backup: create it first.")
    if target.is_dir():
        raise OperatorError(f"{shown} is a folder: give the name of a file for the backup.")
    if not os.path.lexists(target):
        return
    if not force:
        raise OperatorError(f"{shown} already exists, and was not changed. To replace it, add --force.")
    if not target.is_file():
        raise OperatorError(f"{shown} is not a regular file, so a backup cannot replace it. Give another file.")
    used = [target.with_name(target.name + end) for end in BESIDE]
    if find_worker_pid(target) is not None or any(map(os.path.lexists, used)):
        raise OperatorError(f"{shown} is a database in use, and was not changed: give another file for the backup.")


def _create(part: Path) -> None:
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _copy(database: Path, part: Path, ended: Callable[[], int]) -> str | None:
    """Copy one snapshot. Return the database's version if that is an older one.

    The transaction keeps the snapshot while the bot continues. Otherwise every commit would restart the copy.
    """
    with open_file(database) as connection, closing(sqlite3.connect(part, isolation_level=None)) as copy:
        connection.exec_driver_sql("BEGIN")
        version = read_version(connection)
        if version is None or not is_older(version):
            check_version(connection)
        source = cast("sqlite3.Connection", connection.connection.driver_connection)
        # An incomplete copy is discarded. So the copy needs no journal, and one flush at the end is enough.
        copy.execute("PRAGMA journal_mode = OFF")
        copy.execute("PRAGMA synchronous = OFF")
        with Progress(
            console=Console(stderr=True), transient=True, disable=not Console(stderr=True).is_terminal
        ) as bar:
            task = bar.add_task("Copying", total=None)

            def on_progress(_: int, remaining: int, total: int) -> None:
                if ended():
                    raise _Ended
                bar.update(task, total=total, completed=total - remaining)

            source.backup(copy, pages=STEP_PAGES, progress=on_progress)
        return version if version is not None and is_older(version) else None


def _check(part: Path, ended: Callable[[], int], *, redraw: bool) -> int:
    """Check that the copy is whole, and make it one file. Return its number of open questions."""
    with closing(sqlite3.connect(part, isolation_level=None)) as copy:
        copy.set_progress_handler(lambda: int(bool(ended())), LOOK_EVERY)
        try:
            # In exclusive mode it needs no file for shared memory.
            copy.execute("PRAGMA locking_mode = EXCLUSIVE")
            copy.execute("PRAGMA journal_mode = DELETE")
            found = [str(row[0]) for row in copy.execute("PRAGMA integrity_check(5)")]
            if found != ["ok"]:
                raise OperatorError(
                    f"The copy is damaged, so the database probably is, too ({to_terminal_text(found[0])}). "
                    "There is no new backup. Keep the older ones, and run `askback doctor`."
                )
            if redraw:
                for statement in REDRAW:
                    copy.execute(statement, {"now": now()})
            (count,) = copy.execute("SELECT count(*) FROM asks WHERE status = 'open'").fetchone()
        except sqlite3.OperationalError:
            if ended():
                raise _Ended from None
            raise
    return int(count)


def _store(part: Path) -> int:
    """Flush the copy to the disk, and return its size in bytes."""
    descriptor = os.open(part, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def _name(part: Path, target: Path, *, force: bool) -> None:
    if force:
        part.replace(target)
    else:
        try:
            os.link(part, target)  # unlike a renaming, a link never replaces a file created meanwhile
        except FileExistsError:
            raise OperatorError(
                f"{_format_path(target)} was created by another program meanwhile, and was not changed: try again."
            ) from None
        except OSError:
            part.rename(target)  # a file system without links
    flush_folder(target.parent)


def _remove(part: Path) -> None:
    for end in ("", *BESIDE):
        # If this fails, the file's name explains what it is.
        with suppress(OSError):
            part.with_name(part.name + end).unlink()


@contextmanager
def _catch_signals() -> Generator[Callable[[], int]]:
    """Keep signals from ending the process until the block ends; yield a function that returns the last one, or 0."""
    came = [0]

    def note(number: int, _: object) -> None:
        came[0] = number

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield lambda: came[0]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _describe_write_error(target: Path, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _describe_full_disk(target)
    return f"Could not write the backup {_format_path(target)}: {error.strerror}."


def _describe_backup_error(database: Path, target: Path, error: sqlite3.Error | DBAPIError) -> str:
    if get_code(error) == sqlite3.SQLITE_FULL:
        return _describe_full_disk(target)
    return (
        f"Could not back up {_format_path(database)} to {_format_path(target)}: {format_reason(error)}. "
        "There is no new file. Run `askback doctor` to check the database."
    )


def _describe_full_disk(target: Path) -> str:
    folder = _format_path(target.parent)
    return f"The disk of {folder} has too little space for the backup, so there is no new file: use another disk."


def _format_path(path: Path) -> str:
    return to_terminal_text(str(path))


def _format_size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 1_000_000 else f"{count // 1000} kB"


def _format_question_count(count: int) -> str:
    return "1 open question" if count == 1 else f"{count} open questions"
