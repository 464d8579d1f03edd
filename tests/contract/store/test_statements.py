"""Compiled statements go straight to the driver: no text becomes SQL, and errors are those of SQLAlchemy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, bindparam, delete, insert, select, text
from sqlalchemy.exc import IntegrityError

from askback.runtime.backend import open_backend
from askback.store.database import Database
from askback.store.postgres.database import PostgresDatabase
from askback.store.schema import meta
from askback.store.statement import Statement
from support.stores import url_in

ADD = Statement(insert(meta))
DELETE = Statement(delete(meta).where(meta.c.name == bindparam("of")))
VALUE = Statement(select(meta.c.value).where(meta.c.name == bindparam("of")))
ATTACKS = (
    "'); DELETE FROM meta; --",
    "\\'; DELETE FROM meta; --",
    "\\",
    "''",
    "%s %(name)s %% {0} $1 :of ?",
    "\N{FULLWIDTH APOSTROPHE}\N{MODIFIER LETTER APOSTROPHE}\u2019",
    "$$ $tag$ E'\\n' /* -- */ ;",
    "a\nb\tc\r\x08\x1b",
)


@pytest.fixture
async def either(stored: str, tmp_path: Path) -> AsyncIterator[Database]:
    """A database of each kind."""
    del stored
    async with open_backend(url_in(tmp_path) or str(tmp_path / "askback.db")) as opened:
        yield opened.database


async def test_any_text_is_stored_as_it_is(either: Database) -> None:
    def work(connection: Connection) -> list[object]:
        found: list[object] = []
        for value in ATTACKS:
            assert ADD.change(connection, name="text", value=value) == 1
            found += [row["value"] for row in VALUE.fetch_rows(connection, of="text")]
            assert DELETE.change(connection, of="text") == 1
        return found

    assert await either.run(work) == [*ATTACKS]


async def test_an_error_is_the_one_of_sqlalchemy_and_undoes_its_work(either: Database) -> None:
    def work(connection: Connection) -> None:
        ADD.change(connection, name="other", value="lost, too")
        ADD.change(connection, name=None, value="no name")

    with pytest.raises(IntegrityError):
        await either.run(work)
    assert await either.read(lambda connection: VALUE.fetch_rows(connection, of="other")) == []


async def test_a_work_that_raises_is_undone_alone_among_works_at_once(either: Database) -> None:
    def build(number: int) -> Callable[[Connection], None]:
        def work(connection: Connection) -> None:
            ADD.change(connection, name=str(number), value="kept")
            if number % 3 == 0:
                raise ValueError(number)

        return work

    results = await asyncio.gather(*(either.run(build(number)) for number in range(30)), return_exceptions=True)
    assert [isinstance(one, ValueError) for one in results] == [number % 3 == 0 for number in range(30)]
    kept = await either.read(
        lambda connection: [bool(VALUE.fetch_rows(connection, of=str(number))) for number in range(30)]
    )
    assert kept == [number % 3 != 0 for number in range(30)]


async def test_a_work_that_conflicts_runs_again(database: PostgresDatabase, postgres_url: str) -> None:
    runs = 0

    def work(connection: Connection) -> None:
        nonlocal runs
        runs += 1
        if not VALUE.fetch_rows(connection, of="same"):
            with psycopg.connect(postgres_url, autocommit=True) as other:
                other.execute("INSERT INTO meta (name, value) VALUES ('same', 'from another process')")
            ADD.change(connection, name="same", value="from here")

    await database.run(work, within=30.0)
    assert runs == 2


async def test_a_read_keeps_the_statements_that_the_server_has_prepared(database: PostgresDatabase) -> None:
    """To plan a statement again takes the server longer than to run it."""

    def count_prepared(connection: Connection) -> int:
        return connection.execute(text("SELECT count(*) FROM pg_prepared_statements")).scalar_one()

    for _ in range(10):
        await database.read(lambda connection: VALUE.fetch_rows(connection, of="text"))
    assert await database.read(count_prepared) > 0
