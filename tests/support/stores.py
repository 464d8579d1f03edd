"""A fresh PostgreSQL database for each test, if there is a server.

ASKBACK_TEST_POSTGRES_URL names the server; the default is one on the standard local socket or port, as user postgres.
If none answers, tests that need one are skipped; in CI they fail.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import make_url

from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.database import PostgresDatabase
from support.database_pool import DatabasePool

VARIABLE = "ASKBACK_TEST_POSTGRES_URL"
STANDARD = (
    "postgresql://postgres@/postgres?host=/var/run/postgresql",
    "postgresql://postgres@/postgres?host=/tmp",
    "postgresql://postgres@127.0.0.1:5432/postgres",
)
URL_FILE = "database.url"
"""The file in a test's folder that names the database for its engines, instead of a file of SQLite."""


class Server:
    """A PostgreSQL server on which databases are made and dropped."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._prefix = f"askback_test_{os.getpid()}_{secrets.token_hex(3)}"
        self._made = 0

    def database_url(self, name: str) -> str:
        return make_url(self.url).set(database=name).render_as_string(hide_password=False)

    def execute(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """Execute a statement of the test itself, outside askback."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)  # pyright: ignore[reportArgumentType]
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def database(self, template: str = "template0") -> Generator[str]:
        """Yield the URL of a database that is dropped afterwards, even if connections remain."""
        self._made += 1
        name = f"{self._prefix}_{self._made}"
        made = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
        dropped = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(made)
        try:
            yield self.database_url(name)
        finally:
            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute(dropped)


@cache
def _found() -> Server | str:
    """Return the server, or the reason why there is none."""
    named = os.environ.get(VARIABLE)
    for url in (named,) if named else STANDARD:
        try:
            psycopg.connect(url, connect_timeout=3).close()
        except psycopg.Error as error:
            said = " ".join(str(error).split())
        else:
            return Server(url)
    if named:
        return f"The PostgreSQL server that {VARIABLE} names does not answer: {said}"
    return f"No PostgreSQL server answers here as user postgres: start one, or set {VARIABLE}."


def server() -> Server:
    """Return the server for tests. If there is none, skip the test, or fail in CI."""
    found = _found()
    if isinstance(found, Server):
        return found
    if os.environ.get("CI"):
        pytest.fail(found)
    pytest.skip(found)


@pytest.fixture(scope="session")
def postgres_pool() -> Iterator[DatabasePool]:
    """Databases with askback's tables in them, which are made once."""
    with server().database() as url:
        asyncio.run(PostgresDatabase(PostgresAddress.read(url), connections=1).close())
        template = conninfo_to_dict(url)["dbname"] or ""
        with closing(DatabasePool(url, lambda: server().database(template))) as pool:
            yield pool


@pytest.fixture
def postgres_url(postgres_pool: DatabasePool) -> Iterator[str]:
    """The URL of a database with empty tables, which looks like a new one."""
    with postgres_pool.database() as url:
        yield url


@pytest.fixture
def empty_url() -> Iterator[str]:
    """The URL of a new, empty database."""
    with server().database() as url:
        yield url


@pytest.fixture
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The kind of database that the test's engines open: both in turn, except for tests marked `one_store`."""
    if request.param == "postgres":
        (tmp_path / URL_FILE).write_text(request.getfixturevalue("postgres_url"), encoding="utf-8")
    return request.param


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "stored" in metafunc.fixturenames and not _is_chosen(metafunc):
        alone = metafunc.definition.get_closest_marker("one_store") is not None
        metafunc.parametrize("stored", ("sqlite",) if alone else ("sqlite", "postgres"), indirect=True)


def _is_chosen(metafunc: pytest.Metafunc) -> bool:
    """Return True if the test's own parameters choose the store."""
    return any("stored" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))


def url_in(folder: Path) -> str | None:
    """Return the URL of the PostgreSQL database for a folder; None means a file of SQLite."""
    file = folder / URL_FILE
    return file.read_text(encoding="utf-8") if file.exists() else None
