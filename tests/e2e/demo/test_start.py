"""An empty channel of the demo: what a newcomer can click, and the command that asks from a script."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from askback_sandbox.services import Services
from e2e.demo.conftest import Shot
from e2e.demo.living_page import PROMPT, PlatformName, card, living, opened
from e2e.demo.page_actions import button, expect
from support.browser import Opener

pytest.importorskip("discord", reason="discord.py is not installed")

PRIVATE = {"slack": "U0LOCALADA/C0PRIVATE", "discord": "discord/1100000000000000201/1100000000000000303"}


@pytest.mark.parametrize("platform", ["slack", "discord"])
async def test_a_newcomer_clicks_a_question_answers_it_and_sees_its_json(
    services: Services, open_page: Opener, shot: Shot, platform: PlatformName
) -> None:
    async with living(services, platform):
        page = await opened(open_page, services, platform)
        await shot(page, f"start-{platform}")
        await page.locator(".try").first.click()
        asked = card(page)
        await expect(asked).to_contain_text(PROMPT)
        await expect(page.locator(".main .start")).to_be_hidden()
        await asked.locator(".posted summary").click()
        posted = json.loads(await asked.locator(".posted pre").inner_text())
        assert PROMPT in json.dumps(posted)
        await shot(page, f"start-{platform}-json")
        await asked.locator(".posted summary").click()
        await expect(asked.locator(".posted pre")).to_be_hidden()
        await button(asked, "Production").focus()
        await page.keyboard.press("Alt+j")
        await expect(asked.locator(".posted pre")).to_contain_text(PROMPT)
        await button(asked, "Production").click()
        await expect(card(page)).to_contain_text("by @ada")
        await page.goto(f"{services.url}/#{PRIVATE[platform]}")
        await expect(page.locator(".main .start")).to_contain_text("The bot is not in this channel")


@pytest.mark.parametrize("platform", ["slack", "discord"])
async def test_the_command_on_the_page_asks_two_people_beside_the_running_bot(
    services: Services, open_page: Opener, shot: Shot, platform: PlatformName
) -> None:
    services.describe_run({"ASKBACK_DATABASE_URL": os.environ["ASKBACK_DATABASE_URL"]})
    async with living(services, platform):
        page = await opened(open_page, services, platform)
        command = await page.locator(".script pre").inner_text()
        clean = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": os.environ["HOME"]}
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PYTHON", "COVERAGE"))}
        asking = await asyncio.create_subprocess_exec(
            "bash", "-ec", command, env={**clean, **kept}, stdout=asyncio.subprocess.PIPE
        )
        asked = page.locator(".main .message").filter(has_text="Deploy 1.4.2?").last
        await button(asked, "Yes").click()
        await expect(asked).to_contain_text("1 of 2 agree")
        await page.locator(".who select").select_option(label="ben")
        await button(asked, "Yes").click()
        out, _ = await asyncio.wait_for(asking.communicate(), 60)
        assert asking.returncode == 0
        assert json.loads(out)["approved"] is True
        await shot(page, f"start-{platform}-script")


async def test_with_a_real_model_the_page_names_it_and_offers_no_call_of_the_demos_tool(
    services: Services, open_page: Opener
) -> None:
    services.describe_run({}, "claude-test")
    page = await open_page()
    await expect(page.locator(".main .start")).to_contain_text("The agent's model is claude-test.")
    await expect(page.locator(".try")).to_have_count(5)


async def test_a_phone_and_the_dark_show_the_whole_start(services: Services, open_page: Opener, shot: Shot) -> None:
    for site in ("slack", "discord"):
        page = await open_page(width=390, height=780, color_scheme="dark")
        await page.goto(f"{services.url}/#{'' if site == 'slack' else 'discord/'}")
        start = page.locator(".main .start")
        await expect(start).to_contain_text("Let the agent ask you")
        overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0
        await expect(start.get_by_text("Let the agent ask you")).to_be_in_viewport()
        await shot(page, f"start-{site}-390-dark")
