"""Offers: the two buttons under a message that may be meant as an answer."""

from __future__ import annotations

import asyncio
from typing import cast

from askback_sandbox.json_values import copied_all
from askback_sandbox.slack.values import Message

from . import discord, slack
from .discord.view import controls, is_card, read_text
from .driver import WITHIN, Card, Desk, Talk, transcript, until

USE, KEEP, DISCUSS = "Use this as your answer", "Just a message", "Discuss it first"


def offers(desk: Desk, talk: Talk, label: str = USE) -> tuple[Card, ...]:
    """Return all visible offers with this button, oldest first, of all readers."""
    found = _on_slack(desk, talk) if isinstance(desk, slack.SlackDesk) else _on_discord(desk, talk)
    return tuple(one for one in found if label in one.buttons)


def readers(desk: Desk, offer: Card) -> tuple[str, ...]:
    """Return the people who see it."""
    people = ("ada", "ben", "cy")
    if not isinstance(desk, slack.SlackDesk):
        return people
    message = desk.workspace.messages[offer.talk.channel, offer.id]
    return tuple(name for name in people if desk.actor(name).id == message.ephemeral_to)


async def offer(desk: Desk, talk: Talk, count: int = 1) -> Card:
    """Return the newest offer once there are `count`."""
    try:
        return await until(lambda: offers(desk, talk)[-1] if len(offers(desk, talk)) == count else None, "an offer")
    except AssertionError as error:
        raise AssertionError(f"{error}; there are {offers(desk, talk)} and:\n{transcript(desk, talk)}") from None


async def no_offer(desk: Desk, talk: Talk) -> None:
    """Wait until all offers are gone."""
    await until(lambda: not offers(desk, talk), f"no offer; there is {offers(desk, talk)}")


async def press_anyhow(desk: Desk, person: str, seen: Card, label: str) -> None:
    """Press a button of an offer that the platform may not show to this person."""
    if isinstance(desk, slack.SlackDesk):
        payload = desk._payload(person, seen, seen.control(label), [])
        assert (await desk.services.people.raw(payload)).acked
    else:
        await desk.press(person, seen, label)


def notices(desk: Desk, person: str) -> tuple[str, ...]:
    """Return the messages that only this person sees, except offers."""
    if not isinstance(desk, slack.SlackDesk):
        return desk.notices(person)
    who = desk.actor(person).id
    found = [one for one in desk.workspace.messages.values() if one.ephemeral_to == who and not _has_buttons(one)]
    return tuple(one.text for one in sorted(found, key=lambda one: one.ts))


async def told(desk: Desk, talk: Talk, person: str, text: str) -> None:
    """Check that the person receives the text: privately if the platform can, else in the conversation."""

    def heard() -> bool:
        return any(text in one for one in (*notices(desk, person), *(line.text for line in desk.lines(talk))))

    try:
        await until(heard, f"{person} is told {text!r}")
    except AssertionError as error:
        raise AssertionError(f"{error}; there is {notices(desk, person)} and:\n{transcript(desk, talk)}") from None


async def known(desk: Desk) -> None:
    """Wait until the bot has recorded that all its open asks are drawn."""

    async def drawn() -> bool:
        return all(ask.is_drawn for ask in await desk.host.manager.list_open_asks())

    async with asyncio.timeout(WITHIN):
        while not await drawn():  # noqa: ASYNC110 - only the store knows
            await asyncio.sleep(0.005)


def _on_slack(desk: slack.SlackDesk, talk: Talk) -> list[Card]:
    found = [
        message
        for message in desk.workspace.messages.values()
        if message.ephemeral_to is not None and message.channel == talk.channel and _has_buttons(message)
    ]
    return [desk._card(message, talk) for message in sorted(found, key=lambda one: one.ts)]


def _has_buttons(message: Message) -> bool:
    return any(block.get("type") == "actions" for block in message.blocks)


def _on_discord(desk: Desk, talk: Talk) -> list[Card]:
    found: list[Card] = []
    for post in cast("discord.DiscordDesk", desk)._posts(talk):
        if post.components and not is_card(post):
            text = read_text(post.content)
            buttons = tuple(controls(post.components))
            handle = tuple(copied_all(list(post.components)))
            found.append(Card(id=post.id, talk=talk, text=text, notification=text, controls=buttons, handle=handle))
    return found
