"""All questions of a form in one modal, as a browser shows them."""

from __future__ import annotations

from typing import Any

import pytest

from askback_sandbox.services import Services
from e2e.demo.conftest import Shot
from e2e.demo.living_page import PlatformName, living, opened
from e2e.demo.page_actions import button, expect, write
from support.browser import Opener

NARROW = {"width": 390, "height": 780}


@pytest.mark.parametrize("platform", ["slack", "discord"])
async def test_a_person_answers_a_whole_form_in_one_modal(
    services: Services, open_page: Opener, shot: Shot, platform: PlatformName
) -> None:
    async with living(services, platform):
        page = await opened(open_page, services, platform)
        await write(page, "@askback form")
        asked = page.locator(".thread .message").filter(has_text="1 of ").last
        await expect(button(asked, "Answer all…")).to_be_visible()
        await shot(page, f"form-{platform}-card")
        await button(asked, "Answer all…").click()
        modal = page.locator("dialog.modal[open]")
        await expect(modal).to_contain_text("Your answers")
        for size in ({"width": 1280, "height": 800}, NARROW):
            for scheme in ("light", "dark"):
                await page.set_viewport_size(size)
                await page.emulate_media(color_scheme=scheme)
                await _keep_whole(page, modal, f"form-{platform}-{size['width']}-{scheme}", shot)
        await page.set_viewport_size({"width": 1280, "height": 800})
        for group in await modal.locator(".boxes").all():
            await group.locator("input").first.check()
        await modal.get_by_role("button", name="Submit").click()
        ended = page.locator(".thread .message").filter(has_text="by @ada").last
        await expect(ended).to_contain_text("Answered")
        await expect(ended).to_contain_text("billing")
        await shot(page, f"form-{platform}-end")


async def _keep_whole(page: Any, modal: Any, name: str, shot: Shot) -> None:
    """Take pictures of the modal from its beginning to its end."""
    body = modal.locator(".body")
    for number in range(4):
        await body.evaluate("(one, number) => one.scrollTo(0, number * one.clientHeight)", number)
        await shot(page, f"{name}-{number}")
        if await body.evaluate("one => one.scrollTop + one.clientHeight >= one.scrollHeight - 1"):
            break
