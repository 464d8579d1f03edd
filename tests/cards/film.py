"""Draws the moving picture of the README: one question, in Slack and in Discord, from the card to the answer."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image

from askback.domain.open_ask_limits import Limits
from askback.ports.installed_bots import get_bot
from askback.runtime.app import open_host
from askback_sandbox.services import Services
from support.browser import browsing

WIDTH, HEIGHT = 520, 560
"""Size of one platform's half, in pixels."""
WINDOW = 800
"""Height of the browser's window."""
GAP = 12
ASKED, CLICKED, SETTLED = 2_600, 900, 3_400
"""Milliseconds of each picture."""
PROMPT = "Where shall I deploy the release?"
ANSWER = "Staging (Recommended)"
PLACES = (("U0LOCALADA/C0GENERAL", "light"), ("discord/1100000000000000201/1100000000000000301", "dark"))
"""The platforms' pages, each with its colour scheme."""


async def take_film(file: Path) -> None:
    """Write the moving picture. It runs the real bots and the scripted model."""
    async with _running() as services, browsing() as browser:
        pages: list[Any] = []
        for place, scheme in PLACES:
            page = await browser(f"{services.url}/#{place}", width=WIDTH, height=WINDOW, color_scheme=scheme)
            await page.locator(".try").first.click()
            await page.locator(".thread .message button", has_text=ANSWER).wait_for()
            await page.mouse.move(1, 1)
            pages.append(page)
        pictures = [await _take(pages)]
        for page in pages:
            await page.locator(".thread .message button", has_text=ANSWER).hover()
        pictures.append(await _take(pages))
        for page in pages:
            await page.locator(".thread .message button", has_text=ANSWER).click()
            await page.locator(".thread .message", has_text="What next?").wait_for()
            await page.mouse.move(1, 1)
        pictures.append(await _take(pages))
    _save(pictures, file)


def _save(pictures: Sequence[Image.Image], file: Path) -> None:
    """Write an animated PNG. All its pictures share one palette."""
    width, height = pictures[0].size
    whole = Image.new("RGB", (width, height * len(pictures)))
    for number, picture in enumerate(pictures):
        whole.paste(picture, (0, number * height))
    small = whole.quantize(160)
    first, *others = [small.crop((0, at, width, at + height)) for at in range(0, height * len(pictures), height)]
    first.save(
        file, format="PNG", save_all=True, append_images=others, duration=[ASKED, CLICKED, SETTLED], loop=0,
        optimize=True,
    )  # fmt: skip


@asynccontextmanager
async def _running() -> AsyncGenerator[Services]:
    with TemporaryDirectory() as folder:
        async with Services(port=0) as services:
            os.environ.update(services.environment)
            os.environ["ASKBACK_CONFIG"] = os.devnull
            os.environ["ASKBACK_DATABASE_URL"] = str(Path(folder) / "askback.db")
            async with open_host([get_bot("slack"), get_bot("discord")], limits=Limits(seconds_between_asks=0)):
                await services.socket.connected()
                await services.discord.gateway.connected()
                yield services


async def _take(pages: Sequence[Any]) -> Image.Image:
    """Return the card of each page with what follows it, side by side."""
    whole = Image.new("RGB", (WIDTH * len(pages) + GAP * (len(pages) - 1), HEIGHT), "white")
    for number, page in enumerate(pages):
        await page.evaluate("document.activeElement.blur()")
        card = page.locator(".thread .message", has_text=PROMPT).first
        await card.evaluate("node => node.scrollIntoView({ block: 'start' })")
        await asyncio.sleep(0.3)  # the last transition
        box = await page.locator(".thread .log").bounding_box()
        shot = await page.screenshot(clip={"x": 0, "y": box["y"], "width": WIDTH, "height": HEIGHT})
        whole.paste(Image.open(io.BytesIO(shot)), (number * (WIDTH + GAP), 0))
    return whole
