"""A note to a choice, as a browser shows its card, its window, its review and its settled card."""

from __future__ import annotations

from typing import Any

import pytest

from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from e2e.demo.conftest import Shot
from e2e.demo.living_page import PlatformName, living, opened
from e2e.demo.page_actions import button, expect, write
from support.browser import Opener

WHERE, WHEN = "Where do we deploy?", "On which day?"
EITHER = "Something else or a note…"
SIZES = ({"width": 390, "height": 780}, {"width": 1280, "height": 800})


@pytest.mark.parametrize("platform", ["slack", "discord"])
async def test_a_person_writes_a_note_to_a_choice(
    services: Services, open_page: Opener, shot: Shot, platform: PlatformName
) -> None:
    where = {
        "id": "where",
        "header": "Place",
        "question": WHERE,
        "options": [{"label": "Staging"}, {"label": "Production"}],
        "allowNote": True,
    }
    day = {"id": "day", "header": "Day", "question": WHEN, "options": [{"label": "Monday"}, {"label": "Friday"}]}
    services.model.script(turn(call("ask", questions=[where, day])), turn("Deployed."), when="deploy it")
    async with living(services, platform):
        page = await opened(open_page, services, platform)
        await write(page, "@askback deploy it")
        asked = page.locator(".thread .message").filter(has_text=WHERE).last
        await expect(button(asked, EITHER)).to_be_visible()
        await _shoot(page, shot, f"note-{platform}-card")
        await button(asked, EITHER).click()
        modal = page.locator("dialog.modal[open]")
        await modal.get_by_label("Production").check()
        await modal.locator("textarea").fill("but after six")
        await _shoot(page, shot, f"note-{platform}-modal")
        await modal.get_by_role("button", name="Send" if platform == "slack" else "Submit").click()
        await button(page.locator(".thread .message").filter(has_text=WHEN).last, "Friday").click()
        review = page.locator(".thread .message").filter(has_text="Review your answers").last
        await expect(review).to_contain_text("but after six")
        await _shoot(page, shot, f"note-{platform}-review")
        await button(review, "Submit").click()
        ended = page.locator(".thread .message").filter(has_text="by @ada").last
        await expect(ended).to_contain_text("but after six")
        await _shoot(page, shot, f"note-{platform}-settled")


async def _shoot(page: Any, shot: Shot, name: str) -> None:
    for size in SIZES:
        for scheme in ("dark", "light"):
            await page.set_viewport_size(size)
            await page.emulate_media(color_scheme=scheme)
            await shot(page, f"{name}-{size['width']}-{scheme}")
