"""The people asked by a question, on the page in a real browser."""

from __future__ import annotations

import pytest

from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from e2e.demo.conftest import Shot
from e2e.demo.living_page import PlatformName, living, opened
from e2e.demo.page_actions import CARD, QUESTION, button, expect, write
from support.browser import Opener


@pytest.mark.parametrize("platform", ["slack", "discord"])
async def test_a_card_names_whom_it_is_for_and_tells_others_so(
    services: Services, open_page: Opener, shot: Shot, platform: PlatformName
) -> None:
    services.model.script(
        turn(call("AskUserQuestion", questions=[QUESTION])),
        turn(call("AskUserQuestion", questions=[QUESTION], to=["ben"])),
        turn("So be it."),
        when="fruit",
    )
    async with living(services, platform):
        page = await opened(open_page, services, platform)
        cards = page.locator(".thread .message").filter(has_text=CARD)
        await write(page, "@askback fruit, please")
        await expect(cards.last).to_contain_text("or anyone in this thread")
        await shot(page, f"audience-{platform}-01-anyone")
        if platform == "slack":
            thread = next(one.root for one in services.workspace.messages.values() if "fruit, please" in one.text)
            services.people.write("ben", "general", "pear", thread)
        else:
            guild = services.discord.guild
            thread = next(one.id for one in guild.posts.values() if "fruit, please" in one.content)
            services.discord.people.write("ben", thread, "pear")
        await expect(cards).to_have_count(2)
        await expect(cards.last).to_contain_text("Ben" if platform == "slack" else "ben", ignore_case=True)
        await expect(cards.last).not_to_contain_text("anyone")
        await shot(page, f"audience-{platform}-02-for-ben")
        await button(cards.last, "Apple").click()
        await expect(page.locator(".message").filter(has_text="can answer this.")).to_be_visible()
        await shot(page, f"audience-{platform}-03-told")
