"""The writer's promises about transactions, on a real file and with real threads."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, func, select
from sqlalchemy.exc import IntegrityError, OperationalError

from askback.store.errors import StoreBusy, StoreUnavailable
from askback.store.external_access import open_for_writing
from askback.store.schema import meta
from askback.store.sqlite.database import SqliteDatabase
from support.meta_rows import add


@asynccontextmanager
async def opened(path: Path, **limits: Any) -> AsyncIterator[SqliteDatabase]:
    writer = SqliteDatabase(path, **limits)
    try:
        yield writer
    finally:
        await writer.close()


@pytest.fixture
async def writer(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    # A batch takes every waiting work, so that the machine's speed cannot decide a test.
    async with opened(tmp_path / "askback.db", batch_seconds=60) as writer:
        yield writer


def names(path: Path) -> list[str]:
    """Return the committed names, as another connection sees them."""
    with sqlite3.connect(path) as other:
        found = [name for (name,) in other.execute("SELECT name FROM meta ORDER BY rowid")]
    other.close()
    return found


class Gate:
    """A work that blocks the writer's thread until it is released."""

    def __init__(self, then: Callable[[Connection], Any] = lambda connection: None) -> None:
        self.then = then
        self.runs = 0
        self._reached = threading.Event()
        self._open = threading.Event()

    def __call__(self, connection: Connection) -> Any:
        self.runs += 1
        result = self.then(connection)
        self._reached.set()
        assert self._open.wait(60)
        return result

    async def reached(self) -> None:
        assert await asyncio.to_thread(self._reached.wait, 60)

    def open(self) -> None:
        self._open.set()


def submit(writer: SqliteDatabase, work: Callable[[Connection], Any], **options: float) -> asyncio.Task[Any]:
    return asyncio.create_task(writer.run(work, **options))


async def submitted() -> None:
    """Let the existing tasks put their works into the queue."""
    await asyncio.sleep(0)


async def test_a_work_returns_what_it_returns_and_is_on_the_disk(writer: SqliteDatabase):
    assert await writer.run(add("one")) == "one"
    assert names(writer.path) == ["one"]


async def test_works_that_are_there_share_a_commit_and_keep_their_order(writer: SqliteDatabase):
    gate = Gate()
    first = submit(writer, gate)
    await gate.reached()
    before = writer.commits
    others = [submit(writer, add(str(number))) for number in range(200)]
    await submitted()
    gate.open()
    assert await asyncio.gather(first, *others) == [None, *map(str, range(200))]
    assert names(writer.path) == [str(number) for number in range(200)]
    # 201 works, 64 a batch.
    assert writer.commits - before == 4


async def test_a_batch_ends_when_its_time_is_over(tmp_path: Path):
    async with opened(tmp_path / "askback.db", batch_seconds=0) as writer:
        await asyncio.gather(*(writer.run(add(str(number))) for number in range(10)))
        assert writer.commits == 10


async def test_nobody_is_told_before_the_commit(writer: SqliteDatabase):
    gate = Gate()
    ran = threading.Event()

    def observed(connection: Connection) -> None:
        add("early")(connection)
        ran.set()

    holding = Gate()
    started = submit(writer, holding)
    await holding.reached()
    early, late = submit(writer, observed), submit(writer, gate)
    await submitted()
    holding.open()
    await gate.reached()
    # The first one ran, and its batch is blocked in the second.
    assert ran.is_set()
    assert names(writer.path) == []
    await asyncio.sleep(0)
    assert not early.done()
    seen: list[list[str]] = []
    early.add_done_callback(lambda _: seen.append(names(writer.path)))
    gate.open()
    await asyncio.gather(started, early, late)
    assert seen == [["early"]]


async def test_one_that_raises_is_undone_alone_and_hears_it_itself(writer: SqliteDatabase):
    def half(connection: Connection) -> None:
        add("half")(connection)
        raise LookupError("no such ask")

    gate = Gate()
    tasks = [submit(writer, work) for work in (gate, add("before"), half, add("before"), add("after"))]
    await gate.reached()
    gate.open()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [type(None), str, LookupError, IntegrityError, str]
    assert names(writer.path) == ["before", "after"]
    assert writer.commits == 1


async def test_one_that_raises_is_told_after_the_commit_as_well(writer: SqliteDatabase):
    # It may have seen another work's change, which is not committed yet.
    def refused(connection: Connection) -> None:
        raise LookupError(connection.execute(select(func.count()).select_from(meta)).scalar_one())

    gate = Gate()
    tasks = [submit(writer, work) for work in (add("one"), refused, gate)]
    await gate.reached()
    await asyncio.sleep(0)
    assert not tasks[1].done()
    gate.open()
    with pytest.raises(LookupError, match="1"):
        await tasks[1]
    await asyncio.gather(tasks[0], tasks[2])


async def test_a_work_may_have_savepoints_of_its_own(writer: SqliteDatabase):
    def careful(connection: Connection) -> str:
        add("kept")(connection)
        try:
            with connection.begin_nested():
                add("given up")(connection)
                add("kept")(connection)
        except IntegrityError:
            return "noticed"
        return "not noticed"

    assert await writer.run(careful) == "noticed"
    assert names(writer.path) == ["kept"]


@pytest.mark.parametrize(
    ("spoils", "error"),
    [
        (lambda connection: connection.commit(), RuntimeError),
        (lambda connection: connection.rollback(), RuntimeError),
        (lambda connection: connection.begin_nested() and None, RuntimeError),
        (lambda connection: connection.execute(select(meta)), TypeError),
        (lambda connection: connection, TypeError),
        (lambda connection: next(iter(())), RuntimeError),
        (lambda connection: connection.exec_driver_sql("nonsense") and None, OperationalError),
        (lambda connection: exit(3), SystemExit),
    ],
)
async def test_a_work_that_breaks_the_rules_harms_only_itself(
    writer: SqliteDatabase, spoils: Callable[[Connection], Any], error: type[BaseException]
):
    def spoiling(connection: Connection) -> Any:
        add("spoiled")(connection)
        return spoils(connection)

    async def caught() -> BaseException | None:
        # asyncio does not carry a SystemExit over from a task.
        try:
            return await writer.run(spoiling)
        except BaseException as raised:  # noqa: BLE001
            return raised

    gate = Gate()
    tasks = [submit(writer, gate), submit(writer, add("before"))]
    tasks += [asyncio.create_task(caught()), submit(writer, add("after"))]
    await gate.reached()
    gate.open()
    assert isinstance((await asyncio.gather(*tasks))[2], error)
    assert names(writer.path) == ["before", "after"]
    assert await writer.run(add("later")) == "later"


async def test_a_cancelled_caller_drops_a_work_that_has_not_started(writer: SqliteDatabase):
    gate = Gate()
    first = submit(writer, gate)
    await gate.reached()
    dropped, kept = submit(writer, add("dropped")), submit(writer, add("kept"))
    await submitted()
    dropped.cancel()
    with pytest.raises(asyncio.CancelledError):
        await dropped
    gate.open()
    await asyncio.gather(first, kept)
    assert names(writer.path) == ["kept"]


async def test_a_cancelled_caller_does_not_stop_a_work_that_has_started(writer: SqliteDatabase):
    gate = Gate(add("started"))
    task = submit(writer, gate)
    await gate.reached()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.open()
    await writer.run(add("next"))
    assert names(writer.path) == ["started", "next"]
    assert gate.runs == 1


async def test_a_deadline_drops_a_work_that_has_not_started(writer: SqliteDatabase):
    gate = Gate()
    first = submit(writer, gate)
    await gate.reached()
    with pytest.raises(StoreBusy, match="Nothing was changed") as refusal:
        await writer.run(add("late"), within=0.01)
    assert not refusal.value.in_doubt
    gate.open()
    await first
    await writer.run(add("next"), within=60)
    assert names(writer.path) == ["next"]


async def test_each_work_has_its_own_deadline_though_one_timer_watches_them_all(writer: SqliteDatabase):
    await writer.run(add("in time"), within=0.4)
    loop = asyncio.get_running_loop()
    for _ in range(2):
        await asyncio.sleep(0.2)
        gate = Gate()
        holder = submit(writer, gate)
        await gate.reached()
        began = loop.time()
        early, late = (asyncio.create_task(writer.run(add("late"), within=0.4)) for _ in range(2))
        await asyncio.wait([early, late])
        assert 0.4 <= loop.time() - began < 5
        assert [type(task.exception()) for task in (early, late)] == [StoreBusy, StoreBusy]
        gate.open()
        await holder
    assert names(writer.path) == ["in time"]


async def test_a_deadline_takes_a_work_that_ran_out_of_its_batch_again(writer: SqliteDatabase):
    # The caller gets the error while its work is still in the thread, and that is final. The works of its batch, before
    # it and after it, run again without it.
    gate, before, after = Gate(add("late")), Gate(add("before")), Gate(add("after"))
    before.open()
    after.open()
    holding = Gate()
    holder = submit(writer, holding)
    await holding.reached()
    tasks = [submit(writer, before), submit(writer, gate, within=1.0), submit(writer, after)]
    await submitted()
    holding.open()
    await gate.reached()
    with pytest.raises(StoreBusy) as refusal:
        await tasks[1]
    assert not refusal.value.in_doubt
    gate.open()
    assert await asyncio.gather(holder, tasks[0], tasks[2]) == [None, "before", "after"]
    assert names(writer.path) == ["before", "after"]
    assert (before.runs, gate.runs, after.runs, writer.commits) == (2, 1, 2, 1)


async def test_a_deadline_holds_even_if_the_event_loop_stands_still(writer: SqliteDatabase):
    gate = Gate(add("late"))
    task = submit(writer, gate, within=1.0)
    await gate.reached()
    # The loop is blocked, so no timer fires. The thread checks the clock itself before it commits.
    threading.Event().wait(1.1)
    gate.open()
    settled = Gate()
    settled.open()
    other: list[int] = []
    thread = threading.Thread(target=lambda: other.append(asyncio.run(writer.run(lambda _: writer.commits))))
    thread.start()
    thread.join()
    assert names(writer.path) == []
    with pytest.raises(StoreBusy):
        await task
    assert names(writer.path) == []


async def test_several_event_loops_may_submit(writer: SqliteDatabase):
    async def many(prefix: str) -> None:
        await asyncio.gather(*(writer.run(add(f"{prefix}{number}")) for number in range(50)))

    await asyncio.gather(*(asyncio.to_thread(asyncio.run, many(prefix)) for prefix in "abc"), many("d"))
    found = names(writer.path)
    assert len(found) == 200
    for prefix in "abcd":
        assert [name for name in found if name.startswith(prefix)] == [f"{prefix}{number}" for number in range(50)]


async def test_a_loop_that_closed_meanwhile_disturbs_nobody(writer: SqliteDatabase):
    gate = Gate(add("left alone"))

    async def leave() -> None:
        task = submit(writer, gate)
        await gate.reached()
        task.cancel()

    await asyncio.to_thread(asyncio.run, leave())
    gate.open()
    await writer.run(add("next"))
    assert names(writer.path) == ["left alone", "next"]


async def test_reads_do_not_wait_behind_a_batch_and_see_what_is_committed(writer: SqliteDatabase):
    count = select(func.count()).select_from(meta)
    await writer.run(add("committed"))
    gate = Gate(add("not yet"))
    task = submit(writer, gate)
    await gate.reached()
    assert await writer.read(lambda connection: connection.execute(count).scalar_one()) == 1
    gate.open()
    await task
    assert await writer.read(lambda connection: connection.execute(count).scalar_one()) == 2


async def test_a_read_sees_one_snapshot(writer: SqliteDatabase):
    count = select(func.count()).select_from(meta)
    first = Gate(lambda connection: connection.execute(count).scalar_one())

    def twice(connection: Connection) -> tuple[int, int]:
        return first(connection), connection.execute(count).scalar_one()

    task = asyncio.create_task(writer.read(twice))
    await first.reached()
    await writer.run(add("meanwhile"))
    first.open()
    assert await task == (0, 0)


async def test_a_read_cannot_write(writer: SqliteDatabase):
    with pytest.raises(StoreUnavailable, match="readonly"):
        await writer.read(add("smuggled"))
    assert names(writer.path) == []
    assert await writer.read(lambda connection: connection.execute(select(func.count())).scalar_one()) == 1


async def test_foreign_keys_and_durability_are_on(writer: SqliteDatabase):
    def pragmas(connection: Connection) -> list[object]:
        asked = ("journal_mode", "synchronous", "foreign_keys")
        return [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in asked]

    assert await writer.run(pragmas) == ["wal", 2, 1]


async def test_close_finishes_what_is_there_and_leaves_nothing(tmp_path: Path):
    threads = set(threading.enumerate())
    writer = SqliteDatabase(tmp_path / "askback.db")
    assert {thread.name for thread in set(threading.enumerate()) - threads} == {"askback-writer", "askback-reader"}
    tasks = [submit(writer, add(str(number))) for number in range(100)]
    await submitted()
    await asyncio.gather(writer.close(), writer.close())
    assert await asyncio.gather(*tasks) == [str(number) for number in range(100)]
    assert set(threading.enumerate()) == threads
    assert os.listdir(tmp_path) == ["askback.db"]  # noqa: PTH208
    with pytest.raises(StoreUnavailable, match="closed"):
        await writer.run(add("too late"))
    with pytest.raises(StoreUnavailable, match="closed"):
        await writer.read(add("too late"))
    await writer.close()


async def test_close_writes_the_log_back_even_if_somebody_else_has_the_file_open(tmp_path: Path):
    path = tmp_path / "askback.db"
    async with opened(path) as writer:
        await writer.run(add("one"))
        other = sqlite3.connect(path)
        assert other.execute("SELECT count(*) FROM meta").fetchall() == [(1,)]
    assert os.stat(f"{path}-wal").st_size == 0  # noqa: PTH116
    other.close()


async def test_another_process_leaves_the_log_to_the_worker(tmp_path: Path):
    """To write it back takes two flushes to the disk, and commands and doors write a row at a time."""
    path = tmp_path / "askback.db"
    async with opened(path) as writer:
        await writer.run(add("one"))
        async with open_for_writing(path) as other:
            await other.run(add("two"))
        assert os.stat(f"{path}-wal").st_size > 0  # noqa: PTH116
        assert await writer.read(lambda connection: connection.execute(select(func.count(meta.c.name))).scalar()) == 2
    async with open_for_writing(path) as alone:
        await alone.run(add("three"))
    assert os.listdir(tmp_path) == ["askback.db"]  # noqa: PTH208 - the last connection has written it back


def test_a_writer_that_cannot_open_leaves_no_thread(tmp_path: Path):
    threads = set(threading.enumerate())

    def refuses(connection: Connection) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        SqliteDatabase(tmp_path / "askback.db", prepare=refuses)
    assert set(threading.enumerate()) == threads
