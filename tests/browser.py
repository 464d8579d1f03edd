"""A real browser for the tests: what it shows, it must show without a complaint."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PATIENCE = 30_000
"""Milliseconds that anything on a page may take: browsers are slow where much else runs."""

Opener = Callable[..., Awaitable[Any]]


@asynccontextmanager
async def browsing(*, without_pictures: bool = False) -> AsyncIterator[Opener]:
    """Opens addresses, each in a window of its own, once there is something to write in.

    At the end, the browser must have had nothing to complain about; `without_pictures`: but pictures that cannot be
    had. Skips the test where there is no browser, unless there has to be one.
    """
    if CHROMIUM is None and os.environ.get("CI") != "true":
        pytest.skip("no Chromium here to open the page with")
    from playwright.async_api import async_playwright, expect

    complaints: list[str] = []
    expect.set_options(timeout=PATIENCE)

    def hear(line: Any) -> None:
        # What the page's policy refuses comes as another line than what cannot be had.
        if line.type in ("error", "warning") and not (without_pictures and "Failed to load resource" in line.text):
            complaints.append(line.text)

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)

        async def open_one(address: str, *, width: int = 1280, height: int = 860, **more: Any) -> Any:
            context = await browser.new_context(viewport={"width": width, "height": height}, **more)
            context.set_default_timeout(PATIENCE)
            page = await context.new_page()
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", hear)
            await page.goto(address)
            await expect(page.locator(".main textarea")).to_be_visible()
            return page

        yield open_one
        await browser.close()
    assert complaints == []
