"""Discord on the page, in a real browser, with a real discord.py client behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import discord
import pytest

from askback_sandbox.discord.values import Post
from support.browser import Opener, browsing
from support.discord_client import (
    ADA,
    BEN,
    FAILED,
    GENERAL,
    button,
    callback,
    label,
    modal,
    row,
    select,
    text_input,
)

expect = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect

MESSAGES = f"/channels/{GENERAL}/messages"
HOSTILE = (
    "<script>window.hacked = 1</script> <img src=x onerror='window.hacked = 1'> [x](javascript:window.hacked=1) "
    "<@99> <t:99999999999999999:F> \u202eright to left\u202c שלום 👩‍👩‍👧‍👦 " + "x" * 250
)


@pytest.fixture
async def open_page(services) -> AsyncIterator[Opener]:
    """Opens the page as someone in Discord."""
    async with browsing() as opened:

        async def open_one(person: str = ADA, channel: str = GENERAL, *, address: str | None = None) -> Any:
            return await opened(f"{services.url}/{address or f'#discord/{person}/{channel}'}")

        yield open_one


async def post(bot: Any, content: str = "", path: str = MESSAGES, **more: Any) -> dict[str, Any]:
    return await bot.request("POST", path, content=content, **more)


async def test_the_address_of_a_message_is_drawn_as_the_name_of_its_channel(discord_bot, open_page) -> None:
    address = f"https://discord.com/channels/1100000000000000001/{GENERAL}/1200000000000000001"
    await post(discord_bot, f"The question is here: {address}")
    page = await open_page()
    link = page.locator(".message .text a")
    await expect(link).to_have_text("#general › 💬")
    await expect(link).to_have_attribute("href", address)


async def test_a_forwarded_message_is_drawn_as_one(services, open_page) -> None:
    guild = services.discord.guild
    snapshot = {"content": "**Deploy** 6.6.6", "embeds": [], "attachments": [], "type": 0}
    sent = {"channel": GENERAL, "sent": guild.clock.time(), "snapshots": (snapshot,)}
    services.discord.posting.post(Post(id=guild.next_id(), author=ADA, **sent))
    page = await open_page()
    quoted = page.locator(".message blockquote")
    await expect(quoted).to_contain_text("Forwarded")
    await expect(quoted.locator("b")).to_have_text("Deploy")


async def test_discords_markdown_is_drawn_and_nothing_else(discord_bot, open_page) -> None:
    await post(
        discord_bot,
        "# One\n## Two\n-# small\n**bold** *italic* __under__ ~~gone~~ `code` ||hidden|| ***both*** "
        "snake_case_name 2 * 3 * 4\n"
        "- first\n  - inside\n- second\n1. one\n2. two\n> quoted\n```py\nprint(1 < 2)\n```\n"
        f"<@{ADA}> <@&1100000000000000010> <#1100000000000000302> <t:1765000000:D> [a link](https://example.com) "
        "https://example.com/a_b_c \\*literal\\* &amp; :smile:",
    )
    page = await open_page()
    text = page.locator(".message .text")
    assert await text.locator(".heading").all_inner_texts() == ["One", "Two"]
    await expect(text.locator(".subtext")).to_have_text("small")
    for tag, words in (("b", "bold"), ("u", "under"), ("s", "gone"), ("blockquote", "quoted"), ("pre", "print(1 < 2)")):
        await expect(text.locator(tag).first).to_have_text(words)
    await expect(text.locator("i").first).to_have_text("italic")
    await expect(text.locator("b > i")).to_have_text("both")
    await expect(text.locator("ul > li > ul > li")).to_have_text("inside")
    assert await text.locator("ol > li").all_inner_texts() == ["one", "two"]
    assert await text.locator(".mention").all_inner_texts() == ["@ada", "@release", "#deploys"]
    await expect(text.locator("time")).to_have_attribute("datetime", "2025-12-06T05:46:40.000Z")
    assert await text.locator("a").all_inner_texts() == ["a link", "https://example.com/a_b_c"]
    for literal in ("snake_case_name 2 * 3 * 4", "*literal* &amp; :smile:"):
        await expect(text).to_contain_text(literal)
    await page.get_by_role("button", name="Spoiler").press("Enter")
    await expect(page.locator(".spoiler.shown")).to_have_text("hidden")


async def test_hostile_text_stays_text_everywhere(discord_bot, open_page) -> None:
    option = {"label": HOSTILE[:100], "value": "v", "description": HOSTILE[:100]}
    components = [
        row(button("b", HOSTILE[:80])),
        row({"type": 3, "custom_id": "s", "options": [option], "placeholder": HOSTILE[:150]}),
    ]
    embed = {"title": HOSTILE[:256], "description": HOSTILE, "footer": {"text": HOSTILE}}
    await post(discord_bot, HOSTILE, components=components, embeds=[embed])
    page = await open_page()
    await expect(page.locator(".message .text").first).to_contain_text("<script>window.hacked = 1</script>")
    await expect(page.locator(".message .text").first).to_contain_text("[x](javascript:window.hacked=1)")
    assert await page.locator(".message img, .message script").count() == 0
    assert await page.evaluate("window.hacked") is None


async def test_buttons_by_their_style_are_clicked_and_say_when_they_fail(discord_bot, open_page) -> None:
    async def answer(interaction: discord.Interaction) -> None:
        if interaction.data["custom_id"] == "yes":
            await callback(interaction, {"type": 7, "data": {"content": "Done", "components": []}})

    discord_bot.answer = answer
    buttons = [button("yes", "Yes", style=3), button("no", "No", style=4), button("old", "Old", disabled=True)]
    await post(discord_bot, "Well?", components=[row(*buttons)])
    page = await open_page()
    await expect(page.get_by_role("button", name="Yes")).to_have_class("button success")
    await expect(page.get_by_role("button", name="No")).to_have_class("button danger")
    await expect(page.get_by_role("button", name="Old")).to_be_disabled()
    await page.get_by_role("button", name="No").click()
    await expect(page.locator(".message .problem")).to_have_text(f"⚠ {FAILED}")
    await page.get_by_role("button", name="Yes").click()
    await expect(page.locator(".message .discord_text")).to_have_text("Done")
    await expect(page.get_by_role("button", name="Yes")).to_have_count(0)


async def test_menus_are_used_by_keyboard(discord_bot, open_page) -> None:
    async def answer(interaction: discord.Interaction) -> None:
        await callback(interaction, {"type": 6})

    discord_bot.answer = answer
    menus = [
        row(select("one", "alpha", "beta", placeholder="Choose one")),
        row(select("some", "alpha", "beta", "gamma", min_values=0, max_values=2, placeholder="Choose several")),
        row({"type": 5, "custom_id": "who", "placeholder": "Choose someone"}),
    ]
    await post(discord_bot, "Which?", components=menus)
    page = await open_page()
    await page.get_by_role("button", name="Choose one").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        await page.keyboard.press(key)
    await discord_bot.until(lambda: len(discord_bot.interactions) == 1)
    await page.get_by_role("button", name="Choose several").focus()
    for key in ("Enter", "Enter", "ArrowDown", "Enter", "ArrowDown", "Enter"):
        await page.keyboard.press(key)
    await expect(page.locator(".menu:popover-open .note")).to_have_text("At most 2 can be chosen.")
    await page.keyboard.press("Escape")
    await discord_bot.until(lambda: len(discord_bot.interactions) == 2)
    await page.get_by_role("button", name="Choose someone").click()
    await page.get_by_role("option", name="@ben").click()
    await discord_bot.until(lambda: len(discord_bot.interactions) == 3)
    assert [one.data["values"] for one in discord_bot.interactions] == [["beta"], ["alpha", "beta"], [BEN]]


async def test_discords_pickers_list_the_server_and_send_what_is_known_about_it(discord_bot, open_page) -> None:
    async def answer(interaction: discord.Interaction) -> None:
        await callback(interaction, {"type": 6})

    discord_bot.answer = answer
    pickers = [
        row({"type": 5, "custom_id": "who", "placeholder": "Choose a person…"}),
        row(
            {
                "type": 8,
                "custom_id": "where",
                "placeholder": "Choose channels…",
                "channel_types": [0],
                "min_values": 0,
                "max_values": 2,
                "default_values": [{"id": GENERAL, "type": "channel"}],
            }
        ),
    ]
    await post(discord_bot, "Pick", components=pickers)
    page = await open_page()
    await page.get_by_role("button", name="Choose a person…").click()
    await page.get_by_role("option", name="@ben").click()
    await discord_bot.until(lambda: len(discord_bot.interactions) == 1)
    await page.get_by_role("button", name="#general").click()
    await page.get_by_role("option", name="#deploys").click()
    await page.keyboard.press("Escape")
    await discord_bot.until(lambda: len(discord_bot.interactions) == 2)
    who, where = (one.data for one in discord_bot.interactions)
    assert who["values"] == [BEN]
    assert set(who["resolved"]["users"]) == {BEN}
    assert [where["resolved"]["channels"][one]["name"] for one in where["values"]] == ["general", "deploys"]


async def test_a_modal_is_filled_in_and_belongs_to_one_person(discord_bot, open_page) -> None:
    heard = []

    async def answer(interaction: discord.Interaction) -> None:
        if interaction.type is discord.InteractionType.modal_submit:
            heard.append([one.get("component") for one in interaction.data["components"]])
            await callback(interaction, {"type": 4, "data": {"content": "Thank you.", "flags": 64}})
            return
        fields = [
            {"type": 10, "content": "Say **why**."},
            {
                **label(text_input(min_length=3, placeholder="Enter your answer…"), "Your answer"),
                "description": "A name",
            },
            label({**select("where", "staging", "production"), "type": 21}, "Where"),
            label({**select("extras", "logs", "metrics"), "type": 22, "required": False}, "Extras"),
            label(select("menu", "a", "b", required=False), "Menu"),
        ]
        await callback(interaction, modal(*fields, title="Something else…"))

    discord_bot.answer = answer
    await post(discord_bot, "Well?", components=[row(button("other", "Something else…"))])
    ada, ben = await open_page(), await open_page(BEN)
    await ada.get_by_role("button", name="Something else…").click()
    dialog = ada.get_by_role("dialog", name="Something else…")
    await expect(dialog).to_contain_text("Say why.")
    await expect(dialog).to_contain_text("A name")
    await expect(ben.get_by_role("dialog")).to_have_count(0)
    await expect(dialog.get_by_label("Your answer")).to_be_focused()
    await ada.keyboard.type("ab")
    await ada.keyboard.press("Control+Enter")
    await expect(dialog.locator("footer .problem")).to_have_text("⚠ 'text' takes at least 3 characters")
    await dialog.get_by_label("Your answer").fill("abc")
    await dialog.get_by_label("Production").check()
    await dialog.get_by_label("Logs").check()
    await dialog.get_by_role("button", name="Submit").click()
    await expect(dialog).to_have_count(0)
    assert [one and (one.get("value") or one.get("values")) for one in heard[0]] == [
        None,
        "abc",
        "production",
        ["logs"],
        [],
    ]
    await expect(ada.locator(".message.ephemeral")).to_contain_text("Only you can see this")
    await expect(ada.locator(".message.ephemeral")).to_contain_text("Thank you.")
    await expect(ben.locator(".message")).to_have_count(1)
    await ada.get_by_role("button", name="Dismiss message").click()
    await expect(ada.locator(".message.ephemeral")).to_have_count(0)
    await ben.get_by_role("button", name="Something else…").click()
    await expect(ben.get_by_label("Your answer")).to_be_focused()
    await ben.keyboard.press("Escape")
    await expect(ben.get_by_role("dialog")).to_have_count(0)
    assert len(heard) == 1


async def test_threads_have_names_and_marks_and_typing_shows(discord_bot, open_page, services) -> None:
    page = await open_page()
    await page.locator(".main textarea").fill("@askback hi")
    await page.keyboard.press("Enter")
    await discord_bot.until(lambda: discord_bot.messages)
    thread = await discord_bot.messages[0].create_thread(name="A question of taste")
    await expect(page.locator(".replies")).to_contain_text("A question of taste")
    await post(discord_bot, "In the thread", f"/channels/{thread.id}/messages")
    await expect(page.locator(".thread h2")).to_contain_text("A question of taste")
    await expect(page.locator(".thread")).to_contain_text("In the thread")
    await thread.typing()
    await expect(page.locator(".thread .status")).to_have_text("askback is typing…")
    await page.locator(".thread textarea").fill("an answer")
    await page.keyboard.press("Enter")
    await discord_bot.until(
        lambda: any(m.channel.id == thread.id and m.author.id == int(ADA) for m in discord_bot.messages)
    )
    place = services.discord.guild.places[str(thread.id)]
    services.discord.posting.change_place(replace(place, archived=True))
    await expect(page.locator(".main .replies")).to_contain_text("ARCHIVED")
    await expect(page.locator(".thread h2")).to_contain_text("(archived)")


async def test_components_v2_are_drawn(discord_bot, open_page) -> None:
    heard = []

    async def answer(interaction: discord.Interaction) -> None:
        heard.append(interaction.data["custom_id"])
        await callback(interaction, {"type": 6})

    discord_bot.answer = answer
    inside = [
        {"type": 10, "content": "## Which?"},
        {"type": 14, "divider": True},
        {"type": 9, "components": [{"type": 10, "content": "one *more*"}], "accessory": button("details", "Details")},
        row(button("yes", "Yes")),
    ]
    await discord_bot.request("POST", MESSAGES, flags=1 << 15, components=[{"type": 17, "components": inside}])
    page = await open_page()
    frame = page.locator(".message .frame")
    await expect(frame.locator(".heading")).to_have_text("Which?")
    await expect(frame.get_by_role("separator")).to_be_visible()
    await frame.get_by_role("button", name="Details").click()
    await frame.get_by_role("button", name="Yes").click()
    await discord_bot.until(lambda: len(heard) == 2)
    assert heard == ["details", "yes"]


async def test_one_goes_from_slack_to_discord_and_back_as_the_same_person(open_page, discord_bot, client) -> None:
    await client.chat_postMessage(channel="C0DEPLOYS", text="In Slack")
    await post(discord_bot, "In Discord")
    page = await open_page(address="#U0LOCALBEN/C0DEPLOYS")
    await expect(page.locator(".main")).to_contain_text("In Slack")
    await page.locator(".main textarea").fill("half a thought")
    await page.get_by_role("link", name="Discord").click()
    await expect(page.locator(".main")).to_contain_text("In Discord")
    await expect(page.get_by_label("You are")).to_have_value(BEN)
    await page.get_by_role("link", name="deploys").click()
    assert "#discord/" in page.url
    await page.get_by_role("link", name="Slack").click()
    await expect(page.locator(".main")).to_contain_text("In Slack")
    await expect(page.locator(".main textarea")).to_have_value("half a thought")
    await expect(page.get_by_label("You are")).to_have_value("U0LOCALBEN")
    await page.go_back()
    await expect(page.get_by_role("link", name="Discord")).to_have_attribute("aria-current", "true")


async def test_files_are_shown_and_a_stop_under_a_text_can_be_pressed(discord_bot, open_page, services) -> None:
    page = await open_page()
    main = page.locator(".main")
    log = {"name": "build_*log*.txt", "mimeType": "text/plain", "buffer": b"x" * 3_000}
    await main.get_by_label("Files to attach").set_input_files([log])
    await main.get_by_role("button", name="Send").click()
    files = page.get_by_role("list", name="Files", exact=True).get_by_role("listitem")
    # A name is literal: nothing in it is Markdown.
    await expect(files).to_have_text(["📎build_*log*.txt2.9 KB"])

    async def answer(interaction) -> None:
        await interaction.response.edit_message(content="1, 2, 3", view=None)

    discord_bot.answer = answer
    posted = await discord_bot.request(
        "POST",
        f"/channels/{GENERAL}/messages",
        content="1, 2, **3**…",
        components=[row(button("stop", "Stop", style=4))],
    )
    writing = page.locator(".message", has_text="1, 2, 3…")
    await expect(writing.locator("b, strong").filter(has_text="3")).to_be_visible()
    await writing.get_by_role("button", name="Stop").click()
    await expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    assert services.discord.guild.post(GENERAL, posted["id"]).content == "1, 2, 3"
