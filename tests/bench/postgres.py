"""A PostgreSQL database for one benchmark."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.faults.databases import fresh as fresh_database

from .figures import Database, file_system
from .runner import Bench, Unavailable


@asynccontextmanager
async def fresh(bench: Bench) -> AsyncGenerator[tuple[str, Database]]:
    """Yield the URL, and the durability of a commit; the database is dropped afterwards."""
    try:
        import psycopg
    except ImportError:
        raise Unavailable("PostgreSQL needs pip install -e '.[postgres]'") from None
    database = fresh_database("postgres", bench.folder)
    try:
        url = database.__enter__()
    except psycopg.OperationalError:
        raise Unavailable("no PostgreSQL answers: start one, or set ASKBACK_TEST_POSTGRES_URL") from None
    try:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            names = ("server_version", "synchronous_commit", "data_directory")
            said = [await (await connection.execute(f"SHOW {name}".encode())).fetchone() for name in names]
        version, synchronous, directory = (str(one[0]) if one else "" for one in said)
        yield (
            url,
            Database(
                journal_mode=f"wal of PostgreSQL {version.split()[0]}",
                synchronous=synchronous,
                # Another machine's file system is unknown here.
                file_system=file_system(Path(directory)) if _is_here(url) else "of the server",
            ),
        )
    finally:
        database.__exit__(None, None, None)


async def processes(url: str) -> list[int]:
    """Return the server's processes for this database, if the server is on this machine."""
    import psycopg

    if not _is_here(url):
        return []
    async with await psycopg.AsyncConnection.connect(url) as connection:
        rows = await connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return [int(row[0]) for row in await rows.fetchall()]


def _is_here(url: str) -> bool:
    return any(host in url for host in ("@127.0.0.1", "@localhost", "@/", "host=/"))
