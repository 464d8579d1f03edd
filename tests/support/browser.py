"""A real browser for the tests; a page must cause no errors or warnings in its console."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import product
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
"""Milliseconds that any step on a page may take: browsers are slow on a busy machine."""

SCREENSHOTS = os.environ.get("ASKBACK_TEST_SCREENSHOTS")
"""The folder for pictures."""
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")

Opener = Callable[..., Awaitable[Any]]


async def shoot_all(page: Any, name: str) -> None:
    """Take a picture in each width and colour scheme, if ASKBACK_TEST_SCREENSHOTS names a folder."""
    if SCREENSHOTS is None:
        return
    before = page.viewport_size
    for width, scheme in product(WIDTHS, SCHEMES):
        await page.set_viewport_size({"width": width, "height": before["height"]})
        await page.emulate_media(color_scheme=scheme)
        await page.screenshot(path=f"{SCREENSHOTS}/{name}-{scheme}-{width}.png", animations="disabled")
    await page.set_viewport_size(before)


@asynccontextmanager
async def browsing(*, without_pictures: bool = False) -> AsyncIterator[Opener]:
    """Yield a function that opens an address in its own window, and returns once there is a text field.

    At the end, the browser must have reported no complaint; with `without_pictures`, missing pictures do not count.
    Skips the test without a browser; in CI that is an error.
    """
    if CHROMIUM is None and os.environ.get("CI") != "true":
        pytest.skip("no Chromium here to open the page with")
    from playwright.async_api import async_playwright, expect

    complaints: list[str] = []
    expect.set_options(timeout=PATIENCE)

    def hear(line: Any) -> None:
        # A violation of the page's policy has another text than a missing resource, so it still counts.
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
    assert complaints == [], complaints
