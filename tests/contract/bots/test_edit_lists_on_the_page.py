"""An approver changes a list of a call in the sandbox's page, in a real browser: one item per line."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Annotated

import pytest
from pydantic import Field

from askback import tool
from askback_sandbox.model.script import call, turn
from support.browser import browsing, shoot_all

from .driver import ADA, BEN, CY, GROUPS, Desk, PlatformTests, card, line, settled

expect = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect
EXTRA = "a_tool_with_lists_that_people_change_on_the_page"


@pytest.fixture(autouse=True)
def ran(platform: str, tests_of: PlatformTests, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    ran: list[object] = []

    @tool(approval="Send {subject}?", edit=["to", "labels", "sizes"])
    def send(
        subject: str,
        to: Annotated[list[str], Field(min_length=1, max_length=4)],
        sizes: Annotated[list[int], Field(json_schema_extra={"uniqueItems": True})],
        labels: list[str] | None = None,
    ) -> str:
        """Send a mail.

        Args:
            to: The recipients.
        """
        ran.append((subject, to, labels, sizes))
        return "It is sent"

    module = ModuleType(EXTRA)
    vars(module)["tools"] = [send]
    monkeypatch.setitem(sys.modules, EXTRA, module)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(tests_of.desk, "TOOLS", f"AskUserQuestion,{EXTRA}:tools")
    mark = "" if platform == "slack" else "@&"
    monkeypatch.setenv("ASKBACK_APPROVERS", f"{platform}:{mark}{GROUPS[platform]}")
    return ran


async def test_a_list_of_a_call_is_changed_line_by_line_in_a_browser(desk: Desk, ran: list[object]) -> None:
    desk.join_group(BEN)
    desk.join_group(CY)
    given = {"subject": "Hi", "to": ["ada@example.com", "ben@example.com"], "labels": ["new"], "sizes": [1, 2]}
    desk.model.script(turn(call("send", **given)), turn("It is out."), when="send")
    talk = await desk.mention(ADA, "send it, please")
    site = "discord/" if desk.platform == "discord" else ""
    address = f"{desk.services.url}/#{site}{desk.actor(BEN).id}/{talk.channel}"  # type: ignore[attr-defined]
    await card(desk, talk, "Send “Hi”?")
    async with browsing() as open_one:
        page = await open_one(address)
        await page.get_by_text("1 reply").click()
        await page.get_by_role("button", name="Edit…").last.wait_for()
        await shoot_all(page, f"lists-{desk.platform}-0-card")
        await page.get_by_role("button", name="Edit…").last.click()
        modal = page.locator("dialog[open]")
        to, sizes, labels = (modal.get_by_label(label) for label in ("to: The recipients.", "sizes", "labels"))
        await expect(to).to_have_value("ada@example.com\nben@example.com")
        await expect(sizes).to_have_value("1\n2")
        await expect(modal.get_by_text("Empty it to send an empty list.")).to_have_count(1)
        await shoot_all(page, f"lists-{desk.platform}-1-window")
        await sizes.fill("1\n\nthree")
        await modal.locator("[type=submit]").click()
        await page.get_by_text("Line 3, “three”: Please write a whole number").first.wait_for()
        await shoot_all(page, f"lists-{desk.platform}-2-refused")
        if desk.platform == "discord":  # its window is closed then
            await page.get_by_role("button", name="Edit…").last.click()
            await modal.wait_for()
        await to.fill("ada@example.com\ndora@example.com\n\n")
        await sizes.fill("")
        await labels.fill("")
        await modal.locator("[type=submit]").click()
        await page.get_by_text('["ada@example.com", "dora@example.com"]').first.wait_for()
        await shoot_all(page, f"lists-{desk.platform}-3-changed")
        await desk.press(CY, await card(desk, talk, "Send “Hi”?"), "Approve")
        await settled(desk, talk, "Approved with changes")
        await line(desk, talk, "It is out.")
        await page.get_by_text("Approved with changes").first.wait_for()
        await shoot_all(page, f"lists-{desk.platform}-4-settled")
    assert ran == [("Hi", ["ada@example.com", "dora@example.com"], None, [])]
