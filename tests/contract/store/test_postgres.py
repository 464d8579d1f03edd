"""PostgreSQL: a server that is away, the errors about it, and the opening of a database."""

from __future__ import annotations

import asyncio
import logging
import threading

import psycopg
import pytest
from sqlalchemy import Connection, text

from askback.errors import OperatorError
from askback.store.errors import StoreError, StoreUnavailable
from askback.store.migrate import VERSION_TABLE
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.database import PostgresDatabase
from askback.store.snapshot_reader import SnapshotReader

# A server that is away, and the error about it
from support.meta_rows import add
from support.postgres_database import (
    names,
    opened,
)


async def test_a_server_that_is_away_is_said_in_a_sentence_and_comes_back(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Away means that it accepts no connection to this database, and has closed the existing ones."""
    name = PostgresAddress.read(postgres_url).shown.rpartition("/")[2].partition("?")[0]
    admin = psycopg.connect(postgres_url.replace(name, "postgres"), autocommit=True)
    async with opened(postgres_url, patience=0.5) as database:
        await database.run(add("before"))
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        admin.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", [name])
        for within in (None, 0.3):
            with pytest.raises(StoreError) as refusal:
                await database.run(add("never"), within=within)
            assert not refusal.value.in_doubt
            assert "Nothing was changed" in str(refusal.value)
        with pytest.raises(StoreUnavailable, match="did not commit"):
            await database.read(lambda connection: None)
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
        assert await database.run(add("after")) == "after"
    admin.close()
    assert names(postgres_url) == {"before", "after"}


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:tell-n0body@127.0.0.1:1/askback",
        "postgresql://ann:tell-n0body@no-such-host.invalid/askback?connect_timeout=2",
        "postgresql:///askback?host=/nowhere&user=ann&password=tell-n0body",
    ],
)
def test_the_password_is_in_no_message_and_in_no_log(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(OperatorError) as refusal:
        PostgresDatabase(PostgresAddress.read(url))
    told = f"{refusal.value!r} {refusal.value} {refusal.value.__cause__!r} {PostgresAddress.read(url)!r} {caplog.text}"
    assert "tell-n0body" not in told
    assert "Could not open the database" in told


# Opening


async def test_processes_that_open_a_new_database_at_once_all_get_it(empty_url: str) -> None:
    address = PostgresAddress.read(empty_url)
    made = await asyncio.gather(*(asyncio.to_thread(PostgresDatabase, address, connections=1) for _ in range(4)))
    await made[0].run(add("it"))
    for database in made:
        await database.close()
    assert names(empty_url) == {"it"}


async def test_a_migration_that_fails_leaves_nothing_behind(empty_url: str) -> None:
    from askback.store.postgres.prepare import prepare

    def breaks(connection: Connection) -> None:
        prepare(connection)
        raise RuntimeError("the machine went away")

    with pytest.raises(RuntimeError, match="went away"):
        PostgresDatabase(PostgresAddress.read(empty_url), prepare=breaks)
    with psycopg.connect(empty_url) as other:
        assert other.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


async def test_a_database_of_a_newer_askback_is_refused_and_left_alone(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute(f"UPDATE {VERSION_TABLE} SET version_num = '0099_from_tomorrow'".encode())
        with pytest.raises(OperatorError, match="A newer askback wrote"):
            PostgresDatabase(PostgresAddress.read(postgres_url))
        found = other.execute(f"SELECT version_num FROM {VERSION_TABLE}".encode()).fetchone()
    assert found == ("0099_from_tomorrow",)


# Reading from outside the workers


async def test_a_process_that_reads_often_keeps_its_connection_and_survives_its_loss(postgres_url: str) -> None:
    """A connection takes longer than a read. `askback serve` reads several times for each request."""

    def find_process(connection: Connection) -> int:
        return connection.execute(text("SELECT pg_backend_pid()")).scalar_one()

    reader = SnapshotReader(PostgresAddress.read(postgres_url))
    admin = psycopg.connect(postgres_url, autocommit=True)
    first = {await reader.read(find_process) for _ in range(3)}
    assert len(first) == 1
    admin.execute("SELECT pg_terminate_backend(%s, 5000)", [*first])
    second = await reader.read(find_process)
    assert second not in first
    with pytest.raises(OperatorError, match="Could not read the database"):
        await reader.read(lambda connection: connection.execute(text("SELECT nothing")))
    third = await reader.read(find_process)
    reads, closed = threading.Event(), threading.Event()

    def read_meanwhile(connection: Connection) -> int:
        reads.set()
        assert closed.wait(20)
        return find_process(connection)

    reading = asyncio.create_task(reader.read(read_meanwhile))
    assert await asyncio.to_thread(reads.wait, 20)
    await reader.close()
    closed.set()
    assert await reading == third
    query = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY(%s)"
    async with asyncio.timeout(20):
        while admin.execute(query, [[*first, second, third]]).fetchone() != (0,):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)
    admin.close()


async def test_a_process_that_reads_often_notices_a_newer_database(postgres_url: str) -> None:
    reader = SnapshotReader(PostgresAddress.read(postgres_url))
    await reader.read(lambda _: None)
    with psycopg.connect(postgres_url) as admin:
        admin.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999_later'".encode())
    with pytest.raises(OperatorError, match="newer askback"):
        await reader.read(lambda _: None)
    await reader.close()
