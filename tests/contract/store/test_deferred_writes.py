"""Writes that wait for the next statement: nothing is lost, nothing is reordered, and no text becomes SQL."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, bindparam, insert, select, text
from sqlalchemy.exc import DBAPIError

from askback.runtime.backend import open_backend
from askback.store.database import Database
from askback.store.postgres.connection import connect
from askback.store.postgres.database import PostgresDatabase
from askback.store.postgres.deferred_writes import WritingConnection
from askback.store.schema import meta
from askback.store.statement import Statement
from support.postgres_database import names
from support.stores import url_in

ADD = Statement(insert(meta))
VALUE = Statement(select(meta.c.value).where(meta.c.name == bindparam("of")))
BEGIN = "BEGIN"
ATTACKS = [
    "'); DELETE FROM meta; --",
    "\\'; DELETE FROM meta; --",
    "\\",
    "''",
    "%s %(name)s %% {0} $1 :of ?",
    "\N{FULLWIDTH APOSTROPHE}\N{MODIFIER LETTER APOSTROPHE}\u2019",
    "$$ $tag$ E'\\n' /* -- */ ;",
    "a\nb\tc\r\x08\x1b",
]
TEXTS = st.one_of(st.sampled_from(ATTACKS), st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))


@pytest.fixture
def direct(database: PostgresDatabase) -> Iterator[WritingConnection]:
    """A connection to the database, without the threads."""
    with closing(connect(database.address)) as connection:
        yield connection


@pytest.fixture
async def either(stored: str, tmp_path: Path) -> AsyncIterator[Database]:
    """A database of each kind."""
    async with open_backend(url_in(tmp_path) or str(tmp_path / "askback.db")) as opened:
        yield opened.database


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=TEXTS)
def test_any_text_is_stored_as_it_is(direct: WritingConnection, value: str) -> None:
    direct.defer(BEGIN)
    direct.defer("DELETE FROM meta WHERE name = 'text'")
    direct.defer("INSERT INTO meta (name, value) VALUES (%(name)s, %(value)s)", {"name": "text", "value": value})
    found = direct.execute("SELECT value FROM meta WHERE name = 'text'").fetchall()
    direct.rollback()
    assert found == [(value,)]


async def test_a_work_reads_what_it_wrote_before(either: Database) -> None:
    def work(connection: Connection) -> list[object]:
        ADD.defer(connection, name="text", value=ATTACKS[0])
        return [row["value"] for row in VALUE.fetch_rows(connection, of="text")]

    assert await either.run(work) == [ATTACKS[0]]


async def test_a_write_that_fails_fails_its_work_even_if_it_was_the_last(either: Database) -> None:
    def work(connection: Connection) -> None:
        ADD.defer(connection, name="other", value="lost, too")
        ADD.defer(connection, name=None, value="no name")

    with pytest.raises((DBAPIError, psycopg.Error), match=r"(?i)not.null"):
        await either.run(work)
    assert await either.read(lambda connection: VALUE.fetch_rows(connection, of="other")) == []


async def test_a_work_whose_last_write_conflicts_runs_again(database: PostgresDatabase, postgres_url: str) -> None:
    """The server notices the conflict only with the write, so after the work has returned."""
    runs = 0

    def work(connection: Connection) -> None:
        nonlocal runs
        runs += 1
        if not VALUE.fetch_rows(connection, of="same"):
            if runs == 1:
                with psycopg.connect(postgres_url, autocommit=True) as other:
                    other.execute("INSERT INTO meta (name, value) VALUES ('same', 'from another process')")
            ADD.defer(connection, name="same", value="from here")

    await database.run(work, within=30.0)
    assert runs == 2


def test_nothing_is_sent_before_a_result_is_needed(direct: WritingConnection, postgres_url: str) -> None:
    idle = psycopg.pq.TransactionStatus.IDLE
    direct.defer(BEGIN)
    direct.defer("INSERT INTO meta (name, value) VALUES ('a', 'b')")
    assert direct.info.transaction_status == idle
    assert direct.execute("SELECT count(*) FROM meta WHERE name = 'a'").fetchone() == (1,)
    direct.defer("INSERT INTO meta (name, value) VALUES ('c', 'd')")
    direct.commit()
    assert {"a", "c"} <= names(postgres_url)


def test_a_rollback_forgets_what_was_not_sent(direct: WritingConnection, postgres_url: str) -> None:
    direct.defer(BEGIN)
    direct.defer("INSERT INTO meta (name, value) VALUES ('a', 'b')")
    direct.rollback()
    direct.commit()
    assert "a" not in names(postgres_url)


def test_the_server_still_ends_the_transaction_of_a_process_that_stops(direct: WritingConnection) -> None:
    """It would keep its locks otherwise, and nobody in its place could answer."""
    direct.defer("SET idle_in_transaction_session_timeout = '50ms'")
    direct.defer(BEGIN)
    assert direct.execute("SELECT 1").fetchone() == (1,)
    time.sleep(0.3)
    with pytest.raises(psycopg.Error):
        direct.execute("SELECT 1")


async def test_a_read_keeps_the_statements_that_the_server_has_prepared(database: PostgresDatabase) -> None:
    """To plan a statement again takes the server longer than to run it."""

    def count_prepared(connection: Connection) -> int:
        return connection.execute(text("SELECT count(*) FROM pg_prepared_statements")).scalar_one()

    for _ in range(10):
        await database.read(lambda connection: VALUE.fetch_rows(connection, of="text"))
    assert await database.read(count_prepared) > 0
