"""The page by keyboard alone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from .parts import OPTIONS, SEVERAL, asking, button, option, plain, until

expect = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect


async def test_a_whole_conversation_by_keyboard(bot, open_page, tmp_path) -> None:
    seen: list[dict[str, Any]] = []
    decided = await asking(bot, seen)
    page = await open_page()
    keys = page.keyboard
    await expect(page.locator(".main textarea")).to_be_focused()
    await keys.press("Tab")  # the @askback button
    await keys.press("Enter")
    await keys.type("which database?")
    await keys.press("Shift+Enter")
    await keys.type("It should be small.")
    await keys.press("Enter")

    # The thread opens automatically, ready to write in; the card is before its composer.
    thread = page.locator(".thread")
    await expect(thread.get_by_role("button", name="Something else…")).to_be_visible()
    await expect(thread.locator("textarea")).to_be_focused()
    await keys.press("Shift+Tab")
    await expect(thread.get_by_role("button", name="Something else…")).to_be_focused()
    await keys.press("Enter")

    dialog = page.get_by_role("dialog", name="Something else…")
    await expect(dialog.get_by_label("Your answer")).to_be_focused()
    await keys.press("Control+Enter")
    await expect(dialog.get_by_role("alert").first).to_contain_text("required")
    await expect(dialog.get_by_label("Your answer")).to_be_focused()
    await keys.type("no")
    await keys.press("Tab")
    await keys.press("Enter")  # in a field of one line
    await expect(dialog.get_by_role("alert").first).to_contain_text("Not “no”, please.")
    await expect(dialog.get_by_label("Your answer")).to_have_attribute("aria-invalid", "true")
    await page.screenshot(path=tmp_path / "modal-error.png")
    for _ in range(8):  # the focus stays in the modal
        await keys.press("Tab")
        assert await page.evaluate("Boolean(document.activeElement.closest('dialog'))")
    await keys.press("Escape")
    await expect(dialog).to_have_count(0)
    await expect(thread.get_by_role("button", name="Something else…")).to_be_focused()

    await keys.press("Enter")
    await expect(dialog.get_by_label("Your answer")).to_be_focused()
    await keys.type("a text file")
    await keys.press("Control+Enter")
    await expect(thread).to_contain_text("You wrote a text file")
    await expect(dialog).to_have_count(0)
    await expect(thread.locator(".message").last).to_be_focused()  # its controls are gone
    await keys.press("Tab")
    await expect(thread.locator("textarea")).to_be_focused()

    # Again, in a new thread, with a click that takes a moment.
    await keys.press("F6")
    await keys.press("F6")
    await keys.type("@askback again")
    await keys.press("Enter")
    choose = thread.get_by_role("button", name="PostgreSQL")
    await expect(choose).to_be_visible()
    await keys.press("Shift+Tab")
    await keys.press("Shift+Tab")
    await keys.press("Enter")
    await expect(choose).to_have_attribute("aria-busy", "true")
    decided.set()
    await expect(thread).to_contain_text("You chose PostgreSQL")
    await expect(page.locator(".main .replies")).to_have_count(2)
    assert [body["actions"][0]["action_id"] for body in seen] == ["choose"]


async def test_menus_by_keyboard(bot, client, open_page) -> None:
    seen: list[dict[str, Any]] = []
    asked: list[str] = []
    search = {
        "type": "external_select",
        "action_id": "search",
        "placeholder": plain("Search"),
        "min_query_length": 1,
    }
    many = {"type": "multi_static_select", "action_id": "many", "options": OPTIONS, "max_selected_items": 2}
    confirm = {
        "title": plain("Sure?"),
        "text": plain("It is gone then."),
        "confirm": plain("Drop"),
        "deny": plain("Keep"),
    }
    more = {"type": "overflow", "action_id": "more", "options": OPTIONS[:2]}

    @bot.app.action({"block_id": re.compile("a[123]")})
    async def acted(ack, body) -> None:
        seen.append(body["actions"][0])
        await ack()

    @bot.app.options("search")
    async def found(ack, body) -> None:
        asked.append(body["value"])
        await ack(options=[option(f"{body['value']} {n}", f"{n}") for n in range(3)])

    await bot.connect()
    blocks = [
        {"type": "actions", "block_id": "a1", "elements": [SEVERAL["elements"][1]]},
        {"type": "section", "block_id": "a2", "text": plain("Up to two"), "accessory": many},
        {
            "type": "actions",
            "block_id": "a3",
            "elements": [search, more, button("Drop", "drop", confirm=confirm)],
        },
    ]
    await client.chat_postMessage(channel="C0GENERAL", text="menus", blocks=blocks)
    page = await open_page()
    keys = page.keyboard
    menus = page.locator(".main .select")
    await expect(menus).to_have_count(3)

    async def acts(count: int) -> None:
        await until(lambda: len(seen) >= count, f"{count} actions arrive")
        await expect(page.locator("[aria-busy=true]")).to_have_count(0)
        assert len(seen) == count

    await menus.nth(0).focus()
    await keys.press("ArrowDown")
    await keys.type("duck")
    await expect(page.locator(".menu:popover-open [role=option]")).to_have_count(1)
    await keys.press("Enter")
    await expect(menus.nth(0)).to_have_text("DuckDB")
    await expect(menus.nth(0)).to_be_focused()
    await acts(1)

    await keys.press("Tab")
    await keys.press("Enter")
    await expect(page.get_by_role("listbox")).to_have_attribute("aria-multiselectable", "true")
    for key in ("Enter", "ArrowDown", "Enter", "ArrowDown", "Enter"):
        await keys.press(key)
    await expect(page.locator(".menu:popover-open .note")).to_have_text("At most 2 can be chosen.")
    await keys.press("Escape")
    await expect(menus.nth(1)).to_have_text("PostgreSQLSQLite")
    await acts(2)

    await keys.press("Tab")
    await keys.press("Enter")
    await keys.type("abc", delay=20)
    await expect(page.locator(".menu:popover-open [role=option]")).to_have_text(["abc 0", "abc 1", "abc 2"])
    await keys.press("ArrowDown")
    await keys.press("Enter")
    await expect(menus.nth(2)).to_have_text("abc 1")
    await acts(3)
    assert asked[-1] == "abc"  # and not at each letter, unless the typing paused there

    await keys.press("Tab")
    await keys.press("Enter")
    await keys.press("End")
    await keys.press("Enter")
    await acts(4)

    await keys.press("Tab")
    await keys.press("Enter")
    await expect(page.get_by_role("dialog", name="Sure?")).to_be_visible()
    await keys.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await keys.press("Enter")
    await keys.press("Enter")
    await acts(5)
    assert [action["action_id"] for action in seen] == ["menu", "many", "search", "more", "drop"]
    assert [o["value"] for o in seen[1]["selected_options"]] == ["pg", "sq"]
    assert seen[3]["selected_option"]["value"] == "sq"
