"""“Result” on a card of the page: what the model got, as the local Messages API saw it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import pytest

from askback_sandbox.json_values import JsonObject, as_object, objects
from askback_sandbox.services import Services
from e2e.demo.accessibility import check
from e2e.demo.conftest import Shot
from e2e.demo.living_page import PlatformName, card, living, opened
from e2e.demo.page_actions import button, expect, told, write
from support.browser import Opener

pytest.importorskip("discord", reason="discord.py is not installed")

PLATFORMS = pytest.mark.parametrize("platform", ["slack", "discord"])


COVERED = """main => {
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const texts = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return [...range.getClientRects()];
  };
  return [...main.querySelectorAll(".message")].flatMap((message) => {
    const words = [...message.querySelectorAll("summary")].map((word) => word.getBoundingClientRect());
    const parts = [...message.querySelectorAll(".head > *, .private, .dismiss, .blocks")];
    const covered = (part) => texts(part).some((one) => words.some((word) => meet(one, word)));
    return parts.filter(covered).map((part) => part.textContent);
  });
}"""
"""Returns the texts of the messages in a pane that a word at their right covers."""


def block_of(services: Services, text: str) -> JsonObject:
    """Return the tool_result with this text, from the requests that the model got."""
    for exchange in services.model.log:
        for message in objects(as_object(exchange.request).get("messages")):
            for block in objects(message.get("content")):
                if block.get("type") == "tool_result" and text in json.dumps(block):
                    return block
    raise AssertionError(f"no request has {text!r}")


def result(message: Any) -> Any:
    return message.locator("details.result")


@PLATFORMS
async def test_a_settled_card_shows_the_block_that_its_own_call_got(
    services: Services, open_page: Opener, shot: Shot, platform: PlatformName
) -> None:
    async with living(services, platform):
        page = await opened(open_page, services, platform)
        for answer in ("Both", "Production"):
            await write(page, "@askback single" if answer == "Both" else "single")
            asked = card(page)
            await expect(button(asked, answer)).to_be_visible()
            await asked.hover()
            await result(asked).locator("summary").click()
            await expect(result(asked)).to_contain_text("and waits: the call has no result yet.")
            await button(asked, answer).click()
            await expect(result(asked)).to_contain_text(f'="{answer}"')
        # Two calls of one conversation, each with its own result.
        cards = page.locator(".thread .message:has(details.result)")
        await expect(cards).to_have_count(2)
        for number, answer in enumerate(("Both", "Production")):
            texts = await result(cards.nth(number)).locator("pre").all_inner_texts()
            assert texts[0] == told(services)[number]
            assert json.loads(texts[1]) == block_of(services, f'=\\"{answer}\\"')
        await shot(page, f"result-{platform}")


@PLATFORMS
async def test_the_keyboard_reaches_the_result_of_a_card_that_has_no_controls_left(
    services: Services, open_page: Opener, shot: Shot, platform: PlatformName
) -> None:
    async with living(services, platform):
        page = await opened(open_page, services, platform)
        await write(page, "@askback single")
        await button(card(page), "Production").click()
        await expect(card(page)).to_contain_text("by @ada")
        await expect(page.locator(".thread")).to_contain_text("What next?")
        await page.reload()
        await expect(card(page)).to_be_visible()
        await page.locator(".thread .log").focus()
        for _ in range(10):
            await page.keyboard.press("ArrowUp")
            if await card(page).evaluate("node => node === document.activeElement"):
                break
        await page.keyboard.press("Alt+r")
        await expect(result(card(page))).to_contain_text('="Production"')
        await page.keyboard.press("Alt+j")
        await expect(card(page).locator(".posted pre")).to_contain_text("Production")
        await check(page, f"JSON and result, {platform}")
        await page.set_viewport_size({"width": 390, "height": 780})
        await card(page).scroll_into_view_if_needed()
        await shot(page, f"result-{platform}-390")
        await page.keyboard.press("Alt+r")
        await expect(result(card(page)).locator("pre").first).to_be_hidden()


@PLATFORMS
async def test_a_card_of_a_program_says_where_its_result_went_and_a_text_has_none(
    services: Services, open_page: Opener, platform: PlatformName
) -> None:
    place = "slack:#general" if platform == "slack" else f"discord:{services.discord.guild.name}/#general"
    async with living(services, platform):
        page = await opened(open_page, services, platform)
        arguments = ("-m", "askback", "ask", "Go on?", "--to", place, "--option", "Yes", "--option", "No")
        arguments += ("--approvers", "anyone")
        asking = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, env=dict(os.environ), stdout=asyncio.subprocess.PIPE
        )
        asked = page.locator(".main .message").filter(has_text="Go on?").last
        await button(asked, "Yes").click()
        out, _ = await asyncio.wait_for(asking.communicate(), 60)
        assert json.loads(out)["status"] == "answered"
        await asked.hover()
        await result(asked).locator("summary").click()
        await expect(result(asked)).to_contain_text("A program asked this")
        await expect(result(asked).locator("pre")).to_have_count(0)
        await check(page, f"the card of a program, {platform}")
        await write(page, "@askback hello")
        said = page.locator(".thread .message").last
        await expect(said).to_contain_text("askback")
        await expect(said.locator("details.result")).to_have_count(0)


async def test_no_result_is_made_up_where_the_requests_of_the_model_went_elsewhere(
    services: Services, open_page: Opener
) -> None:
    async with living(services, "slack"):
        page = await opened(open_page, services, "slack")
        await write(page, "@askback single")
        await button(card(page), "Production").click()
        await expect(page.locator(".thread")).to_contain_text("What next?")
        services.model.reset()  # as after a restart with a database that has kept the card
        await page.reload()
        await card(page).hover()
        await result(card(page)).locator("summary").click()
        await expect(result(card(page))).to_contain_text("did not pass through this page")


@PLATFORMS
async def test_on_a_phone_no_word_covers_the_head_or_the_dismissal_of_a_private_notice(
    services: Services, open_page: Opener, shot: Shot, platform: PlatformName
) -> None:
    async with living(services, platform):
        page = await opened(open_page, services, platform)
        arguments = (
            "-m",
            "askback",
            "ask",
            "Go on?",
            "--to",
            f"{platform}:#general",
            "--option",
            "Yes",
            "--option",
            "No",
        )
        arguments += ("--approvers", "@ben")
        asking = await asyncio.create_subprocess_exec(sys.executable, *arguments, env=dict(os.environ))
        try:
            await button(page.locator(".main .message").filter(has_text="Go on?").last, "Yes").click(timeout=120_000)
            notice = page.locator(".main .message.ephemeral").last
            await expect(notice).to_contain_text("Only ben can answer this.")
            await page.set_viewport_size({"width": 390, "height": 780})
            await notice.hover()
            assert await page.locator(".main .message summary").count() >= 2
            covered = await page.locator(".main").evaluate(COVERED)
            await shot(page, f"notice-{platform}-390")
            await check(page, f"a private notice, {platform}")
            assert covered == []
            await notice.get_by_role("button", name="Dismiss message").click()
            await expect(page.locator(".main .message.ephemeral")).to_have_count(0)
        finally:
            asking.terminate()
            await asking.wait()


@PLATFORMS
async def test_another_account_sees_the_same_conversation(
    services: Services, open_page: Opener, platform: PlatformName
) -> None:
    async with living(services, platform):
        page = await opened(open_page, services, platform)
        await write(page, "@askback single")
        await expect(button(card(page), "Production")).to_be_visible()
        people = page.locator(".who select")
        await people.select_option(label="ben")
        await button(card(page), "Production").click()
        refusal = page.locator(".thread .message.ephemeral")
        await expect(refusal).to_have_count(1)
        await people.select_option(label="ada")
        await expect(refusal).to_have_count(0)
        await button(card(page), "Production").click()
        await expect(card(page)).to_contain_text("by @ada")
