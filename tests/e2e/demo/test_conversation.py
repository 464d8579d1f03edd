"""A person's whole conversation, on the page in a real browser, with the real bot and agent behind it."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from askback_sandbox.services import Services
from e2e.demo.conftest import Shot
from e2e.demo.page_actions import ACTING, CARD, button, expect, leave, told, write
from support.browser import PATIENCE, Opener

pytestmark = pytest.mark.usefixtures("bot")

NEXT = "What next?"


def card(page: Any, prompt: str) -> Any:
    """Return the newest card of the thread that contains this prompt."""
    return page.locator(".thread .message").filter(has_text=CARD).filter(has_text=prompt).last


async def tick(services: Services, place: Any, *labels: str) -> None:
    """Tick these, each after the one before has arrived."""
    for label in labels:
        await place.get_by_role("checkbox", name=label).check()
        await ticked(services, label)


async def ticked(services: Services, label: str) -> None:
    """Wait until the bot has drawn its newest card with this box ticked."""

    def arrived() -> bool:
        newest = max(services.workspace.messages.values(), key=lambda message: message.ts)
        elements: list[Any] = [element for block in newest.blocks for element in block.get("elements") or ()]
        return any(label in str(element.get("initial_options")) for element in elements)

    async with asyncio.timeout(PATIENCE / 1000):
        while not arrived():  # noqa: ASYNC110 - the workspace tells nobody of a change
            await asyncio.sleep(0.01)


async def is_settled(message: Any, *answers: str) -> None:
    """Check that the card shows the answer and the person, and has no controls left."""
    await expect(message).to_contain_text(re.compile("✓.*by @ada", re.DOTALL))
    for answer in answers:
        await expect(message).to_contain_text(answer)
    await expect(message.locator(ACTING)).to_have_count(0)


async def is_at_the_end(page: Any) -> None:
    """Wait until the newest message is in view without scrolling, at the latest in the next frame."""
    log = page.locator(".thread .log")
    ends = "log => log.scrollHeight - log.scrollTop - log.clientHeight < 2"
    await page.wait_for_function(ends, arg=await log.element_handle())


def answered(*pairs: tuple[str, str]) -> str:
    said = ", ".join(f'"{question}"="{answer}"' for question, answer in pairs)
    return f"User has answered your questions: {said}. You can now continue with the user's answers in mind."


async def test_a_whole_conversation_by_mouse(services: Services, open_page: Opener, shot: Shot) -> None:
    page = await open_page()
    thread = page.locator(".thread")
    await shot(page, "01-empty")

    # One of a few answers, by a button.
    await write(page, "@askback single")
    single = card(page, "Where shall I deploy the release?")
    for control in ("Staging (Recommended)", "Production", "Both", "Something else…", "Not now…"):
        await expect(button(single, control)).to_be_visible()
    await shot(page, "02-single")
    await button(single, "Production").click()
    await is_settled(single, "Production")
    await expect(thread.get_by_text(NEXT)).to_have_count(1)
    await shot(page, "03-single-settled")

    # Several answers.
    await write(page, "several")
    several = card(page, "Which checks shall run before the release?")
    await tick(services, several, "Unit tests", "Security scan")
    await is_at_the_end(page)
    await shot(page, "04-several")
    await button(several, "Submit").click()
    await is_settled(several, "Unit tests", "Security scan")
    await expect(thread.get_by_text(NEXT)).to_have_count(2)
    await is_at_the_end(page)
    await shot(page, "05-several-settled")

    # In one's own words: blank text is refused in the field, which stays open.
    await write(page, "single")
    words = card(page, "Where shall I deploy the release?")
    await button(words, "Something else…").click()
    dialog = page.get_by_role("dialog")
    field = dialog.get_by_role("textbox")
    await expect(field).to_be_focused()
    await shot(page, "06-field")
    await field.fill("   ")
    await button(dialog, "Send").click()
    await expect(dialog.get_by_role("alert").first).to_contain_text("it is empty")
    await expect(field).to_have_attribute("aria-invalid", "true")
    await shot(page, "07-field-refused")
    await field.fill("To *both*,\n<!channel> & <@U0LOCALBEN> after lunch ⚡")
    await button(dialog, "Send").click()
    await expect(dialog).to_have_count(0)
    await is_settled(words, "after lunch ⚡")
    await expect(words.locator("blockquote")).to_have_text("To *both*,\n<!channel> & <@U0LOCALBEN> after lunch ⚡")
    await expect(thread.get_by_text(NEXT)).to_have_count(3)
    await shot(page, "08-written-settled")

    # A form: forward, back, another answer, the review, a change from there.
    await write(page, "form")
    name = card(page, "What is the service called?")
    await expect(button(name, "billing")).to_be_visible()
    await shot(page, "09-form")
    await button(name, "billing").click()
    database = card(page, "Which database does it use?")
    await button(database, "SQLite").click()
    extras = card(page, "What else does it need?")
    await button(extras, "Back").click()
    await expect(button(database, "✓ SQLite")).to_be_visible()
    await shot(page, "10-form-back")
    await button(database, "None").click()
    await tick(services, extras, "A queue", "Nightly backups")
    await is_at_the_end(page)
    await shot(page, "11-form-several")
    await button(extras, "Next").click()
    await button(card(page, "Who looks after it?"), "Team Blue").click()
    review = card(page, "Review your answers")
    for answer in ("billing", "None", "A queue", "Nightly backups", "Team Blue"):
        await expect(review).to_contain_text(answer)
    await is_at_the_end(page)
    await shot(page, "12-form-review")
    await button(review, "Edit Database").click()
    await expect(button(database, "✓ None")).to_be_visible()
    await button(database, "PostgreSQL (Recommended)").click()
    await expect(review).to_contain_text("PostgreSQL")
    await button(review, "Submit").click()
    form = card(page, "What is the service called?")
    await is_settled(form, "billing", "PostgreSQL", "A queue", "Nightly backups", "Team Blue")
    await expect(thread.get_by_text(NEXT)).to_have_count(4)
    await is_at_the_end(page)
    await shot(page, "13-form-settled")

    assert told(services) == [
        answered(("Where shall I deploy the release?", "Production")),
        answered(("Which checks shall run before the release?", "Unit tests, Security scan")),
        answered(
            (
                "Where shall I deploy the release?",
                "To *both*,\n<!channel> & <@U0LOCALBEN> after lunch ⚡",
            )
        ),
        answered(
            ("What is the service called?", "billing"),
            ("Which database does it use?", "PostgreSQL (Recommended)"),
            ("What else does it need?", "A queue, Nightly backups"),
            ("Who looks after it?", "Team Blue"),
        ),
    ]


async def test_a_second_person_who_may_not_answer_is_told_so_privately(open_page: Opener, shot: Shot) -> None:
    ada, ben = await open_page("ada"), await open_page("ben")
    await write(ada, "@askback single")
    asked = card(ada, "Where shall I deploy the release?")
    await expect(button(asked, "Both")).to_be_visible()
    await ben.locator(".main .replies").click()
    theirs = card(ben, "Where shall I deploy the release?")
    before = await theirs.inner_text()
    await button(theirs, "Both").click()
    notice = ben.locator(".thread .message", has_text="Only visible to you")
    await expect(notice).to_contain_text("can answer")
    await shot(ben, "20-stranger")
    await expect(button(theirs, "Both")).not_to_have_attribute("aria-busy", "true")
    assert await theirs.inner_text() == before
    await button(asked, "Staging (Recommended)").click()
    await is_settled(asked, "Staging (Recommended)")
    await is_settled(theirs, "Staging (Recommended)")
    await expect(ada.locator(".message", has_text="Only visible to you")).to_have_count(0)


async def test_a_question_by_keyboard_alone(services: Services, open_page: Opener, shot: Shot) -> None:
    page = await open_page()
    keys = page.keyboard
    await keys.type("@askback several")
    await keys.press("Enter")
    several = card(page, "Which checks shall run before the release?")
    await expect(button(several, "Not now…")).to_be_visible()
    await expect(page.locator(".thread textarea")).to_be_focused()
    first = several.get_by_role("checkbox").first
    for _ in range(12):
        if await first.evaluate("node => node === document.activeElement"):
            break
        await keys.press("Shift+Tab")
    await keys.press("Space")
    await ticked(services, "Unit tests")
    await expect(first).to_be_focused()
    await keys.press("Tab")
    await keys.press("Space")
    await ticked(services, "Browser tests")
    await shot(page, "21-keyboard")
    submit = button(several, "Submit")
    for _ in range(8):
        if await submit.evaluate("node => node === document.activeElement"):
            break
        await keys.press("Tab")
    await keys.press("Enter")
    await is_settled(several, "Unit tests", "Browser tests")
    await expect(page.locator(".thread").get_by_text(NEXT)).to_have_count(1)
    assert told(services) == [answered(("Which checks shall run before the release?", "Unit tests, Browser tests"))]


async def test_a_long_list_is_searched_and_cancelling_settles_the_card(
    services: Services, open_page: Opener, shot: Shot
) -> None:
    page = await open_page()
    await page.get_by_role("link", name="askback").click()
    field = page.locator(".main textarea")
    await field.fill("list")
    await field.press("Enter")
    message = page.locator(".main .message").filter(has_text=CARD).last
    await message.locator(".select").click()
    await page.keyboard.type("Ljub")
    await expect(page.locator(".menu:popover-open [role=option]")).to_have_count(1)
    await shot(page, "22-list")
    await page.keyboard.press("Enter")
    await is_settled(message, "Ljubljana")
    await expect(page.locator(".main").get_by_text(NEXT)).to_have_count(1)
    await field.fill("long")
    await field.press("Enter")
    message = page.locator(".main .message").filter(has_text=CARD).last
    await expect(message).to_contain_text("which must be looked after")
    await shot(page, "23-long")
    await button(message, "Not now…").click()
    await leave(page, "Cancel it")
    await expect(message).to_contain_text(re.compile("Cancelled.*by @ada", re.DOTALL))
    await expect(message.locator(ACTING)).to_have_count(0)
    await expect(page.locator(".main").get_by_text(NEXT)).to_have_count(2)
    assert "Ljubljana" in told(services)[0]
    assert "cancelled" in told(services)[1]


@pytest.mark.parametrize("look", ["light", "dark"])
async def test_a_form_fits_a_phone(open_page: Opener, shot: Shot, look: str) -> None:
    page = await open_page(width=390, height=780, color_scheme=look)
    await write(page, "@askback form")
    await button(card(page, "What is the service called?"), "checkout").click()
    database = card(page, "Which database does it use?")
    await expect(button(database, "SQLite")).to_be_visible()
    await shot(page, f"30-phone-{look}")
    await button(database, "Next").click()
    await button(card(page, "What else does it need?"), "Next").click()
    await button(card(page, "Who looks after it?"), "Next").click()
    await expect(button(card(page, "Review your answers"), "Back")).to_be_visible()
    await shot(page, f"31-phone-review-{look}")
    assert await page.evaluate("document.documentElement.scrollWidth") == 390
    await button(card(page, "Review your answers"), "Answer the rest").click()
    await button(card(page, "Which database does it use?"), "SQLite").click()
    await button(card(page, "What else does it need?"), "Next").click()
    await button(card(page, "Who looks after it?"), "Something else…").click()
    await page.get_by_role("dialog").get_by_role("textbox").fill("Team Red")
    await shot(page, f"32-phone-field-{look}")
