"""Databases on PostgreSQL for the tests of the store."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from askback.store.postgres.database import PostgresDatabase
from askback.store.store import Store
from support.postgres_database import opened


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[PostgresDatabase]:
    async with opened(postgres_url) as database:
        yield database


@pytest.fixture
async def pair(postgres_url: str) -> AsyncIterator[tuple[Store, Store]]:
    """The stores of two processes."""
    async with opened(postgres_url, connections=4) as one, opened(postgres_url, connections=4) as other:
        yield Store(one), Store(other)
