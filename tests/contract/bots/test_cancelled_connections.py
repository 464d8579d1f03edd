"""A connection to a platform that is cancelled at any moment leaves nothing open."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from askback.errors import OperatorError
from askback.ports.installed_bots import get_bot
from askback.runtime.app import open_host
from askback.settings.core import Settings
from askback_sandbox.services import Services
from support.cancellation import CancelledWork
from support.gate import Gate, gate_before


@pytest.fixture
async def gate(platform: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gate]:
    for name in [name for name in os.environ if name.startswith(("ASKBACK", "SLACK", "DISCORD"))]:
        monkeypatch.delenv(name)
    address = f"ASKBACK_{platform.upper()}_API_URL"
    async with Services(port=0) as services, gate_before(services.environment[address]) as gate:
        for name, value in (services.environment | {address: gate.url}).items():
            monkeypatch.setenv(name, value)
        yield gate


@pytest.fixture
def sessions(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> list[aiohttp.ClientSession]:
    """Return the sessions that were opened since the local platform runs."""
    del gate
    opened: list[aiohttp.ClientSession] = []
    before = aiohttp.ClientSession.__init__

    def note(session: aiohttp.ClientSession, *args: Any, **options: Any) -> None:
        before(session, *args, **options)
        opened.append(session)

    monkeypatch.setattr(aiohttp.ClientSession, "__init__", note)
    return opened


async def open_directory(platform: str, folder: Path) -> None:
    del folder
    async with get_bot(platform).open_directory():
        pass


async def connect(platform: str, folder: Path) -> None:
    settings = Settings(database_url=str(folder / "askback.db"))
    async with open_host([get_bot(platform)], settings, agent=False):
        pass


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("answers", [True, False], ids=["it answers", "it refuses"])
@pytest.mark.parametrize("opens", [open_directory, connect])
async def test_a_connection_that_is_cancelled_at_any_moment_leaves_no_session_open(
    platform: str,
    gate: Gate,
    sessions: list[aiohttp.ClientSession],
    tmp_path: Path,
    opens: Callable[[str, Path], Coroutine[Any, Any, None]],
    answers: bool,
    times: int,
) -> None:
    if not answers:
        await gate.refuse()
    for at in itertools.count():
        work = CancelledWork(opens(platform, tmp_path), at, times)
        error = await work.run()
        assert error is None or isinstance(error, OperatorError)
        assert [one for one in sessions if not one.closed] == [], f"cancelled at wait {at}"
        if not work.reached:
            break
    assert at > 1
    assert sessions
