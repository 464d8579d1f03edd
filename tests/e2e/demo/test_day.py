"""A day with the bot, on the page in a real browser: typed answers count, "not now" is an answer, work ends."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from askback.internal.clock import utc_now
from askback_sandbox.services import Services
from e2e.demo.conftest import Shot
from e2e.demo.living_page import PlatformName, card, living, opened
from e2e.demo.page_actions import ACTING, button, expect, leave, told, write
from support.browser import Opener

pytest.importorskip("discord", reason="discord.py is not installed")

AT_A_TIME = {"slack": "Remind me at another time", "discord": "Remind me in an hour"}
NEXT = "What next?"


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
