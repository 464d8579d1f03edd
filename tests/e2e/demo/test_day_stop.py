"""On the page in a real browser: the bot's status is visible, and work that takes too long can be stopped."""

from __future__ import annotations

from typing import Any

import pytest

from askback_sandbox.model.script import turn
from askback_sandbox.services import Services
from e2e.demo.conftest import Shot
from e2e.demo.living_page import PlatformName, card, living, opened
from e2e.demo.page_actions import button, expect, write
from support.browser import Opener

ENDLESS = "And one more thing that takes its time. " * 400
STOPPED = "Stopped by"


async def test_slack_says_that_the_bot_waits_for_an_answer(services: Services, open_page: Opener) -> None:
    async with living(services, "slack"):
        page: Any = await opened(open_page, services, "slack")
        await write(page, "@askback single")
        await expect(button(card(page), "Production")).to_be_visible()
        await expect(page.locator(".thread .status")).to_have_text("askback is waiting for an answer")


@pytest.mark.parametrize("platform", ["slack", "discord"])
async def test_work_that_takes_too_long_is_ended(
    services: Services, open_page: Opener, shot: Shot, platform: PlatformName
) -> None:
    services.model.script(turn(ENDLESS), when="explain everything")
    services.model.delay = 0.05
    async with living(services, platform):
        page = await opened(open_page, services, platform)
        thread = page.locator(".thread")
        await write(page, "@askback explain everything")
        stop = button(thread, "Stop")
        await expect(thread).to_contain_text("one more thing")
        await expect(stop).to_be_visible()
        await shot(page, f"day-{platform}-08-at-work")
        await stop.click()
        await expect(stop).to_have_count(0)
        await expect(thread.get_by_text(STOPPED)).to_be_visible()
        await expect(thread.locator(".status")).to_have_text("")
        await shot(page, f"day-{platform}-09-stopped")
        await expect(thread).not_to_contain_text(ENDLESS.strip())
