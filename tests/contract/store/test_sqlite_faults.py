"""The writer's behaviour when the database, another process or the machine fails."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert
from sqlalchemy.exc import IntegrityError

from askback.store.errors import StoreBusy, StoreError, StoreUnavailable
from askback.store.schema import transcript
from askback.store.sqlite.database import SqliteDatabase
from support.meta_rows import add


@asynccontextmanager
async def opened(path: Path, **limits: Any) -> AsyncIterator[SqliteDatabase]:
    writer = SqliteDatabase(path, **{"batch_seconds": 60, **limits})
    try:
        yield writer
    finally:
        await writer.close()


@pytest.fixture
async def writer(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    async with opened(tmp_path / "askback.db") as writer:
        yield writer


def names(path: Path) -> list[str]:
    with sqlite3.connect(path) as other:
        found = [name for (name,) in other.execute("SELECT name FROM meta ORDER BY rowid")]
        assert other.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    other.close()
    return found


async def together(writer: SqliteDatabase, *works: Callable[[Connection], Any]) -> list[Any]:
    """Return the results of works that share one batch: all are queued before the first one is released."""
    reached, gate = threading.Event(), threading.Event()

    def holding(connection: Connection) -> None:
        reached.set()
        assert gate.wait(60)

    tasks = [asyncio.create_task(writer.run(work)) for work in (holding, *works)]
    assert await asyncio.to_thread(reached.wait, 60)
    gate.set()
    return (await asyncio.gather(*tasks, return_exceptions=True))[1:]


def orphan(connection: Connection) -> None:
    """Fail only at the COMMIT: the check of an invalid reference is deferred until then."""
    connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
    row = {"conversation_id": "nowhere", "seq": 0, "role": "user", "content": "[]", "created_at": 0}
    connection.execute(insert(transcript), row)


async def test_a_commit_that_fails_is_told_to_the_whole_batch_and_the_writer_goes_on(
    writer: SqliteDatabase, caplog: pytest.LogCaptureFixture
):
    def own_error(connection: Connection) -> None:
        raise LookupError

    results = await together(writer, add("before"), orphan, own_error, add("after"))
    assert [type(result) for result in results] == [StoreUnavailable] * 4
    assert len({id(result) for result in results}) == 4
    assert "FOREIGN KEY constraint failed" in str(results[0])
    assert not any(result.in_doubt for result in results)
    assert names(writer.path) == []
    assert [getattr(record, "action", None) for record in caplog.records] == ["commit_failed"]
    assert await writer.run(add("later")) == "later"
    assert names(writer.path) == ["later"]


async def test_a_full_database_refuses_what_does_not_fit_and_takes_what_does(writer: SqliteDatabase):
    def full(connection: Connection) -> None:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    await writer.run(full)
    results = await together(writer, add("small"), add("big", "x" * 100_000), add("also small"))
    assert results[0::2] == ["small", "also small"]
    assert isinstance(results[1], StoreUnavailable)
    assert "database or disk is full (free space on its disk). Nothing was changed." in str(results[1])
    await writer.run(lambda connection: connection.exec_driver_sql("PRAGMA max_page_count = 100000") and None)
    await writer.run(add("big", "x" * 100_000))
    assert names(writer.path) == ["small", "also small", "big"]


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """Make the kernel refuse to let any file of this process grow beyond `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


async def test_a_disk_that_takes_no_more_fails_the_commit_and_nothing_else(writer: SqliteDatabase):
    await writer.run(add("acknowledged"))
    log = writer.path.with_name("askback.db-wal")
    with no_file_larger_than(log.stat().st_size + 100):
        results = await together(writer, add("one"), add("two"))
        assert [type(result) for result in results] == [StoreUnavailable] * 2
        assert "check its disk" in str(results[0])
        # An I/O error in the COMMIT: SQLite undid it, but only the next commit makes that certain.
        assert [result.in_doubt for result in results] == [True, True]
        assert names(writer.path) == ["acknowledged"]
    await writer.run(add("later"))
    assert names(writer.path) == ["acknowledged", "later"]


@pytest.mark.parametrize("swallowed", [False, True])
async def test_a_work_with_which_sqlite_ends_the_transaction_costs_the_others_nothing(
    writer: SqliteDatabase, swallowed: bool
):
    # SQLite rolls back automatically after some errors, such as a full disk; or on request, as here.
    def ends_it(connection: Connection) -> None:
        try:
            connection.exec_driver_sql("INSERT OR ROLLBACK INTO meta VALUES ('twice', ''), ('twice', '')")
        except IntegrityError:
            if not swallowed:
                raise

    results = await together(writer, add("before"), ends_it, add("between"), ends_it, add("after"))
    assert results[0::2] == ["before", "between", "after"]
    expected = StoreUnavailable if swallowed else IntegrityError
    assert [type(result) for result in results[1::2]] == [expected, expected]
    assert names(writer.path) == ["before", "between", "after"]


@contextmanager
def write_lock(path: Path) -> Iterator[None]:
    """Hold the write lock, like another program that writes to the same file."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


async def test_another_process_that_keeps_the_database_makes_it_busy_for_all_who_wait(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    async with opened(tmp_path / "askback.db", lock_seconds=0.5) as writer:
        # Depending on the level, the creation of the tables is logged, too.
        caplog.clear()
        with write_lock(writer.path):
            works = (writer.run(add(str(number))) for number in range(100))
            results = await asyncio.gather(*works, return_exceptions=True)
            assert {type(result) for result in results} == {StoreBusy}
            assert "another process has locked it" in str(results[0])
            assert not any(isinstance(result, StoreError) and result.in_doubt for result in results)
            # All at once; one after the other they would wait for a minute.
            assert [getattr(record, "action", None) for record in caplog.records] == ["begin_failed"]
        await writer.run(add("later"))
        assert names(writer.path) == ["later"]


async def test_a_deadline_is_kept_while_another_process_keeps_the_database(tmp_path: Path):
    async with opened(tmp_path / "askback.db", lock_seconds=60) as writer:
        with write_lock(writer.path):
            patient = asyncio.create_task(writer.run(add("patient")))
            with pytest.raises(StoreBusy, match="Nothing was changed") as refusal:
                await writer.run(add("late"), within=0.05)
            assert not refusal.value.in_doubt
        await patient
        assert names(writer.path) == ["patient"]


async def test_a_deadline_during_the_commit_itself_is_in_doubt_and_says_so(
    writer: SqliteDatabase, caplog: pytest.LogCaptureFixture
):
    reached, gate = threading.Event(), threading.Event()

    def at_commit(statement: str) -> None:
        if statement == "COMMIT":
            reached.set()
            assert gate.wait(60)

    def slow_disk(connection: Connection) -> None:
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        raw.set_trace_callback(at_commit)
        add("slow")(connection)

    task = asyncio.create_task(writer.run(slow_disk, within=1.0))
    assert await asyncio.to_thread(reached.wait, 60)
    with pytest.raises(StoreBusy, match="The change may or may not be saved") as refusal:
        await task
    assert refusal.value.in_doubt
    assert names(writer.path) == []
    gate.set()
    await writer.run(lambda _: None)
    assert names(writer.path) == ["slow"]
    assert [getattr(record, "action", None) for record in caplog.records] == ["commit_late"]
    assert caplog.records[0].levelno == logging.WARNING


BUSY_CHILD = """
import asyncio, itertools, os, pathlib, sys
from sqlalchemy import insert
from askback.store.schema import meta
from askback.store.sqlite.database import SqliteDatabase

numbers = itertools.count()

async def one(writer):
    while True:
        name = f"{os.getpid()}-{next(numbers)}"
        await writer.run(lambda c: c.execute(insert(meta), {"name": name, "value": "x" * 200}) and None)
        os.write(1, f"{name}\\n".encode())

async def main():
    writer = SqliteDatabase(pathlib.Path(sys.argv[1]))
    await asyncio.gather(*(one(writer) for _ in range(32)))

asyncio.run(main())
"""


def test_what_was_acknowledged_outlives_kill_9(tmp_path: Path):
    path = tmp_path / "askback.db"
    acknowledged: list[str] = []
    for after in (1, 100, 1000, 3000):
        child = subprocess.Popen([sys.executable, "-c", BUSY_CHILD, str(path)], stdout=subprocess.PIPE, text=True)
        with child:
            assert child.stdout is not None
            acknowledged += [child.stdout.readline().strip() for _ in range(after)]
            child.kill()
            acknowledged += child.stdout.read().split()
        assert child.returncode == -signal.SIGKILL
        stored = names(path)
        assert set(acknowledged) <= set(stored)
        assert len(acknowledged) == len(set(acknowledged))
        # At most the work in flight at that moment.
        assert len(stored) - len(acknowledged) <= 32 * 4
    assert len(acknowledged) > 4000

    async def go_on() -> None:
        async with opened(path) as writer:
            await writer.run(add("goes on"))

    asyncio.run(go_on())
    assert names(path)[-1] == "goes on"
