"""An approval on the page in a real browser: the tally grows, a denial needs a reason, and everything can be read."""

from __future__ import annotations

import asyncio
from typing import Any

from askback.domain.approval import DENY, build_form
from askback.domain.ask_policy import Approval
from askback.domain.card_labels import EVERYTHING
from askback.domain.form import Form
from askback.domain.identity import Actor, Place
from askback.domain.open_ask_limits import Limits
from askback.domain.who import Who
from askback.ports.installed_bots import get_bot
from askback.runtime.app import open_host
from askback_sandbox.services import Services
from e2e.demo.conftest import Shot
from e2e.demo.page_actions import expect
from support.browser import Opener


def person(name: str) -> Actor:
    return Actor(platform="slack", id=f"U0LOCAL{name.upper()}", name=name)


def deploy(where: str) -> Form:
    plan = "\n".join(f"restart web-{number}" for number in range(60))
    return build_form(
        "deploy",
        {"version": "1.4.2", "where": where, "dry_run": False, "plan": plan},
        template="Deploy {version} to {where}?",
    )


RULES = Approval(quorum=2, refusing=(DENY,), reasons="no", requesters=(person("cy"),), subject="0" * 64)
WHO = Who(people=(person("ada"), person("ben")), groups=("S0LOCALREL",))


async def test_a_decision_of_two_people(services: Services, open_page: Opener, shot: Shot) -> None:
    async with open_host([get_bot("slack")], limits=Limits(seconds_between_asks=0)) as host:
        await services.socket.connected()
        root = services.people.write("cy", "C0GENERAL", "It is release day.")
        place = Place(platform="slack", tenant=services.workspace.team.id, channel=root.channel, thread=root.ts)
        pages = {name: await open_page(name, color_scheme="light") for name in ("ada", "ben")}
        for name, page in pages.items():
            await page.goto(f"{services.url}/#U0LOCAL{name.upper()}/{root.channel}/{root.ts}")

        async def asked(where: str) -> tuple[Any, asyncio.Task[Any]]:
            task = asyncio.create_task(host.manager.ask(deploy(where), to=place, who=WHO, approval=RULES, timeout=3600))
            return {name: card(page, where) for name, page in pages.items()}, task

        cards, task = await asked("production")
        await expect(cards["ada"]).to_contain_text("Needs 2 approvals. One denial stops it.")
        await expect(cards["ada"]).to_contain_text("dry_run  false")
        await expect(cards["ada"]).to_contain_text("restart web-14")
        await expect(cards["ada"]).to_contain_text("… and 45 more lines")
        await cards["ada"].get_by_role("button", name="Approve").click()
        await expect(cards["ben"]).to_contain_text("1 of 2 agree")
        await shot(pages["ben"], "approval-one-of-two")
        await cards["ben"].get_by_role("button", name=EVERYTHING).click()
        dialog = pages["ben"].get_by_role("dialog")
        await expect(dialog).to_contain_text("web-59")
        await shot(pages["ben"], "approval-everything")
        await dialog.get_by_role("button", name="Close").last.click()
        await cards["ben"].get_by_role("button", name="Deny").click()
        await expect(dialog).to_contain_text("Why “Deny”?")
        await shot(pages["ben"], "approval-reason")
        await dialog.get_by_role("textbox").fill("The error rate is up since noon.\nLet us wait for the fix.")
        await dialog.get_by_role("button", name="Send").click()
        await expect(cards["ben"]).to_contain_text("Refused")
        await expect(cards["ben"]).to_contain_text("Let us wait for the fix.")
        await shot(pages["ben"], "approval-refused")
        assert (await task).refused

        cards, task = await asked("staging")
        await cards["ben"].get_by_role("button", name="Approve").click()
        await expect(cards["ada"]).to_contain_text("1 of 2 agree")  # a click during the redraw would be lost
        await cards["ada"].get_by_role("button", name="Approve").click()
        await expect(cards["ada"]).to_contain_text("Approved")
        await shot(pages["ada"], "approval-approved")
        assert not (await task).refused


def card(page: Any, where: str) -> Any:
    return page.locator(".thread .message").filter(has_text=f"to “{where}”?").last
