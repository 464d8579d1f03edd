"""Slack's pickers of people and channels on the page."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import expect

from .parts import plain, until

SINGLE = {"type": "users_select", "action_id": "who", "placeholder": plain("Choose a person…")}
SEVERAL = {
    "type": "multi_conversations_select",
    "action_id": "where",
    "placeholder": plain("Choose channels…"),
    "filter": {"include": ["public", "private"]},
    "initial_conversations": ["C0GENERAL"],
    "max_selected_items": 2,
}


async def test_slacks_pickers_list_the_workspace_and_send_ids(bot, client, open_page) -> None:
    seen: list[dict[str, Any]] = []

    @bot.app.action(re.compile("who|where"))
    async def acted(ack, body) -> None:
        seen.append(body["actions"][0])
        await ack()

    await bot.connect()
    blocks = [
        {"type": "actions", "elements": [SINGLE]},
        {"type": "section", "text": plain("Channels:"), "accessory": SEVERAL},
    ]
    await client.chat_postMessage(channel="C0GENERAL", text="pick", blocks=blocks)
    page = await open_page()
    await page.get_by_role("button", name="Choose a person…").click()
    options = page.locator(".menu:popover-open [role=option]")
    await expect(options).to_have_text(["@ada", "@ben", "@cy", "@askback"])
    await page.keyboard.type("be")
    await expect(options).to_have_text(["@ben"])
    await page.keyboard.press("Enter")
    await until(lambda: len(seen) == 1, "a person arrives", arrived=seen)
    assert (seen[0]["type"], seen[0]["selected_user"]) == ("users_select", "U0LOCALBEN")
    await page.get_by_role("button", name="#general").click()
    await expect(options).to_have_text(["#general", "#deploys", "#private-room"])
    await options.filter(has_text="#deploys").click()
    await page.keyboard.press("Escape")
    await until(lambda: len(seen) == 2, "channels arrive", arrived=seen)
    assert seen[1]["selected_conversations"] == ["C0GENERAL", "C0DEPLOYS"]
