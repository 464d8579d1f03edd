"""An approver changes a call in the sandbox's page, in a real browser."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Literal

import pytest

from askback import tool
from askback_sandbox.model.script import call, turn
from support.browser import browsing

from .driver import ADA, BEN, CY, GROUPS, Desk, PlatformTests, card, line, settled

EXTRA = "a_tool_whose_arguments_people_change_on_the_page"


@pytest.fixture(autouse=True)
def ran(platform: str, tests_of: PlatformTests, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    ran: list[object] = []

    @tool(approval="Deploy {version} to {where}?", edit=["version", "where", "replicas", "note"])
    def deploy(
        version: str,
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
    async with browsing() as open_one:
        page = await open_one(address, width=width, color_scheme=scheme)
        await page.get_by_text("1 reply").click()
        await page.get_by_role("button", name="Edit…").last.wait_for()
        await shoot(page, f"{desk.platform}-{width}-0-card")
        await page.get_by_role("button", name="Edit…").last.click()
        await page.locator("dialog[open]").wait_for()
        await shoot(page, f"{desk.platform}-{width}-1-modal")
        await page.locator("dialog[open]").get_by_label("version: The tag of the release.").fill("1.4.3")
        await page.locator("dialog[open]").get_by_label("replicas").fill("3")
        await page.locator("dialog[open] [type=submit]").click()
        await page.get_by_text("changed by").first.wait_for()
        await shoot(page, f"{desk.platform}-{width}-2-changed")
        changed = await card(desk, talk, "Deploy “1.4.3” to “staging”?")
        assert changed.id == shown.id
        await desk.press(CY, changed, "Approve")
        await settled(desk, talk, "Approved with changes")
        await line(desk, talk, "It is out.")
        await page.get_by_text("Approved with changes").first.wait_for()
        await shoot(page, f"{desk.platform}-{width}-3-settled")
    assert ran == [("1.4.3", "staging", given["note"], 3, True)]


async def shoot(page: object, name: str) -> None:
    folder = os.environ.get("ASKBACK_TEST_SHOTS")
    if folder:
        await page.screenshot(path=f"{folder}/{name}.png")  # type: ignore[attr-defined]
