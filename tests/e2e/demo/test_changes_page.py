"""Edits and deletions on the page in a real browser: their authors see that the agent noticed, and cards come back."""

from __future__ import annotations

import pytest

from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from e2e.demo.conftest import Shot
from e2e.demo.living_page import PlatformName, living, opened
from e2e.demo.page_actions import QUESTION, button, expect, write
from support.browser import Opener


def mention(services: Services, platform: PlatformName) -> tuple[str, str]:
    """Return the channel and the id of the message that mentions the bot."""
    if platform == "slack":
        found = next(one for one in services.workspace.messages.values() if "fruit, please" in one.text)
        return found.channel, found.ts
    post = next(one for one in services.discord.guild.posts.values() if "fruit, please" in one.content)
    return post.channel, post.id


def list_cards(services: Services, platform: PlatformName) -> list[tuple[str, str]]:
    """Return the channels and the ids of the cards, oldest first."""
    if platform == "slack":
        messages = services.workspace.messages.values()
        return [(one.channel, one.ts) for one in messages if "Which fruit?" in str(one.blocks)]
    posts = services.discord.guild.posts.values()
    return [(one.channel, one.id) for one in posts if "Which fruit?" in str(one.components)]


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
        (first,) = list_cards(services, platform)
        people.moderate("cy", *first)
        state = services.workspace if platform == "slack" else services.discord.guild
        await state.until(lambda _: any(one != first for one in list_cards(services, platform)), within=30)
        await expect(cards).to_have_count(1)
        await expect(button(cards.last, "Apple")).to_be_visible()
        await shot(page, f"changes-{platform}-02-card-came-back")
        await button(cards.last, "Apple").click()
        await expect(page.locator(".message").filter(has_text="So be it, without pears.")).to_be_visible()
        await shot(page, f"changes-{platform}-03-answered")
