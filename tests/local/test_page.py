"""The page in a real browser, with a real bolt bot behind it."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from askback_local.clock import SystemClock
from askback_local.services import Services

playwright_api = pytest.importorskip("playwright.async_api", reason="playwright is not installed")
expect = playwright_api.expect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None and os.environ.get("CI") != "true":
    pytest.skip("no Chromium here to open the page with", allow_module_level=True)

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
HOSTILE = (
    "<script>window.hacked = 1</script> <img src=x onerror='window.hacked = 1'> `ticks` *stars* <!channel> "
    "<@U0LOCALADA> @everyone [link](https://example.com) \u202eright to left\u202c שלום 👩‍👩‍👧‍👦 " + "x" * 250
)

PATIENCE = 30_000
"""Milliseconds that anything on the page may take: browsers are slow where much else runs."""

Opener = Callable[..., Awaitable[Any]]


def plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def mrkdwn(text: str) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": text}


def option(label: str, value: str, description: str | None = None) -> dict[str, Any]:
    return {
        "text": plain(label),
        "value": value,
        **({"description": plain(description)} if description else {}),
    }


def button(label: str, action_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "button", "action_id": action_id, "text": plain(label), "value": action_id, **more}


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


OPTIONS = [option("PostgreSQL", "pg", "What the team knows"), option("SQLite", "sq"), option("DuckDB", "dk")]
SEVERAL = {
    "type": "actions",
    "block_id": "several",
    "elements": [
        {"type": "checkboxes", "action_id": "boxes", "options": OPTIONS},
        {"type": "static_select", "action_id": "menu", "placeholder": plain("Pick one"), "options": OPTIONS},
    ],
}
CARD = [
    {"type": "section", "block_id": "q", "text": plain("Which database?")},
    {
        "type": "actions",
        "block_id": "a",
        "elements": [
            button("PostgreSQL", "choose", style="primary"),
            button("Something else…", "other"),
        ],
    },
]
MODAL = {
    "type": "modal",
    "callback_id": "written",
    "title": plain("Something else…"),
    "submit": plain("Submit"),
    "blocks": [
        {
            "type": "input",
            "block_id": "answer",
            "label": plain("Your answer"),
            "hint": plain("A name"),
            "element": {"type": "plain_text_input", "action_id": "text", "multiline": True, "max_length": 50},
        },
        {
            "type": "input",
            "block_id": "why",
            "optional": True,
            "label": plain("Why"),
            "element": {"type": "plain_text_input", "action_id": "text"},
        },
    ],
}


@pytest.fixture
def clock() -> SystemClock:
    """People in a browser live in real time."""
    return SystemClock()


def is_complaint(line: Any) -> bool:
    """Anything but a picture that cannot be had; what the page's policy refuses comes as another line."""
    return line.type in ("error", "warning") and "Failed to load resource" not in line.text


@pytest.fixture
async def open_page(services) -> AsyncIterator[Opener]:
    """Opens the page as someone; at the end, the browser must have had nothing to complain about."""
    complaints: list[str] = []
    expect.set_options(timeout=PATIENCE)
    async with playwright_api.async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)

        async def open_one(
            person: str = "ada", channel: str = "C0GENERAL", *, width: int = 1280, height: int = 860, **more: Any
        ) -> Any:
            context = await browser.new_context(viewport={"width": width, "height": height}, **more)
            context.set_default_timeout(PATIENCE)
            page = await context.new_page()
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda line: complaints.append(line.text) if is_complaint(line) else None)
            await page.goto(f"{services.url}/#U0LOCAL{person.upper()}/{channel}")
            await expect(page.locator(".main textarea")).to_be_visible()
            return page

        yield open_one
        await browser.close()
    assert complaints == []


async def until(condition: Callable[[], bool], what: str) -> None:
    """Returns as soon as it is so: for what the bot hears, of which the page knows nothing."""
    end = time.monotonic() + PATIENCE / 1000
    while not condition():
        assert time.monotonic() < end, f"not within {PATIENCE / 1000:g} s: {what}"
        await asyncio.sleep(0.01)


async def settled(page: Any) -> None:
    """Let the page fetch and draw what has just changed."""
    await page.wait_for_timeout(150)


async def test_every_block_is_drawn(client, open_page) -> None:
    blocks = [
        {"type": "header", "text": plain("A header")},
        {
            "type": "section",
            "text": mrkdwn(
                "*Bold* _italic_ ~gone~ `co&lt;de&gt;` <https://example.com/a|a link> <@U0LOCALADA> <#C0GENERAL> "
                "<!date^86400^{date_num}|then> <!here>\n&gt; quoted\n```\nfenced *not bold*\n```\n2*3*4 snake_case_name"
            ),
            "accessory": {"type": "overflow", "action_id": "more", "options": OPTIONS[:2]},
        },
        {"type": "section", "fields": [mrkdwn("*Field one*"), plain("*Field two*")]},
        {
            "type": "rich_text",
            "elements": [
                {
                    "type": "rich_text_section",
                    "elements": [
                        {
                            "type": "text",
                            "text": "strong",
                            "style": {"bold": True, "italic": True, "strike": True},
                        },
                        {"type": "text", "text": "mono", "style": {"code": True}},
                        {"type": "emoji", "name": "tada", "unicode": "1f389"},
                        {"type": "link", "url": "https://example.com/b", "text": "rich link"},
                        {"type": "user", "user_id": "U0LOCALBEN"},
                        {"type": "date", "timestamp": 86400, "format": "on {date_num}", "fallback": "then"},
                    ],
                },
                {
                    "type": "rich_text_list",
                    "style": "ordered",
                    "offset": 2,
                    "indent": 1,
                    "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "third"}]}],
                },
                {"type": "rich_text_quote", "elements": [{"type": "text", "text": "rich quote"}]},
                {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "rich code"}]},
            ],
        },
        {
            "type": "section",
            "text": plain("Several of them"),
            "accessory": {
                "type": "multi_static_select",
                "action_id": "m",
                "options": OPTIONS,
                "initial_options": OPTIONS[:2],
            },
        },
        {"type": "divider"},
        {"type": "context", "elements": [mrkdwn("*context*")]},
        {"type": "image", "image_url": "https://127.0.0.1:9/none.png", "alt_text": "a missing picture"},
        {
            "type": "container",
            "title": plain("A frame"),
            "child_blocks": [{"type": "section", "text": plain("framed")}],
        },
        {"type": "table", "rows": [[{"type": "raw_text", "text": t} for t in row] for row in ("ab", "cd")]},
        {
            "type": "actions",
            "elements": [
                button("Plain", "b1"),
                button("Primary", "b2", style="primary"),
                button("Danger", "b3", style="danger"),
                {
                    "type": "static_select",
                    "action_id": "s",
                    "placeholder": plain("Pick one"),
                    "options": OPTIONS,
                },
                {"type": "external_select", "action_id": "e", "placeholder": plain("Search")},
            ],
        },
        {
            "type": "actions",
            "elements": [
                {"type": "checkboxes", "action_id": "c", "options": OPTIONS, "initial_options": OPTIONS[1:2]},
                {"type": "radio_buttons", "action_id": "r", "options": OPTIONS},
            ],
        },
        {
            "type": "input",
            "label": plain("A label"),
            "hint": plain("A hint"),
            "element": {"type": "plain_text_input", "action_id": "t", "placeholder": plain("Write…")},
        },
    ]
    await client.chat_postMessage(channel="C0GENERAL", text="all of them", blocks=blocks)
    prose = (
        "# Title\nSome **bold**, *slanted*, ~~gone~~ and `code`, [a link](https://example.com/c), 2 * 3 * 4.\n\n"
        "1. one\n   - inner\n2. two\n\n> quoted\n\n```py\nprint('<b>')\n```\n\n| h | i |\n|---|---|\n| j | k |\n\n"
        "[bad](javascript:alert(1)) &lt;!channel&gt;"
    )
    await client.chat_postMessage(channel="C0GENERAL", text="prose", blocks=[{"type": "markdown", "text": prose}])
    page = await open_page()
    first, second = page.locator(".main .message").nth(0), page.locator(".main .message").nth(1)

    await expect(first.get_by_role("heading", name="A header")).to_be_visible()
    for tag, text in (
        ("b", "Bold"),
        ("i", "italic"),
        ("s", "gone"),
        ("code", "co<de>"),
        ("blockquote", "quoted"),
        ("pre", "fenced *not bold*"),
        (".mention.me", "@ada"),
        (".mention", "#general"),
        (".mention", "@here"),
        ("time", "1970-01-0"),
        ("p", "2*3*4 snake_case_name"),
        ("b", "Field one"),
        (".fields", "*Field two*"),
        ("s i b", "strong"),
        ("code", "mono"),
        (".mention", "@ben"),
        ("time", "on 1970-01-0"),
        ("ol[start='3'].indent-1 li", "third"),
        ("blockquote", "rich quote"),
        ("pre", "rich code"),
        (".context b", "context"),
        (".alt", "a missing picture"),
        (".frame", "A frame"),
        (".frame .section", "framed"),
        ("th", "b"),
        ("td", "c"),
    ):
        await expect(first.locator(tag, has_text=text).first).to_be_visible()
    await expect(first.get_by_role("link", name="rich link")).to_have_attribute("href", "https://example.com/b")
    await expect(first.get_by_role("separator")).to_have_count(1)
    for name in ("Plain", "Primary", "Danger", "More actions", "Pick one", "Search"):
        await expect(first.get_by_role("button", name=name, exact=True)).to_be_visible()
    await expect(first.get_by_role("button", name="PostgreSQL SQLite")).to_be_visible()
    await expect(first.get_by_role("checkbox", name="SQLite")).to_be_checked()
    await expect(first.get_by_role("radio")).to_have_count(3)
    await expect(first.get_by_role("textbox", name="A label")).to_have_attribute("placeholder", "Write…")

    for tag, text in (
        (".heading", "Title"),
        ("b", "bold"),
        ("i", "slanted"),
        ("s", "gone"),
        ("code", "code"),
        ("ol > li > ul > li", "inner"),
        ("ol > li", "two"),
        ("blockquote", "quoted"),
        ("pre", "print('<b>')"),
        ("td", "k"),
        ("p", "2 * 3 * 4."),
        ("p", "bad <!channel>"),
    ):
        await expect(second.locator(tag, has_text=text).first).to_be_visible()
    assert await second.locator("a").count() == 1
    assert await second.locator(".mention").count() == 0


async def test_hostile_text_is_only_text(client, open_page, hands) -> None:
    card = [
        {"type": "section", "text": plain(HOSTILE)},
        {"type": "section", "text": {**mrkdwn(escaped(HOSTILE.replace("`", "'"))), "verbatim": True}},
        {
            "type": "rich_text",
            "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": HOSTILE}]}],
        },
        {
            "type": "actions",
            "elements": [button(HOSTILE[:75], "b")],
        },
        {
            "type": "actions",
            "elements": [
                {"type": "static_select", "action_id": "s", "options": [option(HOSTILE[:75], "1", HOSTILE[75:150])]}
            ],
        },
    ]
    await client.chat_postMessage(channel="C0GENERAL", text=escaped(HOSTILE), blocks=card)
    page = await open_page(width=360, height=740)
    message = page.locator(".main .message").first
    shown = await message.text_content()
    assert shown.count(HOSTILE) == 2
    assert HOSTILE.replace("`", "'").replace("*stars*", "stars") in shown
    await message.get_by_role("button", name="Choose an option").click()
    await expect(page.locator(".menu:popover-open [role=option]")).to_contain_text(HOSTILE[:75])
    await page.keyboard.press("Escape")

    field = page.locator(".main textarea")
    await field.fill(HOSTILE)
    await field.press("Enter")
    written = page.locator(".main .message").nth(1)
    await expect(written).to_contain_text("<script>window.hacked = 1</script>")
    for place in (message, written):
        assert await place.locator("script, img, .mention").count() == 0
    assert await page.evaluate("window.hacked") is None
    assert await page.evaluate("document.documentElement.scrollWidth") == 360


async def asking(bot, seen: list[dict[str, Any]]) -> asyncio.Event:
    """A bot that asks when it is mentioned, and settles its card with what was chosen or written.

    It takes its time over a choice, until the event is set.
    """
    decided = asyncio.Event()

    async def settle(client, channel: str, ts: str, text: str) -> None:
        block = {"type": "section", "text": plain(text)}
        await client.chat_update(channel=channel, ts=ts, text=text, blocks=[block])

    @bot.app.event("app_mention")
    async def mention(event, client) -> None:
        await client.chat_postMessage(channel=event["channel"], thread_ts=event["ts"], text="Which?", blocks=CARD)

    @bot.app.event("message")
    async def message() -> None: ...

    @bot.app.action("choose")
    async def choose(ack, body, client) -> None:
        seen.append(body)
        await decided.wait()
        await ack()
        await settle(client, body["channel"]["id"], body["message"]["ts"], "You chose PostgreSQL")

    @bot.app.action("other")
    async def other(ack, body, client) -> None:
        await ack()
        where = f"{body['channel']['id']} {body['message']['ts']}"
        await client.views_open(trigger_id=body["trigger_id"], view={**MODAL, "private_metadata": where})

    @bot.app.action({"block_id": "several"})
    async def several(ack, body) -> None:
        seen.append(body)
        await ack()

    @bot.app.view("written")
    async def written(ack, body, client) -> None:
        text = body["view"]["state"]["values"]["answer"]["text"]["value"]
        if text == "no":
            await ack(response_action="errors", errors={"answer": "Not “no”, please."})
            return
        await ack()
        await settle(client, *body["view"]["private_metadata"].split(), f"You wrote {text}")

    await bot.connect()
    return decided


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

    # The thread opens by itself, ready to write in; the card is before its composer.
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
    assert asked == ["abc"]  # asked once, when the typing rested

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
    await until(lambda: len(seen) == 2, "the menu's choice is sent, after the box")
    await expect(page.locator("[aria-busy=true]")).to_have_count(0)
    values = seen[-1]["state"]["values"]
    assert [o["value"] for o in values["several"]["boxes"]["selected_options"]] == ["sq"]
    assert values["several"]["menu"]["selected_option"]["value"] == "sq"
    assert values["note"]["text"]["value"] == "half a no"

    # Nor does a modal lose what is half written, when the messages or the modal itself change.
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
    # Something grows after a scroll, and before the page is told of that scroll.
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
    await page.wait_for_function("log => log.scrollHeight - log.scrollTop - log.clientHeight > 350", arg=node)
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
    await page.keyboard.press("Escape")
    await closing.wait()
    await client.chat_postMessage(channel="C0GENERAL", text="meanwhile")
    await expect(page.locator(".main")).to_contain_text("meanwhile")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    go_on.set()
    await expect(page.locator("#views dialog")).to_have_count(0)


async def test_two_people_see_what_is_theirs(bot, client, open_page) -> None:
    await asking(bot, [])
    ada, ben = await open_page("ada"), await open_page("ben", "C0DEPLOYS")
    await ada.locator(".main textarea").fill("@askback which?")
    await ada.keyboard.press("Enter")
    await expect(ada.locator(".thread")).to_contain_text("Which database?")
    general = ben.get_by_role("link", name="general")
    await expect(general).to_contain_text("unread")
    await general.click()
    replies = ben.get_by_role("link", name="1 reply")
    await expect(replies).to_be_visible()
    await expect(ben.locator(".thread")).to_be_hidden()
    await replies.click()
    await expect(ben.locator(".thread")).to_contain_text("Which database?")
    await expect(general).not_to_contain_text("unread", use_inner_text=True)

    await client.chat_postEphemeral(channel="C0GENERAL", user="U0LOCALBEN", text="Only for ben.")
    private = ben.locator(".message", has_text="Only for ben.")
    await expect(private).to_contain_text("Only visible to you")
    await ada.locator(".thread").get_by_role("button", name="Something else…").click()
    await expect(ada.get_by_role("dialog")).to_be_visible()
    await settled(ben)
    await expect(ben.get_by_role("dialog")).to_have_count(0)
    await expect(ada.locator(".message", has_text="Only for ben.")).to_have_count(0)

    # Ada's modal waits while someone else sits at her screen.
    await ada.get_by_label("Your answer").fill("half")
    await ada.evaluate("location.hash = '#U0LOCALCY/C0GENERAL'")
    await expect(ada.get_by_role("dialog")).to_have_count(0)
    await ada.evaluate("location.hash = '#U0LOCALADA/C0GENERAL'")
    await expect(ada.get_by_label("Your answer")).to_have_value("half")

    await ben.get_by_role("link", name="askback").click()
    await ben.locator(".main textarea").fill("just us")
    await ben.keyboard.press("Enter")
    await expect(ben.locator(".main")).to_contain_text("just us")
    await settled(ada)
    assert "just us" not in await ada.content()


async def test_a_click_without_an_answer_says_so(bot, client, open_page) -> None:
    @bot.app.action("deaf")
    async def deaf() -> None: ...

    await bot.connect()
    await client.chat_postMessage(
        channel="C0GENERAL",
        text="…",
        blocks=[{"type": "actions", "elements": [button("Press", "deaf")]}],
    )
    page = await open_page()
    press = page.get_by_role("button", name="Press")
    await press.click()
    await expect(press).to_have_attribute("aria-busy", "true")
    await expect(page.get_by_role("alert").filter(has_text="⚠")).to_be_visible()
    await expect(press).not_to_have_attribute("aria-busy", "true")


async def test_streams_edits_and_narrow_screens(client, hands, open_page) -> None:
    root = await hands.write("ada", "general", "@askback tell me")
    stream = await client.chat_startStream(
        channel="C0GENERAL",
        thread_ts=root,
        markdown_text="It is **gro",
        recipient_user_id="U0LOCALADA",
        recipient_team_id="T0LOCAL",
    )
    page = await open_page(width=360, height=740, color_scheme="dark")
    await page.get_by_role("link", name="1 reply").click()
    thread = page.locator(".thread")
    await expect(thread.locator(".streaming")).to_contain_text("It is **gro")
    await client.chat_appendStream(channel="C0GENERAL", ts=stream["ts"], markdown_text="wing**.")
    await expect(thread.locator("b", has_text="growing")).to_be_visible()
    await client.chat_stopStream(channel="C0GENERAL", ts=stream["ts"])
    await expect(thread.locator(".streaming")).to_have_count(0)
    await client.assistant_threads_setStatus(channel_id="C0GENERAL", thread_ts=root, status="is thinking…")
    await expect(thread.get_by_role("status").filter(has_text="askback is thinking…")).to_be_visible()

    await expect(page.locator(".main")).to_be_hidden()
    assert await page.evaluate("document.documentElement.scrollWidth") == 360
    await page.get_by_role("link", name="Close the thread").click()
    await expect(thread).to_be_hidden()
    await page.get_by_role("link", name="Channels").click()
    await page.get_by_role("link", name="deploys").click()
    await expect(page.get_by_role("heading", name="deploys")).to_be_visible()
    await page.go_back()
    await page.go_back()
    await expect(page.get_by_role("heading", name="general")).to_be_visible()


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


async def test_a_working_agent_shows_what_it_does_and_can_be_stopped(open_page, services, bot, client) -> None:
    await bot.connect()
    root = services.people.write("ada", "general", "@askback deploy").ts
    await client.chat_postMessage(channel="C0GENERAL", thread_ts=root, text="On it")
    page = await open_page(color_scheme="dark")
    await page.get_by_role("link", name="1 reply").click()
    thread = page.locator(".thread")
    status, stop = thread.get_by_role("status"), thread.get_by_role("button", name="Stop")

    async def put(value: str) -> None:
        await client.agents_sessions_setStatus(channel_id="C0GENERAL", thread_ts=root, status=value)

    await expect(status).to_have_text("")
    await expect(stop).to_be_hidden()
    await put("processing")
    await expect(status).to_have_text("askback is working…")
    await client.assistant_threads_setStatus(
        channel_id="C0GENERAL", thread_ts=root, status="is thinking…", loading_messages=["Reading the log"]
    )
    await expect(status).to_have_text("askback is thinking… · Reading the log")
    await stop.focus()
    await page.keyboard.press("Enter")
    await expect(status).to_have_text("askback is stopping…")
    assert services.workspace.session("C0GENERAL", root).stopped_by == "U0LOCALADA"
    await put("suspended")
    await expect(status).to_have_text("askback is waiting for your answer")
    await expect(stop).to_be_hidden()
    # The focus is not lost with the button.
    await expect(thread.locator("textarea")).to_be_focused()
    await put("active")
    await expect(status).to_have_text("")


async def test_files_go_along_by_their_names_and_an_offer_is_one_persons(open_page, services, bot, client) -> None:
    await bot.connect()
    page, other = await open_page(), await open_page("ben", color_scheme="dark")
    main = page.locator(".main")
    shot = {"name": "shot.png", "mimeType": "image/png", "buffer": b"x" * 2_048}
    log = {"name": "<b>log.txt", "mimeType": "text/plain", "buffer": b"no"}
    await main.get_by_label("Files to attach").set_input_files([shot, log])
    waiting = main.get_by_role("list", name="Files to send").get_by_role("listitem")
    await expect(waiting).to_have_text(["shot.png✕", "<b>log.txt✕"])
    await main.get_by_role("button", name="Remove shot.png").click()
    await expect(waiting).to_have_text(["<b>log.txt✕"])
    await main.get_by_label("Files to attach").set_input_files([shot])
    await page.keyboard.type("@askback what is this?")
    await page.keyboard.press("Enter")
    files = page.get_by_role("list", name="Files", exact=True).get_by_role("listitem")
    await expect(files).to_have_text(["📎<b>log.txt2 bytes", "📎shot.png2 KB"])
    await expect(waiting).to_have_count(0)
    (message,) = services.workspace.messages.values()
    assert [(file["name"], file["size"]) for file in message.files] == [("<b>log.txt", 2), ("shot.png", 2_048)]

    buttons = [button("Use this as your answer", "use", style="primary"), button("Just a message", "skip")]
    heard: list[Any] = []

    @bot.app.action("use")
    async def use(ack: Any, body: Any, respond: Any) -> None:
        heard.append(body)
        await ack()
        await respond(delete_original=True)

    await client.chat_postEphemeral(
        channel="C0GENERAL",
        user="U0LOCALADA",
        text="Is that your answer?",
        blocks=[
            {"type": "section", "block_id": "q", "text": plain("Is that your answer?")},
            {"type": "actions", "block_id": "offer", "elements": buttons},
        ],
    )
    offer = page.locator(".message.ephemeral")
    await expect(offer).to_contain_text("Only visible to you")
    await expect(offer.get_by_role("button", name="Just a message")).to_be_visible()
    await offer.get_by_role("button", name="Use this as your answer").click()
    await expect(offer).to_have_count(0)
    assert heard[0]["container"]["is_ephemeral"] is True
    await client.chat_postEphemeral(channel="C0GENERAL", user="U0LOCALADA", text="By the way")
    await offer.get_by_role("button", name="Dismiss message").click()
    await expect(offer).to_have_count(0)
    await expect(other.locator(".message")).to_have_count(1)
