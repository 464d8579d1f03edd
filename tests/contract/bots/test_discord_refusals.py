"""Posts that Discord refuses: what is deleted, missing or not permitted ends the ask with the reason."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from askback.domain.who import Who
from askback_sandbox.discord.values import MEMBER_PERMISSIONS, Permission
from askback_sandbox.model.script import turn

from . import discord
from .discord import DiscordDesk
from .discord.posts import begun, fruit, recorded
from .driver import ADA, Talk, asks, card, form_of, line, one, program_asks, turn_of, until

pytestmark = pytest.mark.only("discord", reason="threads, nonces and codes are Discord's own")


async def test_a_deleted_thread_ends_its_questions_and_the_agent_hears_why(desk: DiscordDesk) -> None:
    desk.journal.announce("delivery_rejected")
    talk, _ = await fruit(desk)
    desk.services.discord.posting.remove_place(await desk.room(talk))
    newest = await turn_of(desk, "fruit", 2)
    assert "deleted" in newest.result
    await until(lambda: "delivery_rejected" in desk.journal.actions(), "the text has no place either")
    assert desk.operations().count("create_thread_from_message") == 1, "no thread is begun anew"


async def test_a_deleted_channel_ends_the_questions_in_its_threads(desk: DiscordDesk) -> None:
    desk.journal.announce("delivery_rejected")
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])) as asking:
        await card(desk, talk, "Go?")
        desk.guild.places.pop(str(talk.thread))
        desk.services.discord.posting.remove_place(desk.guild.places[talk.channel])
        outcome = await asking.outcome()
        assert outcome.status == "undeliverable"
        assert "deleted" in str(outcome.reason)


async def test_a_thread_that_was_deleted_while_the_bot_was_away_ends_its_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with discord.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.journal.announce("delivery_rejected")
        async with desk.bot():
            talk, _ = await fruit(desk)
            await recorded(desk)
        desk.services.discord.posting.remove_place(await desk.room(talk))
        async with desk.bot():
            assert "deleted" in (await turn_of(desk, "fruit", 2)).result
    assert not desk.journal.unexpected()


async def test_a_channel_that_never_was_fails_the_ask_at_once_with_the_reason(desk: DiscordDesk) -> None:
    desk.journal.announce("delivery_rejected")
    place = desk.place(Talk("1100000000000000301", None)).evolve(channel="1100000000000000999", thread=None)
    began = time.monotonic()
    outcome = await desk.host.manager.ask(form_of("Go?", ["Yes", "No"]), to=place, who=Who.from_people(desk.actor(ADA)))
    assert outcome.status == "undeliverable"
    assert "does not exist" in str(outcome.reason)
    assert time.monotonic() - began < 30, "it is not tried for the minute that a passing refusal is"


async def test_a_message_that_a_thread_was_to_start_from_and_is_gone_fails_the_ask(desk: DiscordDesk) -> None:
    desk.journal.announce("delivery_rejected")
    place = desk.place(Talk("1100000000000000301", "1100000000000000998"))
    outcome = await desk.host.manager.ask(form_of("Go?", ["Yes", "No"]), to=place, who=Who.from_people(desk.actor(ADA)))
    assert outcome.status == "undeliverable"
    assert "was deleted" in str(outcome.reason)


async def test_without_the_permission_to_send_the_tool_call_fails_at_once_with_the_reason_50013(
    desk: DiscordDesk,
) -> None:
    desk.journal.announce("delivery_rejected")
    general = desk.guild.place("general")
    assert general is not None
    desk.guild.put_place(replace(general, denied=int(Permission.SEND_MESSAGES_IN_THREADS)))
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it, then."), when="fruit")
    await desk.mention(ADA, "fruit, please")
    result = (await turn_of(desk, "fruit", 2)).result
    assert "I lack one of these permissions there" in result
    assert "Send Messages" in result


async def test_without_the_permission_to_begin_threads_the_tool_call_fails_with_the_reason(desk: DiscordDesk) -> None:
    desk.journal.announce("delivery_rejected")
    general = desk.guild.place("general")
    assert general is not None
    desk.guild.put_place(replace(general, denied=int(Permission.CREATE_PUBLIC_THREADS)))
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it, then."), when="fruit")
    await desk.mention(ADA, "fruit, please")
    assert "Create Public Threads" in (await turn_of(desk, "fruit", 2)).result


async def test_in_a_channel_without_threads_people_hear_where_to_write(desk: DiscordDesk) -> None:
    """The chat of a voice channel has none."""
    desk.journal.announce("delivery_rejected", "no_thread")
    desk.guild.faults.fail("create_thread_from_message", 400, 50024, times=None)
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it, then."), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    assert "no threads. Write to me in a text channel" in (await turn_of(desk, "fruit", 2)).result
    await line(desk, replace(talk, thread=None), "could not start one here: channels of this type have no threads.")


async def test_a_channel_that_the_bot_does_not_see_fails_the_ask_with_the_reason(desk: DiscordDesk) -> None:
    desk.journal.announce("delivery_rejected")
    hidden = desk.guild.place("private-room")
    assert hidden is not None
    assert hidden.denied == int(MEMBER_PERMISSIONS)
    outcome = await desk.host.manager.ask(
        form_of("Go?", ["Yes", "No"]), to=desk.place(Talk(hidden.id, None)), who=Who.from_people(desk.actor(ADA))
    )
    assert outcome.status == "undeliverable"
    assert "View Channel" in str(outcome.reason)
