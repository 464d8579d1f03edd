"""`askback backup FILE`: a complete copy or none, during any other work and after any failure."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from askback.domain.actions import Choose
from askback.domain.form import Form, Option, Question
from askback.domain.open_ask_limits import Limits
from askback.domain.who import Who
from askback.errors import AskbackError
from askback.store.errors import StoreBusy
from askback.store.migrate import NEWEST
from askback.store.sqlite.database import SqliteDatabase
from support.board import ANN, Board
from support.engine import Place, engine

from .operators import askback

FORM = Form(
    questions=(
        Question(
            id="colour",
            prompt="Which colour?",
            options=(Option(value="green", label="Green"), Option(value="blue", label="Blue")),
        ),
    )
)
MEGABYTES = 60


@pytest.fixture
def database(database: Path) -> Path:
    """The operator's database, with askback's tables."""
    asyncio.run(SqliteDatabase(database).close())
    return database


@pytest.fixture
def large(database: Path) -> Path:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executemany(
            "INSERT INTO meta (name, value) VALUES (?, ?)",
            ((str(number), os.urandom(500_000).hex()) for number in range(MEGABYTES)),
        )
    return database


def refused(*arguments: str) -> str:
    """Check that the command fails with an error of askback's; return its message."""
    done = askback("backup", *arguments)
    assert isinstance(done.exception, AskbackError)
    return str(done.exception)


def process(folder: Path, *arguments: str, **more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "askback", "backup", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_it_is_one_whole_file_that_only_its_owner_can_read(database: Path) -> None:
    before = files(database.parent)
    done = askback("backup", "copy.db")
    assert done.exit_code == 0
    assert done.stdout.startswith("Backed up askback.db to copy.db: ")
    assert done.stdout.endswith("kB, 0 open questions.\n")
    assert files(database.parent) == {*before, "copy.db"}
    assert stat.S_IMODE((database.parent / "copy.db").stat().st_mode) == 0o600
    with closing(sqlite3.connect("copy.db")) as copy:
        assert copy.execute("SELECT version_num FROM askback_version").fetchone() == (NEWEST,)
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_what_is_there_is_not_replaced_unless_that_is_said(database: Path) -> None:
    copy = database.parent / "copy.db"
    copy.write_text("mine")
    assert "already exists, and was not changed. To replace it, add --force." in refused("copy.db")
    assert copy.read_text() == "mine"
    assert askback("backup", "--force", "copy.db").exit_code == 0
    assert copy.read_bytes().startswith(b"SQLite format 3")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_a_database_in_use_is_never_replaced(database: Path) -> None:
    other = database.with_name("other.db")
    with closing(sqlite3.connect(other)) as used:
        used.execute("PRAGMA journal_mode = WAL")
        used.execute("CREATE TABLE t (x)")
        assert "is a database in use" in refused("--force", "other.db")


@pytest.mark.parametrize("name", ["askback.db", "./askback.db", "link.db", "askback.db-wal", "askback.db.lock"])
def test_the_database_itself_is_never_overwritten(database: Path, name: str) -> None:
    database.with_name("link.db").symlink_to(database)
    whole = database.read_bytes()
    assert "belongs to the database itself" in refused("--force", name)
    assert database.read_bytes() == whole


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nowhere/copy.db", "There is no folder nowhere for the backup: create it first."),
        (".", "is a folder: give the name of a file"),
        ("folder", "is a folder: give the name of a file"),
    ],
)
def test_a_target_that_cannot_be_is_told(database: Path, target: str, words: str) -> None:
    (database.parent / "folder").mkdir()
    assert words in refused(target)


def test_no_database_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKBACK_DATABASE_URL", "nothing.db")
    assert "There is no database nothing.db to back up." in refused("copy.db")
    assert not files(tmp_path)


def set_version(database: Path, version: str) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE askback_version SET version_num = ?", (version,))


def test_one_of_an_older_askback_is_backed_up_before_it_is_brought_up_to_date(database: Path) -> None:
    set_version(database, "0001_first_release")
    done = askback("backup", "copy.db")
    assert done.exit_code == 0
    assert "An older askback wrote it (version 0001_first_release)" in done.stdout


def test_one_of_a_newer_askback_is_left_to_that(database: Path) -> None:
    set_version(database, "9999_from_the_future")
    assert "A newer askback wrote this database (version 9999_from_the_future)" in refused("copy.db")
    assert "copy.db" not in files(database.parent)


def test_what_is_no_database_of_ours_is_told(database: Path) -> None:
    database.unlink()
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE t (x)")
    assert "is empty or belongs to another program" in refused("copy.db")
    database.write_bytes(b"no database at all" * 1000)
    assert "Could not back up" in refused("copy.db")
    assert files(database.parent) == {"askback.db"}


def test_a_damaged_database_makes_no_back_up(large: Path) -> None:
    with large.open("r+b") as file:
        file.seek(40 * 4096)
        file.write(os.urandom(4096 * 200))
    words = refused("copy.db")
    assert "damaged" in words or "malformed" in words
    assert "There is no new" in words or "there is no new" in words
    assert "copy.db" not in files(large.parent)


@pytest.mark.parametrize("url", ["postgresql://me:geheim@db/askback", "postgresql+psycopg://me:geheim@db/askback"])
def test_of_postgresql_it_says_what_to_do_without_the_password(
    database: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("ASKBACK_DATABASE_URL", f"{url}?sslmode=require&sslpassword=geheim")
    words = refused("my copy.dump")
    assert "pg_dump --format=custom '--file=my copy.dump' 'postgresql://me@db/askback?sslmode=require'" in words
    assert "geheim" not in words


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_nothing_behind(large: Path, number: int, code: int) -> None:
    before = files(large.parent)
    running = process(large.parent, "copy.db")
    while not files(large.parent) - before and running.poll() is None:
        pass
    running.send_signal(number)
    said, problem = running.communicate(timeout=60)
    assert (running.returncode, problem) == (code, ""), said
    assert "without a new backup" in said
    assert files(large.parent) == before


def too_small() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (MEGABYTES * 500_000, -1))


def test_without_room_nothing_is_left_behind(large: Path) -> None:
    before = files(large.parent)
    running = process(large.parent, "copy.db", preexec_fn=too_small)
    _, problem = running.communicate(timeout=60)
    assert running.returncode == 2
    assert "no new file" in problem
    assert "Traceback" not in problem
    assert files(large.parent) == before


async def test_while_people_answer_each_copy_is_of_one_moment_and_everything_open_in_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers and questions continue in this process, while another process makes three copies."""
    live, over = tmp_path / "live", asyncio.Event()
    live.mkdir()
    limits = Limits(seconds_between_asks=0, pending_per_place=1000)
    board = Board()

    async def busy(one: Any, number: int) -> None:
        place = Place(platform="board", tenant="T1", channel="C1", thread=str(number))
        while not over.is_set():
            task = asyncio.create_task(one.manager.ask(FORM, to=place, who=Who.from_people(ANN), timeout=None))
            (card,) = await board.until(lambda: [ask for ask in board.open() if ask.place == place])
            while not task.done():
                # If the machine stalls for 2 s a click is refused, and people click again.
                with suppress(StoreBusy):
                    await one.press(card, Choose(index=1))
                    await task

    copies = [tmp_path / f"{number}" / "askback.db" for number in range(3)]
    monkeypatch.setenv("ASKBACK_DATABASE_URL", str(live / "askback.db"))
    async with engine(live, board, limits=limits) as one, asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(
            one.manager.ask(FORM, to=Place(platform="board", channel="C2"), who=Who.from_people(ANN), timeout=None)
        )
        await one.asked()
        for number in range(8):
            tasks.create_task(busy(one, number))
        for copy in copies:
            copy.parent.mkdir()
            running = await asyncio.to_thread(process, tmp_path, str(copy))
            said, problem = await asyncio.to_thread(running.communicate)
            assert running.returncode == 0, problem
            assert "open question" in said
        over.set()
        waiting.cancel()
    for copy in copies:
        restored = Board()
        async with engine(copy.parent, restored, limits=limits) as two:
            for ask in await two.manager.list_open_asks():
                await two.press(ask, Choose(index=0), draw=False)
            assert not await two.manager.list_open_asks()
            assert two.store is not None
        with closing(sqlite3.connect(copy)) as looked:
            assert looked.execute("PRAGMA foreign_key_check").fetchall() == []
            settled = "SELECT count(*) FROM asks WHERE (status = 'open') != (outcome IS NULL)"
            assert looked.execute(settled).fetchone() == (0,)


async def test_commits_beside_it_do_not_begin_it_anew(large: Path) -> None:
    """SQLite restarts a copy at each commit of another connection, unless a snapshot is held."""
    writer = await asyncio.to_thread(SqliteDatabase, large)
    commit: Callable[[], Any] = lambda: writer.run(  # noqa: E731
        lambda connection: connection.execute(text("UPDATE meta SET value = value || 'x' WHERE name = '0'")).rowcount
    )
    try:
        running = await asyncio.to_thread(process, large.parent, "copy.db")
        commits = 0
        while running.poll() is None:
            await commit()
            commits += 1
        assert running.returncode == 0
        assert commits > 10
        running.communicate()
    finally:
        await writer.close()
