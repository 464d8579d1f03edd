"""Archived threads on Discord: opened again where somebody is asked, and only there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from askback_sandbox.json_values import as_object

from . import discord
from .discord import DiscordDesk
from .discord.posts import begun, fruit
from .driver import ADA, card, form_of, line, program_asks, settled, until

pytestmark = pytest.mark.only("discord", reason="threads, nonces and codes are Discord's own")


async def test_a_thread_that_is_archived_while_a_question_is_open_is_opened_again(desk: DiscordDesk) -> None:
    talk, shown = await fruit(desk)
    desk.services.discord.posting.change_place(discord.archived(await desk.room(talk)))
    await until(lambda: not desk.guild.places[str(talk.thread)].archived, "it is opened")
    await desk.press(ADA, shown, "Pear")
    await settled(desk, talk, "Pear")


async def test_a_thread_in_which_nobody_is_asked_stays_archived(desk: DiscordDesk) -> None:
    talk, shown = await fruit(desk)
    await desk.press(ADA, shown, "Pear")
    await line(desk, talk, "So be it, then.")
    desk.services.discord.posting.change_place(discord.archived(await desk.room(talk)))
    other, _ = await fruit(desk)
    desk.services.discord.posting.change_place(discord.archived(await desk.room(other)))
    await until(lambda: not desk.guild.places[str(other.thread)].archived, "the other one is opened")
    assert desk.guild.places[str(talk.thread)].archived


async def test_a_thread_that_was_archived_while_the_bot_was_away_is_opened_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with discord.open_desk(tmp_path, monkeypatch, start=False) as desk:
        async with desk.bot():
            talk, shown = await fruit(desk)
        desk.guild.put_place(discord.archived(await desk.room(talk)))
        async with desk.bot():
            await until(lambda: not desk.guild.places[str(talk.thread)].archived, "it is opened")
            await desk.press(ADA, shown, "Pear")
            await settled(desk, talk, "Pear")
    assert not desk.journal.unexpected()


async def test_a_change_in_an_archived_thread_opens_it_first_50083(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])) as asking:
        shown = await card(desk, talk, "Go?")
        thread = await desk.room(talk)
        desk.guild.put_place(discord.archived(thread))
        earlier = desk.operations().count("update_message")
        (ask,) = await desk.host.manager.list_open_asks()
        assert await desk.host.manager.cancel(ask.id)
        over = await settled(desk, talk, "Cancelled")
        assert over.id == shown.id
        assert (await asking.outcome()).status == "cancelled"
    codes = [as_object(call.answer).get("code") for call in desk.guild.log if call.operation == "update_message"]
    first, *others = codes[earlier:]
    assert (first, set(others)) == (50083, {None})
    assert not desk.guild.places[thread.id].archived


async def test_a_thread_that_may_not_be_opened_is_named_and_ends_nothing(desk: DiscordDesk) -> None:
    desk.journal.announce("delivery_rejected")
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])) as asking:
        await card(desk, talk, "Go?")
        desk.guild.put_place(replace(discord.archived(await desk.room(talk)), locked=True))
        (ask,) = await desk.host.manager.list_open_asks()
        await desk.host.manager.cancel(ask.id)
        assert (await asking.outcome()).status == "cancelled"
        await until(lambda: "delivery_rejected" in desk.journal.actions(), "it is named")
