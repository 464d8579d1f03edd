"""Every scenario runs over every platform."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.clocks import DrivenTime
from support.platforms import parametrize_platforms
from support.processes import Launcher

from . import discord, slack
from .driver import Desk, PlatformTests
from .replicas import Office, open_office

PLATFORMS: dict[str, PlatformTests] = {"discord": discord, "slack": slack}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize_platforms(metafunc, PLATFORMS)


@pytest.fixture
def tests_of(platform: str) -> PlatformTests:
    return PLATFORMS[platform]


@pytest.fixture(autouse=True)
def no_placeholder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Discord's "Working…" appear only in tests that wait for it.

    On a busy machine, a model may take three seconds, and that message would be the one that a fault is meant for.
    """
    if "platform" in request.fixturenames and request.getfixturevalue("platform") == "discord":
        monkeypatch.setattr("askback_discord.streaming.SILENT_SECONDS", 60.0)


@pytest.fixture
def only_starter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let only the person who began a conversation answer. Request this fixture before the desk."""
    monkeypatch.setenv("ASKBACK_ANSWERERS", "starter")


@pytest.fixture
def driven(monkeypatch: pytest.MonkeyPatch) -> DrivenTime:
    """The time of the bot and of its platform. Request it before the desk."""
    return DrivenTime(monkeypatch)


@pytest.fixture
async def desk(platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    ready: asyncio.Future[Desk] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def open_until_over() -> None:
        # The bot runs in its own task, and its failures show there if it ends early.
        async with PLATFORMS[platform].open_desk(tmp_path, monkeypatch) as opened:
            ready.set_result(opened)
            await over.wait()

    task = asyncio.create_task(open_until_over())
    await asyncio.wait([task, ready], return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():
        await task
    opened = ready.result()
    yield opened
    over.set()
    await task
    assert not opened.journal.unexpected(), "\n".join(opened.journal.unexpected())


@pytest.fixture
async def office(platform: str, tmp_path: Path, postgres_url: str, launcher: Launcher) -> AsyncIterator[Office]:
    """Run several processes on one database, and find no unexpected error in their logs at the end."""
    async with open_office(platform, tmp_path, postgres_url, launcher) as opened:
        yield opened
        for replica in () if opened.may_fail else opened.replicas:
            # On a machine that stalls, the database ends transactions that rest for too long.
            errors = [one for one in replica.said.splitlines() if " ERROR " in one and "database_away" not in one]
            assert not errors, replica.said
            assert "Traceback" not in replica.said, replica.said
