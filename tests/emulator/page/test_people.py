"""Several people on the page, and the messages for each of them."""

from __future__ import annotations

from typing import Any

import pytest

from .parts import asking, button, plain, settled

expect = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect


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
    await expect(status).to_have_text("askback is waiting for an answer")
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
