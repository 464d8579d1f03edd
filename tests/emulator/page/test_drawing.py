"""The page draws everything as Slack does, and hostile text is only text."""

from __future__ import annotations

import pytest

from askback_sandbox.slack.values import Message

from .parts import OPTIONS, button, mrkdwn, option, plain

expect = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect

HOSTILE = (
    "<script>window.hacked = 1</script> <img src=x onerror='window.hacked = 1'> `ticks` *stars* <!channel> "
    "<@U0LOCALADA> @everyone [link](https://example.com) \u202eright to left\u202c שלום 👩‍👩‍👧‍👦 " + "x" * 250
)


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


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


async def test_a_shared_message_is_drawn_with_its_author(services, open_page) -> None:
    shared = {"author_name": "ben", "is_share": True, "text": "*Deploy* 6.6.6"}
    workspace = services.workspace
    services.posting.post(
        Message(channel="C0GENERAL", ts=workspace.next_ts(), user="U0LOCALADA", text="", attachments=(shared,))
    )
    page = await open_page()
    quoted = page.locator(".message blockquote")
    await expect(quoted).to_contain_text("ben")
    await expect(quoted.locator("b").last).to_have_text("Deploy")
    await expect(page.locator(".message .section")).to_have_count(0)


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
