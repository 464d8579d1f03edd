"""A bot that is optional delays and ends nothing, and is tried again until its platform accepts it."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from askback.ports.bot import Bot, BotServices, Connection
from askback.ports.installed_bots import get_bot
from askback.runtime import optional_bots
from askback.runtime.app import Host, open_host
from askback.settings.core import Settings
from askback.store.external_access import list_away_platforms, list_worker_platforms
from askback_sandbox.services import Services
from support.gate import Gate, gate_before

WITHIN = 40.0


class Watched:
    """A bot that notes when it is connected, or has a bug."""

    def __init__(self, bot: Bot, error: Exception | None = None) -> None:
        self.name = bot.name
        self.setup = bot.setup
        self.check = bot.check
        self.is_configured = bot.is_configured
        self.open_directory = bot.open_directory
        self.tries: list[float] = []
        self._bot = bot
        self._error = error

    def connect(self, services: BotServices) -> AbstractAsyncContextManager[Connection]:
        self.tries.append(time.monotonic())
        if self._error is not None:
            raise self._error
        return self._bot.connect(services)


@pytest.fixture
async def gate(platform: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gate]:
    for name in [name for name in os.environ if name.startswith(("ASKBACK", "SLACK", "DISCORD"))]:
        monkeypatch.delenv(name)
    address = f"ASKBACK_{platform.upper()}_API_URL"
    async with Services(port=0) as services, gate_before(services.environment[address]) as gate:
        for name, value in (services.environment | {address: gate.url}).items():
            monkeypatch.setenv(name, value)
        yield gate


def opened(folder: Path, bot: Bot) -> AbstractAsyncContextManager[Host]:
    return open_host([], Settings(database_url=str(folder / "askback.db")), agent=False, others=[bot])


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(WITHIN):
        while not holds():  # noqa: ASYNC110 - other processes change it
            await asyncio.sleep(0.02)


def list_warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.getMessage().startswith("The questions on ")]


async def test_pauses_between_tries_grow_and_the_log_says_it_once(
    tmp_path: Path, platform: str, gate: Gate, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(optional_bots, "FIRST_PAUSE", 0.1)
    await gate.refuse()
    bot = Watched(get_bot(platform))
    async with opened(tmp_path, bot):
        await until(lambda: len(bot.tries) == 5)
    pauses = [later - earlier for earlier, later in itertools.pairwise(bot.tries)]
    assert all(pause >= least for pause, least in zip(pauses, (0.1, 0.2, 0.4, 0.8), strict=True)), pauses
    (warning,) = list_warnings(caplog)
    assert warning.startswith(f"The questions on {platform} are not served for now: Could not reach ")


async def test_pauses_have_a_longest(
    tmp_path: Path, platform: str, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optional_bots, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(optional_bots, "LONGEST_PAUSE", 0.1)
    await gate.refuse()
    bot = Watched(get_bot(platform))
    async with opened(tmp_path, bot):
        # With pauses that double without an end, this would take 1,700 s.
        await until(lambda: len(bot.tries) == 16)


async def test_a_platform_that_does_not_answer_is_given_up_for_now_and_served_once_it_does(
    tmp_path: Path, platform: str, gate: Gate, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database = tmp_path / "askback.db"
    await gate.hang()
    with monkeypatch.context() as patch:
        patch.setattr(optional_bots, "CONNECT_SECONDS", 1.0)
        async with opened(tmp_path, get_bot(platform)) as host:
            assert (list_worker_platforms(database), list_away_platforms(database)) == (frozenset(), {platform: ""})
            await until(lambda: list_away_platforms(database)[platform])
            assert list_away_platforms(database)[platform].startswith("it did not answer within 1 s.")
            assert platform not in host.platforms
            patch.undo()
            await gate.open()
            await until(lambda: list_worker_platforms(database) == {platform})
            assert list_away_platforms(database) == {}
            assert platform in host.platforms
            await until(host.connections[platform].is_connected)
    assert len(list_warnings(caplog)) == 1


async def test_a_bug_of_a_bot_ends_nothing_else(
    tmp_path: Path, platform: str, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    bot = Watched(get_bot(platform), ValueError("secret"))
    async with opened(tmp_path, bot) as host:
        await until(lambda: list_warnings(caplog))
        assert set(host.health.check_alive().values()) == {"ok"}
    (found,) = [one for one in caplog.records if one.getMessage().startswith(f"A bug ended the bot for {platform}")]
    assert (found.levelno, found.exc_info is not None) == (logging.ERROR, True)
    assert list_warnings(caplog)[0].startswith(
        f"The questions on {platform} are not served for now: there is a bug in askback (ValueError)."
    )
