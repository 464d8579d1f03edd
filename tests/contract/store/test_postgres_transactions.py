"""The promises about transactions on PostgreSQL, on a real server, with real threads."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, func, insert, select, text, update

from askback.domain.ask import Ask, create_ask_id
from askback.domain.ask_policy import Policy
from askback.domain.interview import start_interview
from askback.domain.open_ask_limits import Limits
from askback.domain.who import Who
from askback.internal.clock import utc_now
from askback.store.errors import StoreBusy, StoreUnavailable
from askback.store.postgres.connection import ReconnectingConnection
from askback.store.postgres.database import PostgresDatabase
from askback.store.schema import inbox, meta
from askback.store.store import Store
from faults.failover.proxy import proxy
from support.meta_rows import add
from support.postgres_database import (
    COLOUR,
    HERE,
    Gate,
    begun,
    heard,
    names,
    opened,
    pid,
    terminate,
)

NO_LIMITS = Limits(seconds_between_asks=0, pending_per_place=1000)


async def test_a_work_that_raises_changed_nothing(database: PostgresDatabase, postgres_url: str) -> None:
    def work(connection: Connection) -> None:
        add("lost")(connection)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await database.run(work)
    assert await database.run(add("kept")) == "kept"
    assert names(postgres_url) == {"kept"}


async def test_a_quiet_process_opens_one_connection_and_a_busy_one_as_many_as_it_may(postgres_url: str) -> None:
    async with opened(postgres_url, connections=4) as database:
        assert len({await database.run(pid) for _ in range(8)}) == 1
        together = threading.Barrier(4)

        def meet(connection: Connection) -> int:
            together.wait(60)
            return pid(connection)

        assert len(set(await asyncio.gather(*(database.run(meet) for _ in range(4))))) == 4


async def test_what_is_not_committed_in_time_is_refused_and_never_committed(
    database: PostgresDatabase, postgres_url: str
) -> None:
    gate = Gate()

    def work(connection: Connection) -> None:
        add("late")(connection)
        gate.stand()

    with pytest.raises(StoreBusy) as refusal:
        await database.run(work, within=0.2)
    assert not refusal.value.in_doubt
    gate.open()
    await database.close()
    assert names(postgres_url) == set()


async def test_a_connection_that_is_lost_before_the_commit_is_opened_anew_and_the_work_run_again(
    database: PostgresDatabase, postgres_url: str
) -> None:
    runs = 0

    def work(connection: Connection) -> None:
        nonlocal runs
        runs += 1
        add("kept")(connection)
        if runs == 1:
            terminate(postgres_url, pid(connection))
            connection.execute(select(1))

    await database.run(work)
    assert (runs, names(postgres_url)) == (2, {"kept"})


async def test_a_transaction_that_the_server_ended_while_it_computed_is_run_again(database: PostgresDatabase) -> None:
    runs = 0

    def work(connection: Connection) -> int:
        nonlocal runs
        runs += 1
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = '50ms'")
        if runs == 1:
            time.sleep(0.5)
        connection.execute(insert(meta).values(name="kept", value="yes"))
        return runs

    assert await database.run(work) == 2
    query = select(meta.c.value).where(meta.c.name == "kept")
    assert await database.read(lambda connection: connection.execute(query).scalar_one()) == "yes"


@pytest.mark.parametrize("within", [None, 30.0], ids=["a work", "a click"])
async def test_a_transaction_that_the_server_ended_before_its_commit_is_not_in_doubt(
    database: PostgresDatabase, postgres_url: str, within: float | None
) -> None:
    """A machine that stalls makes the server count a session as idle. Then it never reads the COMMIT."""
    runs = 0

    def work(connection: Connection) -> None:
        nonlocal runs
        runs += 1
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = '50ms'")
        add("kept")(connection)
        if runs == 1:
            time.sleep(0.5)

    if within is None:
        await database.run(work)
        assert (runs, names(postgres_url)) == (2, {"kept"})
    else:
        with pytest.raises(StoreUnavailable) as refusal:
            await database.run(work, within=within)
        assert not refusal.value.in_doubt
        assert (runs, names(postgres_url)) == (1, set())


async def test_a_long_transaction_whose_connection_was_lost_is_run_again(postgres_url: str) -> None:
    """A machine that stalls can make one try longer than the patience, which counts from the first loss."""
    runs = 0

    def work(connection: Connection) -> None:
        nonlocal runs
        runs += 1
        add("kept")(connection)
        if runs == 1:
            time.sleep(0.6)
            terminate(postgres_url, pid(connection))
            connection.execute(select(1))

    async with opened(postgres_url, patience=0.3) as database:
        await database.run(work)
    assert (runs, names(postgres_url)) == (2, {"kept"})


async def test_a_connection_that_is_lost_in_the_commit_leaves_it_in_doubt(
    database: PostgresDatabase, postgres_url: str
) -> None:
    def work(connection: Connection) -> None:
        add("perhaps")(connection)
        terminate(postgres_url, pid(connection))

    with pytest.raises(StoreUnavailable) as refusal:
        await database.run(work)
    assert refusal.value.in_doubt
    assert "The change may or may not be saved" in str(refusal.value)
    assert await database.run(add("next")) == "next"


@pytest.mark.parametrize("words", [(b"set_config",), (b"statement_timestamp", b"coalesce(state")])
async def test_a_connection_that_falls_silent_at_any_statement_is_given_up(
    postgres_url: str, words: tuple[bytes, ...]
) -> None:
    """At its first statement, or in the middle of a transaction and as the server is asked about that."""
    with psycopg.connect(postgres_url) as known:
        host, port, name = known.info.host, known.info.port, known.info.dbname
    target = Path(host) / f".s.PGSQL.{port}" if host.startswith("/") else (host, port)
    async with proxy(target) as way, opened(way.url(name), connections=1) as database:
        way.swallow_on(*words)
        async with asyncio.timeout(30):
            query = text("SELECT statement_timestamp()")
            assert await database.read(lambda connection: connection.execute(query).scalar_one())


LOSE_CONNECTION = """
    CREATE SEQUENCE commits;
    CREATE FUNCTION lose_connection() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        -- The next value of a sequence survives a rollback.
        IF nextval('commits') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER lose_connection AFTER INSERT ON asks DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION lose_connection();
"""
"""End the connection during the first COMMIT of an ask, which is rolled back."""


def new_ask(key: str | None = None) -> Ask:
    return Ask(
        id=create_ask_id(),
        key=key,
        place=HERE,
        policy=Policy(who=Who(anyone=True)),
        interview=start_interview(COLOUR),
        created_at=utc_now(),
        post_after=utc_now(),
    )


@pytest.mark.parametrize("key", [None, "k"])
async def test_an_ask_whose_connection_is_lost_in_the_commit_is_stored_once(
    database: PostgresDatabase, postgres_url: str, key: str | None
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute(LOSE_CONNECTION)
    store, ask = Store(database), new_ask(key)
    assert (await store.ask(ask, NO_LIMITS)).id == ask.id
    assert [one.id for one in await store.list_open()] == [ask.id]


@pytest.mark.parametrize("key", [None, "k"])
async def test_an_ask_that_was_committed_although_its_connection_was_lost_is_stored_once(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    commit, lost = ReconnectingConnection.commit, False

    def lose_answer(link: ReconnectingConnection) -> None:
        nonlocal lost
        commit(link)
        if not lost:
            lost = True
            raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(ReconnectingConnection, "commit", lose_answer)
    store, ask = Store(database), new_ask(key)
    # The limit counts this ask once, too.
    limits = Limits(seconds_between_asks=0, pending_per_place=1)
    assert (await store.ask(ask, limits)).id == ask.id
    assert lost
    assert [one.id for one in await store.list_open()] == [ask.id]


async def test_two_who_wait_for_each_other_both_come_through(postgres_url: str) -> None:
    async with opened(postgres_url) as one, opened(postgres_url) as other:
        await one.run(add("a"))
        await one.run(add("b"))
        both = threading.Barrier(2, timeout=30)
        runs: list[str] = []

        def work(first: str, second: str) -> Callable[[Connection], None]:
            def change(connection: Connection) -> None:
                connection.execute(update(meta).where(meta.c.name == first).values(value=meta.c.value + "x"))
                runs.append(first)
                if len(runs) <= 2:
                    both.wait()
                connection.execute(update(meta).where(meta.c.name == second).values(value=meta.c.value + "x"))

            return change

        await asyncio.gather(one.run(work("a", "b")), other.run(work("b", "a")))
        assert len(runs) > 2, "one of them was refused, and ran again"
        values = await one.read(
            lambda c: c.execute(select(meta.c.value).where(meta.c.name.in_(("a", "b")))).scalars().all()
        )
        assert values == ["xx", "xx"]


async def test_of_two_who_add_the_same_the_later_one_looks_again(postgres_url: str) -> None:
    async with opened(postgres_url) as one, opened(postgres_url) as other:
        both = threading.Barrier(2, timeout=30)
        runs = 0

        def work(connection: Connection) -> bool:
            nonlocal runs
            runs += 1
            if connection.execute(select(meta).where(meta.c.name == "it")).first() is not None:
                return False
            if runs <= 2:
                both.wait()
            add("it")(connection)
            return True

        assert sorted(await asyncio.gather(one.run(work), other.run(work))) == [False, True]
        assert runs == 3


async def test_reads_see_one_moment_and_cannot_write(database: PostgresDatabase, postgres_url: str) -> None:
    gate = Gate()

    def look(connection: Connection) -> tuple[int, int]:
        before = connection.execute(select(func.count()).select_from(meta)).scalar_one()
        gate.stand()
        return before, connection.execute(select(func.count()).select_from(meta)).scalar_one()

    looking = asyncio.create_task(database.read(look))
    await gate.reached()
    await database.run(add("meanwhile"))
    gate.open()
    before, after = await looking
    assert before == after
    with pytest.raises(Exception, match="read-only"):
        await database.read(add("never"))
    assert names(postgres_url) == {"meanwhile"}


async def test_a_transaction_that_does_not_end_is_named_because_only_a_restart_helps(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(postgres_url, connections=1) as database:
        gate = Gate()
        running = asyncio.create_task(database.run(lambda _: gate.stand()))
        await gate.reached()
        assert database.find_defect() is None
        monkeypatch.setattr("askback.store.postgres.database.STUCK_SECONDS", 0.0)
        assert database.find_defect() == "a transaction has run for 0 s"
        gate.open()
        await running
        assert database.find_defect() is None


async def test_whoever_is_cancelled_drops_what_has_not_started_and_not_what_has(postgres_url: str) -> None:
    async with opened(postgres_url, connections=1) as database:
        gate = Gate()

        def work(connection: Connection) -> None:
            add("started")(connection)
            gate.stand()

        started = asyncio.create_task(database.run(work))
        await gate.reached()
        waiting = asyncio.create_task(database.run(add("waiting")))
        await asyncio.sleep(0)
        for task in (started, waiting):
            task.cancel()
        await asyncio.gather(started, waiting, return_exceptions=True)
        gate.open()
    assert names(postgres_url) == {"started"}


async def test_closing_finishes_what_is_there_refuses_the_rest_and_ends_every_thread(postgres_url: str) -> None:
    before = threading.active_count()
    async with opened(postgres_url) as database:
        waiting = [asyncio.create_task(database.run(add(str(number)))) for number in range(20)]
        await asyncio.sleep(0)
        await database.close()
        assert len(await asyncio.gather(*waiting)) == 20
        with pytest.raises(StoreUnavailable, match="closed"):
            await database.run(add("late"))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("askback-database")]
    assert threading.active_count() <= before + 1  # asyncio's own, which opened it
    with psycopg.connect(postgres_url) as other:
        query = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'askback'"
        )
        deadline = time.monotonic() + 10
        while other.execute(query).fetchone() != (0,):
            assert time.monotonic() < deadline
            other.rollback()


async def test_a_text_with_a_nul_in_it_is_kept_but_for_that(database: PostgresDatabase) -> None:
    store = Store(database)
    received = await store.receive(heard("1", "a\0b"), begin=True)
    assert received is not None
    turn = await begun(store, received.conversation.id)
    assert turn is not None
    assert await store.receive(heard("k\0", "c"), begin=True) is not None
    again = await store.receive(heard("k\0", "c"), begin=True)
    assert again is not None
    assert again.duplicate
    texts = await database.read(lambda c: c.execute(select(inbox.c.text).order_by(inbox.c.id)).scalars().all())
    assert texts == ["a\ufffdb", "c"]
