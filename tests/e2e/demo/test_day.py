"""A day with the bot, on the page in a real browser: typed answers count, "not now" is an answer, work ends."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Literal

import pytest

from askback.domain.open_ask_limits import Limits
from askback.internal.clock import utc_now
from askback.ports.installed_bots import get_bot
from askback.runtime.app import open_host
from askback_sandbox.services import Services
from e2e.demo.conftest import Shot
from e2e.demo.test_conversation import button, leave, told, write
from support.browser import Opener

CARD = re.compile(r"Asked: |\bby @|Show question")
"""Text of a card, open or settled."""


pytest.importorskip("discord", reason="discord.py is not installed")
expect = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect

PlatformName = Literal["slack", "discord"]
WHERE = {"slack": "U0LOCALADA/C0GENERAL", "discord": "discord/1100000000000000201/1100000000000000301"}
AT_A_TIME = {"slack": "Remind me at another time", "discord": "Remind me in an hour"}
PROMPT = "Where shall I deploy the release?"
NEXT = "What next?"


@asynccontextmanager
async def living(services: Services, platform: PlatformName) -> AsyncIterator[None]:
    """Run the real bot and agent, except for the pause between two asks."""
    async with open_host([get_bot(platform)], limits=Limits(seconds_between_asks=0)) as host:
        with services.find_calls_with(host.store.list_askers):
            await (services.socket if platform == "slack" else services.discord.gateway).connected()
            yield


async def opened(open_page: Opener, services: Services, platform: PlatformName) -> Any:
    """Open the page of that platform: Slack in light mode, Discord in dark mode."""
    page = await open_page(color_scheme="light" if platform == "slack" else "dark")
    await page.goto(f"{services.url}/#{WHERE[platform]}")
    await expect(page.locator(f"[data-site={platform}][aria-current=true]")).to_be_visible()
    return page


def card(page: Any) -> Any:
    """Return the newest card of the thread."""
    return page.locator(".thread .message").filter(has_text=CARD).filter(has_text=PROMPT).last


ACTING = 'button:not(:has-text("Show question")), input, select, textarea'
"""The controls that change something."""


async def is_settled(message: Any, *words: str) -> None:
    """Check that the card has no controls left, and shows its outcome."""
    await expect(message.locator(ACTING)).to_have_count(0)
    for word in words:
        await expect(message).to_contain_text(word)


@pytest.mark.parametrize("platform", ["slack", "discord"])
async def test_what_is_typed_counts_not_now_is_an_answer_and_a_question_can_be_taken_back(
    services: Services, open_page: Opener, shot: Shot, platform: PlatformName
) -> None:
    async with living(services, platform):
        page = await opened(open_page, services, platform)
        thread = page.locator(".thread")

        async def keep(name: str) -> None:
            await shot(page, f"day-{platform}-{name}")

        # A typed label is the answer.
        await write(page, "@askback single")
        await expect(button(card(page), "Production")).to_be_visible()
        await keep("01-asked")
        await write(page, "production")
        await is_settled(card(page), "Answered by @ada", "Production")
        await expect(thread.get_by_text(NEXT)).to_have_count(1)
        await keep("02-typed")
        assert '="Production"' in told(services)[-1]

        # The settled card shows the whole question again.
        await button(card(page), "Show question").click()
        whole = page.get_by_role("dialog") if platform == "slack" else thread.locator(".message.ephemeral").last
        await expect(whole).to_contain_text("Nobody but us sees it")
        await page.set_viewport_size({"width": 390, "height": 780})
        await keep("10-question-phone")
        await page.set_viewport_size({"width": 1280, "height": 860})
        await keep("11-question")
        if platform == "slack":
            await whole.get_by_role("button", name="Close").last.click()

        # A text that fits no option may still be an answer: its author says so.
        await write(page, "single")
        asked = card(page)
        await expect(button(asked, "Production")).to_be_visible()
        await write(page, "The blue one behind the house, please")
        use = button(thread, "Use this as your answer")
        await expect(button(thread, "Just a message")).to_be_visible()
        await keep("03-offered")
        await use.click()
        await is_settled(asked, "Answered by @ada", "The blue one behind the house, please")
        await expect(use).to_have_count(0)
        await expect(thread.get_by_text(NEXT)).to_have_count(2)
        await keep("04-taken")

        # Not now: it is to be discussed first.
        await write(page, "single")
        asked = card(page)
        await button(asked, "Not now…").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog.get_by_role("radio", name="Discuss it first")).to_be_focused()
        await keep("05-not-now")
        await leave(page, "Discuss it first", "The office is moving this week.")
        await is_settled(asked, "To be discussed first", "The office is moving this week.")
        await expect(thread.get_by_text(NEXT)).to_have_count(3)
        await keep("06-to-be-discussed")
        assert "The office is moving this week." in told(services)[-1]

        # A reminder for later, and then cancelled by the person who asked.
        await write(page, "single")
        asked = card(page)
        await button(asked, "Not now…").click()
        if platform == "slack":
            await (
                page.get_by_role("dialog").get_by_label("When?").fill(f"{utc_now() + timedelta(days=2):%Y-%m-%dT%H:%M}")
            )
        await leave(page, AT_A_TIME[platform], "I am in a meeting.")
        await expect(asked).to_contain_text("Reminder for @ada")
        await expect(asked).to_contain_text("I am in a meeting.")
        await keep("07-reminder")
        await button(asked, "Not now…").click()
        await leave(page, "Cancel it")
        await is_settled(asked, "Cancelled", "by @ada")
        await expect(thread.get_by_text(NEXT)).to_have_count(4)
        await keep("08-cancelled")
        results = told(services)
        assert len(results) == 4
        assert "cancelled" in results[-1]
