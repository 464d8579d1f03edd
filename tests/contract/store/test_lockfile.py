"""The files of the database: their permissions, and the lock of the working process."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from askback.errors import OperatorError
from askback.store.external_access import find_worker_pid, list_away_platforms, list_worker_platforms
from askback.store.queries.platform_claims import ServedPlatforms
from askback.store.sqlite.database import SqliteDatabase
from askback.store.sqlite.files import create_private
from askback.store.sqlite.lockfile import DatabaseInUse, WorkerLock


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o277])
async def test_the_files_are_their_owners_alone_whatever_the_umask(tmp_path: Path, mask: int):
    path = tmp_path / "new" / "directory" / "askback.db"
    with umask(mask):
        writer = SqliteDatabase(path)
        await writer.run(lambda connection: connection.exec_driver_sql("INSERT INTO meta VALUES ('a', 'b')") and None)
        with WorkerLock(path):
            modes = {each.name: mode(each) for each in path.parent.iterdir()}
        await writer.close()
    assert modes == dict.fromkeys(["askback.db", "askback.db-wal", "askback.db-shm", "askback.db.lock"], 0o600)
    assert [mode(path.parent), mode(path.parent.parent)] == [0o700, 0o700]


def test_a_file_that_is_there_keeps_its_mode_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "askback.db"
    path.touch()
    path.chmod(0o640)
    with caplog.at_level(logging.WARNING, logger="askback.store"):
        create_private(path)
    assert mode(path) == 0o640
    assert "run chmod 600" in caplog.text


def test_what_cannot_be_a_database_is_refused_in_words(tmp_path: Path):
    (tmp_path / "directory").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    for path, said in [
        (tmp_path / "directory", "because it is a directory"),
        (tmp_path / "pipe", "because it is not a regular file"),
        (tmp_path / "file" / "askback.db", "Not a directory"),
        (tmp_path / ("x" * 300), "File name too long"),
    ]:
        with pytest.raises(OperatorError, match=said):
            SqliteDatabase(path)


def test_a_file_that_is_something_else_is_refused_in_words(tmp_path: Path):
    path = tmp_path / "notes.txt"
    path.write_text("Buy milk. " * 1000)
    with pytest.raises(OperatorError, match="file is not a database"):
        SqliteDatabase(path)
    assert path.read_text().startswith("Buy milk.")


HOLD = (
    "import pathlib, sys\n"
    "from askback.store.sqlite.lockfile import WorkerLock\n"
    "WorkerLock(pathlib.Path(sys.argv[1])).acquire()\n"
    "print('held', flush=True)\n"
    "sys.stdin.read()\n"
)


def test_a_second_process_is_told_which_one_works_already(tmp_path: Path):
    path = tmp_path / "askback.db"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        second = subprocess.run(
            [sys.executable, "-c", HOLD, str(path)],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert second.returncode == 1
        assert f"Another askback already uses this database (process {holder.pid}, lock file" in second.stderr
        assert "Stop it first" in second.stderr

        # The kernel still releases the lock, and the stale number in the file misleads no process.
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert (tmp_path / "askback.db.lock").read_text() == f"{holder.pid}\n"
    with WorkerLock(path) as lock:
        assert lock.path.read_text() == f"{os.getpid()}\n"


def test_a_lock_that_was_let_go_can_be_taken_again(tmp_path: Path):
    lock = WorkerLock(tmp_path / "askback.db")
    lock.acquire()
    with pytest.raises(OperatorError, match=f"process {os.getpid()}"):
        WorkerLock(tmp_path / "askback.db").acquire()
    lock.release()
    lock.release()
    with WorkerLock(tmp_path / "askback.db"):
        pass


@pytest.mark.parametrize("served", [None, frozenset[str](), frozenset({"slack"}), frozenset({"a b", "slack2"})])
def test_what_a_process_serves_is_read_as_it_said_and_nothing_is_not_everything(
    tmp_path: Path, served: ServedPlatforms
):
    path = tmp_path / "askback.db"
    with WorkerLock(path, "a program", served):
        assert list_worker_platforms(path) == served


def test_others_read_which_platforms_a_process_cannot_serve_now_and_why(tmp_path: Path):
    path = tmp_path / "askback.db"
    assert list_away_platforms(path) == {}
    with WorkerLock(path, "a program", frozenset({"slack"})):
        assert list_away_platforms(path) == {}
    with WorkerLock(path, "a program", frozenset({"slack"}), frozenset({"discord"})) as lock:
        assert list_away_platforms(path) == {"discord": ""}
        reason = "Could not reach it.\n“Check” the network: 世界. " + "x" * 5000
        lock.announce(frozenset({"slack"}), {"discord": reason, "board": ""})
        away = list_away_platforms(path)
        assert set(away) == {"discord", "board"}
        assert reason.startswith(away["discord"])
        assert "the network" in away["discord"]
        assert list_worker_platforms(path) == {"slack"}
        lock.announce(frozenset({"slack", "discord"}), {})
        assert (list_worker_platforms(path), list_away_platforms(path)) == ({"slack", "discord"}, {})
        assert find_worker_pid(path) == os.getpid()
    lock.announce(frozenset(), {})
    assert list_worker_platforms(path) == {"slack", "discord"}  # another process may have the lock by now


def test_two_workers_never_share_a_file_that_was_renamed_or_linked(tmp_path: Path):
    first, second = tmp_path / "a.db", tmp_path / "b.db"
    with WorkerLock(first):
        writer = SqliteDatabase(first)
        first.rename(second)
        holder = subprocess.run(
            [sys.executable, "-c", HOLD, str(second)], capture_output=True, text=True, check=False, stdin=-3
        )
        assert holder.returncode == 1
        assert "which was renamed after that one started" in holder.stderr
        second.rename(first)
        asyncio.run(writer.close())
    second.hardlink_to(first)
    with pytest.raises(OperatorError, match="has 2 names"):
        WorkerLock(second).acquire()
    second.unlink()
    second.symlink_to(first)
    with pytest.raises(OperatorError, match="is a symbolic link"):
        WorkerLock(second).acquire()
    (tmp_path / "folder").symlink_to(tmp_path, target_is_directory=True)
    with WorkerLock(first), pytest.raises(DatabaseInUse):
        WorkerLock(tmp_path / "folder" / "a.db").acquire()


def test_looking_at_the_files_drops_none_of_sqlites_own_locks(tmp_path: Path):
    """Closing any descriptor of a file drops what the process has locked in it."""
    path = tmp_path / "askback.db"
    with WorkerLock(path), closing(sqlite3.connect(path, isolation_level=None)) as held:
        held.execute("CREATE TABLE t (x)")
        held.execute("BEGIN EXCLUSIVE")
        create_private(path)
        with pytest.raises(OperatorError):
            WorkerLock(path).acquire()
        other = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
        done = subprocess.run([sys.executable, "-c", other, str(path)], capture_output=True, text=True, check=False)
        assert "database is locked" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_that_somebody_else_planted_where_anybody_may_is_refused(tmp_path: Path):
    path = tmp_path / "askback.db"
    path.touch(0o666)
    os.chown(path, 12345, 12345)
    create_private(path)  # root may access the files of others
    tmp_path.chmod(0o1777)
    with pytest.raises(OperatorError, match="belongs to another user"):
        create_private(path)
