"""Takes pictures of cards on the local page, and measures what people see of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

import aiohttp

from askback.domain.card import Card
from askback.domain.identity import Actor
from askback.ports.installed_bots import get_bot
from askback_sandbox.services import Services
from support.browser import browsing

from .agents import OF_AGENTS
from .typical import TYPICAL

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
WIDTHS = (1280, 390)
TALL = 1_400
PEOPLE = ("ada", "ben", "cy")
STORIES = (*TYPICAL, *OF_AGENTS)
_MEASURE = """message => {
  const shown = [...message.querySelectorAll('.said > .blocks')];
  const controls = 'button, select, textarea, input:not([type=hidden]), [role=combobox]';
  const words = shown.map(node => node.innerText).join(' ').split(/\\s+/);
  return {
    words: words.filter(word => /[\\p{L}\\p{N}]/u.test(word)).length,
    controls: shown.reduce((sum, node) => sum + node.querySelectorAll(controls).length, 0),
    height: Math.round(message.getBoundingClientRect().height),
  };
}"""


@dataclass(frozen=True, slots=True)
class Measured:
    """The size of a card on a screen of 1280 pixels. A card may be several messages."""

    words: int
    controls: int
    height: int
    """In pixels."""


async def post_cards(services: Services, platform: str) -> tuple[str, list[tuple[str, int, int]]]:
    """Post the cards in an empty channel; return the page's address, and the names with their numbers of messages.

    The first number is that of the card before the end of its ask, the second that of the settled card.
    """
    stage = _Slack(services) if platform == "slack" else _Discord(services)
    posted: list[tuple[str, int, int]] = []
    async with aiohttp.ClientSession(headers=stage.headers) as session:
        for story in STORIES:
            opened, settled = story.tell(*stage.people)
            counts = [await _post(session, stage, platform, card) for card in (opened, settled)]
            posted.append((story.name, counts[0], counts[1]))
    return stage.page, posted


async def _post(session: aiohttp.ClientSession, stage: _Slack | _Discord, platform: str, card: Card) -> int:
    bodies = get_bot(platform).setup.preview(card)
    for body in bodies:
        async with session.post(stage.url, json=dict(body) | stage.target) as response:
            answer = await response.json()
            assert response.status == 200, answer
            assert answer.get("ok", True), answer
    return len(bodies)


class _Slack:
    def __init__(self, services: Services) -> None:
        workspace = services.workspace
        channel = next(one.id for one in workspace.channels.values() if one.name == "general")
        named = {one.name: one.id for one in workspace.people.values()}
        self.people = tuple(
            Actor(platform="slack", tenant="T", id=named[name], name=name) for name in ("ada", "ben", "cy")
        )
        self.headers = {"Authorization": f"Bearer {workspace.bot.token}"}
        self.url = f"{services.slack_api_url}chat.postMessage"
        self.target = {"channel": channel}
        self.page = f"{services.url}/#{named['ada']}/{channel}"


class _Discord:
    def __init__(self, services: Services) -> None:
        guild = services.discord.guild
        channel = next(one.id for one in guild.places.values() if one.name == "general")
        named = {one.name: one.id for one in guild.people.values()}
        self.people = tuple(
            Actor(platform="discord", tenant="1", id=named[name], name=name) for name in ("ada", "ben", "cy")
        )
        self.headers = {"Authorization": f"Bot {guild.app.token}"}
        self.url = f"{services.discord_api_url}/channels/{channel}/messages"
        self.target: dict[str, Any] = {}
        self.page = f"{services.url}/#discord/{named['ada']}/{channel}"


async def take_pictures(platform: str, folder: Path) -> list[tuple[str, Measured, Measured]]:
    """Write a picture of each card, in each colour scheme and width; return the size of each card."""
    async with Services(port=0) as services, browsing(without_pictures=True) as browser:
        page, posted = await post_cards(services, platform)
        measured: list[tuple[str, Measured, Measured]] = []
        for scheme, width in product(SCHEMES, WIDTHS):
            window = await browser(page, width=width, height=TALL, color_scheme=scheme)
            messages = await window.locator("article.message").all()
            assert len(messages) == sum(first + second for _, first, second in posted)
            await _shoot(messages, posted, folder, f"{platform}-{scheme}-{width}")
            measured = measured or await _measure_all(messages, posted)
        return measured


async def _shoot(messages: Sequence[Any], posted: list[tuple[str, int, int]], folder: Path, where: str) -> None:
    left = iter(messages)
    for name, *counts in posted:
        for state, count in zip(("open", "settled"), counts, strict=True):
            for number in range(count):
                file = f"{where}-{name.replace(' ', '-')}-{state}{f'-{number + 1}' if number else ''}.png"
                await next(left).screenshot(path=folder / file)


async def _measure_all(
    messages: Sequence[Any], posted: list[tuple[str, int, int]]
) -> list[tuple[str, Measured, Measured]]:
    left = iter(messages)
    return [(name, await _measure(left, first), await _measure(left, second)) for name, first, second in posted]


async def _measure(messages: Any, count: int) -> Measured:
    found = [await next(messages).evaluate(_MEASURE) for _ in range(count)]
    return Measured(**{field: sum(one[field] for one in found) for field in ("words", "controls", "height")})


def measure(platforms: Sequence[str], folder: Path) -> dict[str, list[tuple[str, Measured, Measured]]]:
    """Take the pictures on each platform; return the sizes."""

    async def run() -> dict[str, list[tuple[str, Measured, Measured]]]:
        return {platform: await take_pictures(platform, folder) for platform in platforms}

    return asyncio.run(run())
