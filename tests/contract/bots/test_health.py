"""/healthz and /readyz tell the truth, and reveal no secrets."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import aiohttp
import pytest
from sqlalchemy import Connection

from askback.errors import OperatorError
from askback.runtime import health
from askback.runtime.app import open_host
from askback.settings.core import Settings
from askback.store.sqlite.database import SqliteDatabase

from . import slack
from .driver import Desk, until
from .slack import SlackDesk


async def ask(desk: Desk, path: str) -> tuple[int, str]:
    """Return the answer of that path, at the address that the log gives."""
    (record,) = (one for one in desk.journal.records if getattr(one, "action", "") == "health")
    address = str(record.args[0] if isinstance(record.args, tuple) else record.args)
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}{path}") as response:
        return response.status, await response.text()


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ASKBACK_HEALTH", ":0")
    monkeypatch.setattr(health, "FRESH_SECONDS", 0.0)
    log = logging.getLogger("askback.host")
    before = log.level
    # Use the method: a logger caches its answers, and setting the attribute would not clear them.
    log.setLevel(logging.INFO)
    yield
    log.setLevel(before)


async def until_answered(desk: Desk, path: str, status: int) -> str:
    async with asyncio.timeout(10):
        while True:
            found, text = await ask(desk, path)
            if found == status:
                return text
            await asyncio.sleep(0.01)


async def test_a_bot_that_is_connected_is_alive_and_ready(desk: Desk) -> None:
    assert await ask(desk, "/healthz") == (200, "ok\n")
    assert await until_answered(desk, "/readyz", 200) == "ok\n"
    assert (await ask(desk, "/"))[0] == 404


async def test_a_silent_connection_is_not_ready_until_it_is_open_again(desk: Desk) -> None:
    await until_answered(desk, "/readyz", 200)
    await desk.fall_silent()
    await until(lambda: not desk.host.connections[desk.platform].is_connected(), "it is noticed", every=0.0005)
    await desk.reconnected()
    await until_answered(desk, "/readyz", 200)
    assert (await ask(desk, "/healthz"))[0] == 200


async def test_a_draining_process_is_alive_and_not_ready(desk: Desk) -> None:
    await until_answered(desk, "/readyz", 200)
    draining = asyncio.create_task(desk.host.drain())
    text = await until_answered(desk, "/readyz", 503)
    assert "process: is shutting down" in text
    assert (await ask(desk, "/healthz"))[0] == 200
    await draining
    assert f"{desk.platform}: is not connected" in (await ask(desk, "/readyz"))[1]


def impatient(connection: Connection) -> None:
    connection.exec_driver_sql("PRAGMA busy_timeout = 50")


@pytest.mark.only("slack", reason="it is the database's, on either")
async def test_a_database_that_does_not_commit_is_not_ready(desk: Desk, tmp_path: Path) -> None:
    desk.journal.announce("askback.store", "askback.worker")
    await until_answered(desk, "/readyz", 200)
    await desk.host.store._database.run(impatient)
    with closing(sqlite3.connect(tmp_path / "desk.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert await ask(desk, "/readyz") == (503, "database: does not accept commits\n")
        assert (await ask(desk, "/healthz"))[0] == 200
        other.rollback()
    await until_answered(desk, "/readyz", 200)


@pytest.mark.only("slack", reason="it is the process's, on either")
async def test_parts_that_have_ended_and_a_loop_that_stood_still_are_named(desk: Desk) -> None:
    whole = desk.host.health
    before = whole._parts
    whole.watch([asyncio.create_task(asyncio.sleep(0), name="askback worker")], desk.host.connections)
    await asyncio.gather(*whole._parts)
    assert await ask(desk, "/healthz") == (503, "worker: has ended\n")
    whole.watch(before, desk.host.connections)
    assert (await ask(desk, "/healthz"))[0] == 200
    whole._ticked -= 60
    assert whole.check_alive()["event loop"] == "was blocked for 60 s"


@pytest.mark.only("slack", reason="it is the database's, on either")
async def test_a_thread_of_the_database_that_has_ended_is_named_because_only_a_restart_helps(desk: Desk) -> None:
    desk.journal.announce("askback.store", "askback.worker")
    database = desk.host.store._database
    assert isinstance(database, SqliteDatabase)
    database._reads.put(None)
    await database._reading.join()
    assert await ask(desk, "/healthz") == (503, "database: askback-reader ended\n")


@pytest.fixture
async def http_desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SlackDesk]:
    async with slack.open_desk(tmp_path, monkeypatch, http=True) as opened:
        yield opened


async def test_they_are_told_where_slack_sends_to_as_well(http_desk: SlackDesk) -> None:
    base = f"http://{http_desk.host.connections['slack'].address}"  # type: ignore[attr-defined]
    async with aiohttp.ClientSession() as session:
        for path in ("/healthz", "/readyz"):
            async with session.get(base + path) as response:
                assert (response.status, await response.text()) == (200, "ok\n")
        await http_desk.host.drain()
        async with session.get(f"{base}/readyz") as response:
            assert response.status == 503
        async with session.post(f"{base}/slack/events", json={}) as response:
            assert response.status == 503, "Slack sends it again, to the next process"


async def test_nobody_else_can_listen_there_is_one_sentence(tmp_path: Path) -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        settings = Settings(database_url=str(tmp_path / "one.db"), health=f"127.0.0.1:{port}")
        with pytest.raises(OperatorError, match=r"^Could not listen on 127\.0\.0\.1:\d+ \(address already in use\)"):
            async with open_host([], settings, agent=False):
                pass
