"""The demo's page has no violation that axe finds, in the states that a person meets."""

from __future__ import annotations

import pytest

from askback_sandbox.services import Services
from e2e.demo.accessibility import check
from e2e.demo.living_page import PlatformName, living, opened
from e2e.demo.page_actions import button, expect, write
from support.browser import Opener


@pytest.mark.parametrize("platform", ["slack", "discord"])
async def test_the_start_a_card_its_modals_and_its_end_have_no_violation(
    services: Services, open_page: Opener, platform: PlatformName
) -> None:
    async with living(services, platform):
        page = await opened(open_page, services, platform)
        await expect(page.locator(".main .start")).to_be_visible()
        await check(page, "start")
        await write(page, "@askback form")
        asked = page.locator(".thread .message").filter(has_text="1 of ").last
        await expect(button(asked, "Answer all…")).to_be_visible()
        await check(page, "card")
        modal = page.locator("dialog.modal[open]")
        for label in ("Answer all…", "Something else…", "Not now…"):
            await button(asked, label).click()
            await expect(modal).to_be_visible()
            await check(page, label)
            await page.keyboard.press("Escape")
            await expect(modal).to_have_count(0)
        await button(asked, "Answer all…").click()
        await expect(modal).to_be_visible()
        for group in await modal.locator(".boxes").all():
            await group.locator("input").first.check()
        await modal.get_by_role("button", name="Submit").click()
        await expect(page.locator(".thread .message").filter(has_text="by @ada").last).to_contain_text("Answered")
        await check(page, "settled")
