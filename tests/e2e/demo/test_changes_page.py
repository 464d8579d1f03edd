"""Edits and deletions on the page in a real browser: their authors see that the agent noticed, and cards come back."""

from __future__ import annotations

import pytest

from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from e2e.demo.conftest import Shot
from e2e.demo.test_audience_page import QUESTION
from e2e.demo.test_conversation import button, write
from e2e.demo.test_day import PlatformName, expect, living, opened
from support.browser import Opener


def mention(services: Services, platform: PlatformName) -> tuple[str, str]:
    """Return the channel and the id of the message that mentions the bot."""
    if platform == "slack":
        found = next(one for one in services.workspace.messages.values() if "fruit, please" in one.text)
        return found.channel, found.ts
    post = next(one for one in services.discord.guild.posts.values() if "fruit, please" in one.content)
    return post.channel, post.id


def card_of(services: Services, platform: PlatformName) -> tuple[str, str]:
    """Return the channel and the id of the newest card."""
    if platform == "slack":
        found = [one for one in services.workspace.messages.values() if "Which fruit?" in str(one.blocks)][-1]
        return found.channel, found.ts
    posts = services.discord.guild.posts.values()
    post = [one for one in posts if "Which fruit?" in str(one.components)][-1]
    return post.channel, post.id


@pytest.mark.parametrize("platform", ["slack", "discord"])
async def test_an_edit_is_confirmed_and_a_deleted_card_comes_back(
    services: Services, open_page: Opener, shot: Shot, platform: PlatformName
) -> None:
    services.model.script(
        turn(call("AskUserQuestion", questions=[QUESTION])), turn("So be it, without pears."), when="fruit"
    )
    async with living(services, platform):
        people = services.people if platform == "slack" else services.discord.people
        page = await opened(open_page, services, platform)
        cards = page.locator(".thread .message").filter(has_text="Asked: ")
        await write(page, "@askback fruit, please")
        await expect(cards).to_have_count(1)
        channel, message = mention(services, platform)
        people.edit("ada", channel, message, "@askback fruit, please, but no pears")
        if platform == "slack":
            await expect(page.locator(".message").filter(has_text="the agent will see your edit")).to_be_visible()
        await shot(page, f"changes-{platform}-01-edited")
        channel, first = card_of(services, platform)
        people.moderate("cy", channel, first)
        await expect(cards).to_have_count(1)
        await expect(button(cards.last, "Apple")).to_be_visible()
        await shot(page, f"changes-{platform}-02-card-came-back")
        assert card_of(services, platform)[1] != first
        await button(cards.last, "Apple").click()
        await expect(page.locator(".message").filter(has_text="So be it, without pears.")).to_be_visible()
        await shot(page, f"changes-{platform}-03-answered")
