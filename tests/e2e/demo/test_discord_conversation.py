"""A person's whole conversation in Discord, on the page in a real browser, with the real bot and agent behind it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest

from askback.domain.open_ask_limits import Limits
from askback.ports.installed_bots import get_bot
from askback.runtime.app import open_host
from askback_sandbox.services import Services
from e2e.demo.conftest import Shot
from e2e.demo.page_actions import ACTING, CARD, button, expect, leave, told, write
from support.browser import Opener

pytest.importorskip("discord", reason="discord.py is not installed")

ADA, BEN = "1100000000000000201", "1100000000000000202"
GENERAL = "1100000000000000301"


@pytest.fixture
async def discord_bot(services: Services) -> AsyncIterator[None]:
    """The real bot and agent, except for the pause between two asks."""
    async with open_host([get_bot("discord")], limits=Limits(seconds_between_asks=0)):
        await services.discord.gateway.connected()
        yield


async def in_discord(page: Any, services: Services, person: str) -> None:
    """Switch the page to Discord; return once its state is loaded, so that texts are written there."""
    await page.goto(f"{services.url}/#discord/{person}/{GENERAL}")
    await expect(page.locator("[data-site=discord][aria-current=true]")).to_be_visible()


def card(page: Any, prompt: str) -> Any:
    """Return the newest card of the thread that contains this prompt."""
    return page.locator(".thread .message").filter(has_text=CARD).filter(has_text=prompt).last


async def is_settled(message: Any, *, by: str = "@ada") -> None:
    """Check that the card has no controls left, and names the person who answered."""
    await expect(message).to_contain_text(re.compile(f"✓.*by {re.escape(by)}", re.DOTALL))
    await expect(message.locator(ACTING)).to_have_count(0)


async def quiet(page: Any) -> None:
    """Wait until every click has been answered."""
    await expect(page.locator("[aria-busy=true]")).to_have_count(0)


async def pick(page: Any, message: Any, *names: str) -> None:
    """Pick several entries from a card's menu; return when the card shows them."""
    await message.locator("[aria-haspopup=listbox]").click()
    for name in names:
        await page.get_by_role("option", name=name).click()
    await page.keyboard.press("Escape")
    for name in names:
        # The menu sends its event when it closes, and the bot redraws the card after that.
        await expect(message).to_contain_text(re.compile(rf"{name}\s*✓"))
    await quiet(page)


@pytest.mark.usefixtures("discord_bot")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_whole_conversation_in_discord(
    services: Services, open_page: Opener, shot: Shot, scheme: Literal["light", "dark"]
) -> None:
    page = await open_page(color_scheme=scheme)
    await in_discord(page, services, ADA)

    async def keep(name: str) -> None:
        await shot(page, f"discord-{scheme}-{name}")

    # One of a few answers, by a button; another person gets an ephemeral notice that they are not asked.
    await write(page, "@askback single")
    single = card(page, "Where shall I deploy the release?")
    await expect(button(single, "Production")).to_be_visible()
    await keep("01-single")
    other = await open_page(color_scheme=scheme)
    await in_discord(other, services, BEN)
    await other.locator("a.replies").click()
    await button(card(other, "Where shall I deploy"), "Production").click()
    await expect(other.locator(".message.ephemeral")).to_contain_text("Only you can see this")
    await shot(other, f"discord-{scheme}-02-notice")
    await expect(page.locator(".message.ephemeral")).to_have_count(0)
    await button(single, "Production").click()
    await is_settled(single)
    await expect(page.locator(".thread")).to_contain_text("you said Production")
    await keep("03-single-settled")
    (result,) = told(services)
    assert '"Where shall I deploy the release?"="Production"' in result

    # Several answers.
    await write(page, "several")
    several = card(page, "Which checks shall run before the release?")
    await pick(page, several, "Unit tests", "Security scan")
    await keep("04-several")
    await button(several, "Submit").click()
    await is_settled(several)

    # In one's own words: blank text is rejected, and can be tried again.
    await write(page, "text")
    words = card(page, "How shall the announcement begin?")
    await button(words, "Write an answer…").click()
    dialog = page.get_by_role("dialog")
    field = dialog.get_by_role("textbox")
    await expect(field).to_be_focused()
    await expect(dialog).not_to_contain_text("(optional)")
    await keep("05-field")
    await field.fill("   ")
    await button(dialog, "Submit").click()
    refused = page.locator(".message.ephemeral").filter(has_text="it is empty")
    await expect(refused).to_be_visible()
    await keep("06-field-refused")
    await button(refused, "Try again").click()
    await field.fill("Dear all,\nit is *done* @everyone & well ⚡")
    await button(dialog, "Submit").click()
    await expect(dialog).to_have_count(0)
    await is_settled(words)
    await expect(words).to_contain_text("it is *done* @everyone & well ⚡")
    await keep("07-written-settled")

    # A form.
    await write(page, "form")
    form = card(page, "What is the service called?")
    await expect(button(form, "billing")).to_be_visible()
    await keep("08-form")
    await button(form, "billing").click()
    form = card(page, "Which database does it use?")
    await button(form, "SQLite").click()
    form = card(page, "What else does it need?")
    await pick(page, form, "A queue", "A cache")
    await keep("09-form-third")
    await button(form, "Next").click()
    form = card(page, "Who looks after it?")
    await button(form, "Team Blue").click()
    form = card(page, "Review your answers")
    await expect(button(form, "Submit")).to_be_visible()
    await keep("10-form-review")
    await button(form, "Edit Database").click()
    form = card(page, "Which database does it use?")
    await form.get_by_role("button", name="PostgreSQL").first.click()
    form = card(page, "Review your answers")
    await button(form, "Submit").click()
    form = card(page, "What is the service called?")
    await is_settled(form)
    await keep("11-form-settled")

    # A menu with pages.
    await write(page, "list")
    cities = card(page, "In which city is the meeting?")
    await expect(button(cities, "▶")).to_be_enabled()
    await keep("12-list")
    await button(cities, "▶").click()
    await expect(button(cities, "▶")).to_be_disabled()
    await quiet(page)
    await cities.locator("[aria-haspopup=listbox]").click()
    await keep("13-list-page")
    last = page.get_by_role("option").last
    name = (await last.inner_text()).split(". ", 1)[1].split("\n")[0]
    await last.click()
    await is_settled(cities)
    await expect(cities).to_contain_text(name)
    await keep("14-list-settled")

    # Answers too long for a button are in the text next to their buttons; hostile texts.
    await write(page, "long")
    plans = card(page, "Which of these plans do you prefer?")
    await expect(button(plans, "Choose 1")).to_be_visible()
    await keep("15-long")
    await button(plans, "Not now…").click()
    await leave(page, "Cancel it")
    await expect(plans).to_contain_text(re.compile("Cancelled.*by @ada", re.DOTALL))
    await write(page, "hostile")
    await expect(button(page.locator(".thread .message").last, "Not now…")).to_be_visible()
    await keep("16-hostile")
