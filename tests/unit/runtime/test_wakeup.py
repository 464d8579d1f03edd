"""The socket with which a command wakes the running worker."""

from __future__ import annotations

import asyncio
import logging
import socket
import stat
from pathlib import Path

import pytest

from askback.runtime.wakeup import listen_for_wakeups, wake_worker


async def heard(database: Path) -> None:
    """Nudge, and wait until the listener's callback has run."""
    looked = asyncio.Event()
    with listen_for_wakeups(database, looked.set):
        assert wake_worker(database)
        async with asyncio.timeout(10):
            await looked.wait()


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.mark.parametrize(
    "parts",
    [("askback.db",), ("d" * 120, "e" * 120, "askback.db"), ("n" * 200,), ("ü" * 60, "ä ?#%.db")],
    ids=["short", "deep", "long name", "other letters"],
)
async def test_a_nudge_arrives_however_long_the_path_is(tmp_path: Path, parts: tuple[str, ...]) -> None:
    database = tmp_path.joinpath(*parts)
    database.parent.mkdir(parents=True, exist_ok=True)
    await heard(database)
    assert modes(database.parent) == {}, "the socket goes with its process"


async def test_the_socket_is_its_owners_alone(tmp_path: Path) -> None:
    with listen_for_wakeups(tmp_path / "askback.db", lambda: None):
        assert modes(tmp_path) == {"askback.db.sock": 0o600}


async def test_a_socket_that_a_killed_process_left_is_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as killed:
        # It uses the short name, because the full path may exceed a socket's limit.
        monkeypatch.chdir(tmp_path)
        killed.bind("askback.db.sock")
    assert not wake_worker(tmp_path / "askback.db"), "nobody listens at what is left"
    await heard(tmp_path / "askback.db")


async def test_nobody_is_nudged_where_nobody_listens(tmp_path: Path) -> None:
    assert not wake_worker(tmp_path / "askback.db")
    assert modes(tmp_path) == {}


async def test_many_nudges_are_never_waited_for(tmp_path: Path) -> None:
    looked = asyncio.Event()
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1
        looked.set()

    with listen_for_wakeups(tmp_path / "askback.db", look):
        # The loop does not run meanwhile, so that the socket's queue fills up.
        assert all(wake_worker(tmp_path / "askback.db") for _ in range(2_000))
        async with asyncio.timeout(10):
            await looked.wait()
    assert looks < 100


async def test_a_file_in_the_way_is_left_alone_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "askback.db.sock").write_text("mine")
    with (
        caplog.at_level(logging.WARNING, logger="askback.wakeup"),
        listen_for_wakeups(tmp_path / "askback.db", lambda: None),
    ):
        assert not wake_worker(tmp_path / "askback.db")
    assert (tmp_path / "askback.db.sock").read_text() == "mine"
    assert "another file has the socket's name" in caplog.text
