"""Fixtures of the core's tests: a board on which people see the posts, and a scripted model."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from askback.store.database import Database
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.database import PostgresDatabase
from askback.store.sqlite.database import SqliteDatabase
from askback.store.store import Store
from askback_sandbox.model.call_results import refusals
from askback_sandbox.model.model import Model
from askback_sandbox.services import Services
from contract.engine.stored_thread import Thread
from support.approvals import Deploying
from support.board import Board
from support.stores import url_in


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
async def services() -> AsyncIterator[Services]:
    async with Services(port=0, model=Model()) as services:
        yield services
        # Like the real API, the local one refuses a history in which a call has no result, or two.
        refused = refusals([exchange.json() for exchange in services.model.log])
        assert not refused, refused


@pytest.fixture
async def database(stored: str, tmp_path: Path) -> AsyncIterator[Database]:
    url = url_in(tmp_path)
    database: Database = (
        SqliteDatabase(tmp_path / "askback.db")
        if url is None
        else PostgresDatabase(PostgresAddress.read(url), connections=2)
    )
    yield database
    await database.close()


@pytest.fixture
def store(database: Database) -> Store:
    """The store of one process, without its other parts."""
    return Store(database)


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """An event that releases, at the end of the test, every thread that a tool blocks."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def deploying() -> Deploying:
    return Deploying()


@pytest.fixture
async def thread(store: Store) -> Thread:
    """A conversation in the store, without its other parts."""
    return await Thread.begin(store)
