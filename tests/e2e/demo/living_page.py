"""The page of a platform, with the real bot and agent behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

from askback.domain.open_ask_limits import Limits
from askback.ports.installed_bots import get_bot
from askback.runtime.app import open_host
from askback_sandbox.services import Services
from e2e.demo.page_actions import CARD, expect
from support.browser import Opener

PlatformName = Literal["slack", "discord"]
WHERE = {"slack": "U0LOCALADA/C0GENERAL", "discord": "discord/1100000000000000201/1100000000000000301"}
PROMPT = "Where shall I deploy the release?"


@asynccontextmanager
async def living(services: Services, platform: PlatformName) -> AsyncIterator[None]:
    """Run the real bot and agent, except for the pause between two asks."""
    async with open_host([get_bot(platform)], limits=Limits(seconds_between_asks=0)) as host:
        with services.find_calls_with(host.store.list_askers):
            await (services.socket if platform == "slack" else services.discord.gateway).connected()
            yield


async def opened(open_page: Opener, services: Services, platform: PlatformName) -> Any:
    """Open the page of that platform: Slack in light mode, Discord in dark mode."""
    page = await open_page(color_scheme="light" if platform == "slack" else "dark")
    await page.goto(f"{services.url}/#{WHERE[platform]}")
    await expect(page.locator(f"[data-site={platform}][aria-current=true]")).to_be_visible()
    return page


def card(page: Any) -> Any:
    """Return the newest card of the thread."""
    return page.locator(".thread .message").filter(has_text=CARD).filter(has_text=PROMPT).last
