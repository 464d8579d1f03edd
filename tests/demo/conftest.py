"""The demo as a person has it: the services on this machine with the real bot and agent in front of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from askback.bots import bot_named
from askback.host import running
from askback.policy import Limits
from askback.tools import TOOLS
from askback_local.services import Services

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

SCREENSHOTS = os.environ.get("ASKBACK_SCREENSHOTS")

PATIENCE = 30_000
"""Milliseconds that anything on the page may take: browsers are slow where much else runs."""

Opener = Callable[..., Awaitable[Any]]
Shot = Callable[[Any, str], Awaitable[None]]


@pytest.fixture
async def services(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Services]:
    """The services, and the settings that lead there."""
    for name in [name for name in os.environ if name.startswith(("ASKBACK_", "SLACK_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    async with Services(port=0) as services:
        for name, value in services.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("ASKBACK_TOOLS", ",".join(TOOLS))
        monkeypatch.setenv("ASKBACK_DATABASE_URL", str(tmp_path / "askback.db"))
        monkeypatch.chdir(tmp_path)  # no askback.toml here
        yield services


@pytest.fixture
async def bot(services: Services) -> AsyncIterator[None]:
    """The real bot and agent. Only the pause between two asks is left out."""
    async with running([bot_named("slack")], limits=Limits(seconds_between_asks=0)):
        await services.socket.connected()
        yield


@pytest.fixture
def shot(tmp_path: Path) -> Shot:
    """Keeps a screenshot: beside the test's files, and in the folder that ASKBACK_SCREENSHOTS names."""
    folder = Path(SCREENSHOTS or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)

    async def take(page: Any, name: str) -> None:
        await page.screenshot(path=folder / f"{name}.png", animations="disabled")

    return take


@pytest.fixture
async def open_page(services: Services) -> AsyncIterator[Opener]:
    """Opens the page as someone; at the end, the browser must have had nothing to complain about."""
    from playwright.async_api import async_playwright, expect

    complaints: list[str] = []
    expect.set_options(timeout=PATIENCE)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)

        async def open_one(person: str = "ada", *, width: int = 1280, height: int = 860, **more: Any) -> Any:
            context = await browser.new_context(viewport={"width": width, "height": height}, **more)
            context.set_default_timeout(PATIENCE)
            page = await context.new_page()
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)
            await page.goto(f"{services.url}/#U0LOCAL{person.upper()}/C0GENERAL")
            await expect(page.locator(".main textarea")).to_be_visible()
            return page

        yield open_one
        await browser.close()
    assert complaints == []
