"""An approver changes a call in the sandbox's page, in a real browser."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Annotated, Literal

import pytest
from pydantic import Field

from askback import tool
from askback_sandbox.model.script import call, turn
from support.browser import browsing, shoot_all

from .driver import ADA, BEN, CY, GROUPS, Desk, PlatformTests, card, line, settled

expect = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect
EXTRA = "a_tool_whose_arguments_people_change_on_the_page"


@pytest.fixture(autouse=True)
def ran(platform: str, tests_of: PlatformTests, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    ran: list[object] = []

    @tool(approval="Deploy {version} to {where}?", edit=["version", "where", "replicas", "note"])
    def deploy(
        version: Annotated[str, Field(min_length=5)],
        where: Literal["staging", "production"],
        note: str = "",
        replicas: int | None = None,
        notify: bool = True,
    ) -> str:
        """Deploy a version.

        Args:
            version: The tag of the release.
            note: What the customers read about it.
        """
        ran.append((version, where, note, replicas, notify))
        return f"{version} is on {where}"

    module = ModuleType(EXTRA)
    vars(module)["tools"] = [deploy]
    monkeypatch.setitem(sys.modules, EXTRA, module)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(tests_of.desk, "TOOLS", f"AskUserQuestion,{EXTRA}:tools")
    mark = "" if platform == "slack" else "@&"
    monkeypatch.setenv("ASKBACK_APPROVERS", f"{platform}:{mark}{GROUPS[platform]}")
    monkeypatch.setenv("ASKBACK_APPROVAL_QUORUM", "2")
    return ran


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
async def test_a_call_is_changed_in_a_browser(desk: Desk, width: int, scheme: str, ran: list[object]) -> None:
    desk.join_group(BEN)
    desk.join_group(CY)
    given = {"version": "1.4.2", "where": "staging", "note": "The new login page.\nIt is faster."}
    desk.model.script(turn(call("deploy", **given)), turn("It is out."), when="release")
    talk = await desk.mention(ADA, "release, please")
    site = "discord/" if desk.platform == "discord" else ""
    address = f"{desk.services.url}/#{site}{desk.actor(BEN).id}/{talk.channel}"  # type: ignore[attr-defined]
    shown = await card(desk, talk, "Deploy “1.4.2” to “staging”?")
    await desk.press(CY, shown, "Approve")
    async with browsing() as open_one:
        page = await open_one(address, width=width, color_scheme=scheme)

        async def shoot(name: str) -> None:
            if width == 1280:  # each picture is taken in all widths
                await shoot_all(page, f"edit-{desk.platform}-{name}")

        await page.get_by_text("1 reply").click()
        await page.get_by_text("1 of 2 agree").last.wait_for()
        await shoot("0-card")
        await page.get_by_role("button", name="Edit…").last.click()
        modal = page.locator("dialog[open]")
        await modal.wait_for()
        await expect(modal.get_by_text("Empty it to leave the argument out.")).to_have_count(1)  # the note has a value
        await shoot("1-window")
        await modal.get_by_label("version: The tag of the release.").fill("1.4")
        await modal.get_by_label("replicas").fill("3")
        await modal.locator("[type=submit]").click()
        await page.get_by_text("Please write at least 5 characters").first.wait_for()
        await shoot("2-refused")
        if desk.platform == "discord":  # its window is closed then
            await page.get_by_role("button", name="Edit…").last.click()
            await modal.wait_for()
            await modal.get_by_label("replicas").fill("3")
        await modal.get_by_label("version: The tag of the release.").fill("1.4.3")
        await modal.get_by_label("note: What the customers read about it.").fill("")
        await modal.locator("[type=submit]").click()
        await page.get_by_text("does not count any more").first.wait_for()
        await shoot("3-changed")
        changed = await card(desk, talk, "Deploy “1.4.3” to “staging”?")
        assert changed.id == shown.id
        await page.get_by_role("button", name="Edit…").last.click()
        await modal.get_by_label("version: The tag of the release.").fill("2.0.0")
        for person in (BEN, CY):
            await desk.press(person, changed, "Approve")
        await settled(desk, talk, "Approved with changes")
        await line(desk, talk, "It is out.")
        await modal.locator("[type=submit]").click()
        await page.get_by_text("Your click changed nothing").first.wait_for()
        if desk.platform == "discord":  # its window is closed, and the texts come back with their names
            await page.get_by_text("version: 2.0.0").first.wait_for()
        await shoot("4-late")
        if await modal.count():
            await modal.get_by_role("button", name="Back to the card").click()
        await page.get_by_text("Approved with changes").first.wait_for()
        await shoot("5-settled")
    assert ran == [("1.4.3", "staging", "", 3, True)]
