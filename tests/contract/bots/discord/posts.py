"""Conversations to begin with, and the bot's posts as the test guild has them."""

from __future__ import annotations

from askback.domain.ask import Ask
from askback.ports.platform import Messages
from askback_discord import limits
from askback_discord.posting import DiscordPlatform
from askback_sandbox.model.script import turn
from contract.bots.driver import ADA, Card, Talk, asks, card, line, one

from .desk import DiscordDesk


async def begun(desk: DiscordDesk) -> Talk:
    """Return a conversation without any pending work."""
    desk.model.script(turn("I am listening."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "I am listening.")
    return talk


async def fruit(desk: DiscordDesk) -> tuple[Talk, Card]:
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it, then."), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    return talk, await card(desk, talk)


def platform(desk: DiscordDesk) -> DiscordPlatform:
    found = desk.host.platforms["discord"]
    assert isinstance(found, DiscordPlatform)
    return found


async def recorded(desk: DiscordDesk) -> None:
    """Wait until the bot has stored the location of the visible cards."""

    async def unwanted(ask: Ask) -> Messages:
        raise AssertionError(f"{ask.id} is not drawn")

    for ask in await desk.host.manager.list_open_asks():
        await desk.host.manager.cards.draw(ask.id, unwanted)


def creates(desk: DiscordDesk) -> list[dict[str, object]]:
    """Return the bodies of messages that the bot asked Discord to create."""
    return [dict(call.body) for call in desk.guild.log if call.operation == "create_message"]


def cards_created(desk: DiscordDesk) -> list[dict[str, object]]:
    """Return the bodies of cards, including their parts."""
    return [body for body in creates(desk) if int(str(body.get("flags") or 0)) & limits.COMPONENTS_V2]
