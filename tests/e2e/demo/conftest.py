"""The demo as a person has it: the local services with the real bot and agent."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from askback.domain.open_ask_limits import Limits
from askback.ports.installed_bots import get_bot
from askback.runtime.app import open_host
from askback.tools import TOOLS
from askback_sandbox.services import Services
from support.browser import Opener, browsing
from support.clocks import SharedClock

SCREENSHOTS = os.environ.get("ASKBACK_TEST_SCREENSHOTS")

Shot = Callable[[Any, str], Awaitable[None]]


@pytest.fixture
async def services(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Services]:
    """The services, with the settings that point to them."""
    for name in [name for name in os.environ if name.startswith(("ASKBACK_", "SLACK_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    clock = SharedClock()
    async with clock.running(), Services(port=0, clock=clock) as services:
        for name, value in services.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("ASKBACK_TOOLS", ",".join(TOOLS))
        monkeypatch.setenv("ASKBACK_DATABASE_URL", str(tmp_path / "askback.db"))
        monkeypatch.chdir(tmp_path)  # no askback.toml here
        yield services


@pytest.fixture
async def bot(services: Services) -> AsyncIterator[None]:
    """The real bot and agent, except for the pause between two asks."""
    async with open_host([get_bot("slack")], limits=Limits(seconds_between_asks=0)) as host:
        with services.find_calls_with(host.store.list_askers):
            await services.socket.connected()
            yield


@pytest.fixture
def shot(tmp_path: Path) -> Shot:
    """Save a screenshot next to the test's files, or in the folder that ASKBACK_TEST_SCREENSHOTS names."""
    folder = Path(SCREENSHOTS or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)

    async def take(page: Any, name: str) -> None:
        await page.screenshot(path=folder / f"{name}.png", animations="disabled")

    return take


@pytest.fixture
async def open_page(services: Services) -> AsyncIterator[Opener]:
    """Opens the page as someone."""
    async with browsing() as opened:

        async def open_one(person: str = "ada", **more: Any) -> Any:
            return await opened(f"{services.url}/#U0LOCAL{person.upper()}/C0GENERAL", **more)

        yield open_one
