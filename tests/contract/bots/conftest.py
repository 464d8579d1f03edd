"""Every scenario runs over every platform."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from . import discord, slack
from .driver import Desk, PlatformTests

PLATFORMS: dict[str, PlatformTests] = {"discord": discord, "slack": slack}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize over every platform, except for scenarios marked `only`, which must give a reason."""
    if "platform" not in metafunc.fixturenames:
        return
    platforms = sorted(PLATFORMS)
    for only in metafunc.definition.iter_markers("only"):
        assert only.kwargs["reason"]
        platforms = [only.args[0]]
    metafunc.parametrize("platform", platforms)


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
