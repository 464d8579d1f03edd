"""Unfinished inputs of people stay as they are when events arrive."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from askback_sandbox.services import Services

from .parts import CARD, SEVERAL, asking, plain, settled, until

expect = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect


async def test_drafts_menus_and_ticks_survive_what_happens_meanwhile(bot, client, open_page) -> None:
    seen: list[dict[str, Any]] = []
    await asking(bot, seen)
    note = {"type": "input", "block_id": "note", "optional": True, "label": plain("Note")}
    note = {**note, "element": {"type": "plain_text_input", "action_id": "text"}}
    blocks = [{"type": "section", "block_id": "q", "text": plain("Version 1")}, SEVERAL, note, CARD[1]]
    card = await client.chat_postMessage(channel="C0GENERAL", text="Several?", blocks=blocks)
    page = await open_page()
    field = page.locator(".main .composer textarea")
    await field.fill("half a thou")
    await page.get_by_role("checkbox", name="SQLite").check()
    await page.get_by_label("Note").fill("half a no")
    await page.get_by_role("button", name="Pick one").click()
    await expect(page.locator(".menu:popover-open")).to_be_visible()
    await page.keyboard.press("ArrowDown")

    await client.chat_postMessage(channel="C0GENERAL", text="meanwhile")
    blocks[0] = {"type": "section", "block_id": "q", "text": plain("Version 2")}
    await client.chat_update(channel="C0GENERAL", ts=card["ts"], text="Several!", blocks=blocks)
    await expect(page.locator(".main")).to_contain_text("Version 2")
    await expect(page.locator(".main")).to_contain_text("meanwhile")
    await expect(page.locator(".menu:popover-open .current")).to_have_text("SQLite")
    await expect(page.get_by_role("checkbox", name="SQLite")).to_be_checked()
    await expect(page.get_by_label("Note")).to_have_value("half a no")
    await expect(field).to_have_value("half a thou")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="SQLite")).to_be_focused()
    await until(lambda: len(seen) == 2, "the menu's choice is sent, after the box", arrived=seen, page=page)
    await expect(page.locator("[aria-busy=true]")).to_have_count(0)
    values = seen[-1]["state"]["values"]
    assert [o["value"] for o in values["several"]["boxes"]["selected_options"]] == ["sq"]
    assert values["several"]["menu"]["selected_option"]["value"] == "sq"
    assert values["note"]["text"]["value"] == "half a no"

    # A half-written modal keeps its text, when the messages or the modal itself change.
    await page.get_by_role("button", name="Something else…").click()
    await page.get_by_label("Your answer").fill("half an ans")
    await client.chat_postMessage(channel="C0GENERAL", text="and again")
    await expect(page.locator(".main")).to_contain_text("and again")
    await expect(page.get_by_label("Your answer")).to_have_value("half an ans")
    await expect(page.get_by_label("Your answer")).to_be_focused()

    # Another channel and another person in the same tab have their own drafts.
    await page.keyboard.press("Escape")
    await page.get_by_role("link", name="deploys").click()
    await expect(page.locator(".main textarea")).to_have_value("")
    await page.get_by_role("link", name="general").click()
    await expect(page.locator(".main textarea")).to_have_value("half a thou")
    await page.get_by_label("You are").select_option("ben")
    await expect(page.locator(".main textarea")).to_have_value("")
    await expect(page.get_by_role("checkbox", name="SQLite")).not_to_be_checked()


async def test_the_newest_message_stays_in_sight_until_somebody_scrolls_up(client, open_page) -> None:
    async def say(number: int) -> None:
        await client.chat_postMessage(channel="C0GENERAL", text=f"message {number}\n" + "more\n" * 5)

    for number in range(8):
        await say(number)
    page = await open_page(height=600)
    log = page.locator(".main .log")
    node = await log.element_handle()

    async def in_sight(number: int) -> None:
        await expect(log).to_contain_text(f"message {number}")
        await page.wait_for_function("log => log.scrollHeight - log.scrollTop - log.clientHeight < 2", arg=node)

    await in_sight(7)
    await say(8)
    await in_sight(8)
    # Something grows after a scroll, and before the page receives that scroll's event.
    await log.evaluate(
        """log => {
            log.querySelector(".message:last-child").style.paddingBottom = "300px";
            log.dispatchEvent(new Event("scroll"));
        }"""
    )
    await in_sight(8)
    await say(9)
    await in_sight(9)

    await log.hover()
    await page.mouse.wheel(0, -400)
    # Chromium scrolls smoothly: the place is read once it has arrived.
    await page.wait_for_function("log => log.scrollHeight - log.scrollTop - log.clientHeight > 399", arg=node)
    there = await log.evaluate("log => log.scrollTop")
    await say(10)
    await expect(log).to_contain_text("message 10")
    await settled(page)
    assert await log.evaluate("log => log.scrollTop") == there
    await page.get_by_role("link", name="deploys").click()
    await expect(page.get_by_role("heading", name="deploys")).to_be_visible()
    await page.get_by_role("link", name="general").click()
    await expect(log).to_contain_text("message 10")
    assert await log.evaluate("log => log.scrollTop") == there
    await log.hover()
    await page.mouse.wheel(0, 4000)
    await in_sight(10)
    await say(11)
    await in_sight(11)


async def test_a_modal_that_was_closed_stays_closed_while_messages_come(bot, client, open_page) -> None:
    await asking(bot, [])
    await client.chat_postMessage(channel="C0GENERAL", text="Which?", blocks=CARD)
    page = await open_page()
    await page.get_by_role("button", name="Something else…").click()
    await expect(page.get_by_label("Your answer")).to_be_focused()
    closing, go_on = asyncio.Event(), asyncio.Event()

    async def held(route: Any) -> None:
        closing.set()
        await go_on.wait()
        await route.continue_()

    await page.route("**/people/close", held)
    # The field is drawn again while messages come, so the key goes to the field that exists now.
    await page.get_by_label("Your answer").press("Escape")
    await closing.wait()
    await client.chat_postMessage(channel="C0GENERAL", text="meanwhile")
    await expect(page.locator(".main")).to_contain_text("meanwhile")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    go_on.set()
    await expect(page.locator("#views dialog")).to_have_count(0)


async def test_the_page_comes_back_with_the_workspace(services, open_page) -> None:
    page = await open_page()
    field = page.locator(".main textarea")
    await field.fill("half a thou")
    await services.stop()
    away = page.get_by_role("status").filter(has_text="The workspace is away.")
    await expect(away).to_be_visible()
    await field.press("Enter")
    await expect(page.get_by_role("alert").filter(has_text="did not answer")).to_be_visible()
    await expect(field).to_have_value("half a thou")
    async with Services(port=int(services.url.rsplit(":", 1)[1])):
        await expect(away).to_be_hidden()
        await field.press("Enter")
        await expect(page.locator(".main .message")).to_contain_text("half a thou")
