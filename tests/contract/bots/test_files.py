"""Attachments: the bot cannot read them, and it says so to both the person and the model."""

from __future__ import annotations

import pytest

from askback_sandbox.discord.objects import post_object
from askback_sandbox.model.script import turn

from .discord import DiscordDesk
from .driver import ADA, BEN, Desk, line, turn_of

CANNOT = "I cannot read attachments, so I do not know what is in"


async def test_a_file_is_named_to_the_model_and_the_person_is_told(desk: Desk) -> None:
    desk.model.script(turn("What is it about?"), turn("I shall not guess."), when="look")
    talk = await desk.mention(ADA, "look")
    await line(desk, talk, "What is it about?")
    await desk.attach(ADA, "at this", talk, "plan.pdf", "figures.csv")
    said = await line(desk, talk, CANNOT)
    assert "plan.pdf, figures.csv" in said.text
    assert (await turn_of(desk, "look", 2)).texts == [
        "ada: at this [attachments that you cannot read: plan.pdf, figures.csv]"
    ]


async def test_a_message_that_is_nothing_but_a_file_is_heard(desk: Desk) -> None:
    desk.model.script(turn("What is it about?"), turn("I shall not guess."), when="look")
    talk = await desk.direct(ADA, "look")
    await line(desk, talk, "What is it about?")
    await desk.attach(ADA, "", talk, "plan.pdf")
    await line(desk, talk, CANNOT)
    assert (await turn_of(desk, "look", 2)).texts == ["ada:  [attachments that you cannot read: plan.pdf]"]


async def test_a_file_beside_a_word_for_the_bot_is_no_order(desk: Desk) -> None:
    """The word "stop" above a file is about the file."""
    desk.model.script(turn("What is it about?"), turn("I shall not guess."), when="look")
    talk = await desk.mention(ADA, "look")
    await line(desk, talk, "What is it about?")
    await desk.attach(ADA, "stop", talk, "sign.png")
    assert (await turn_of(desk, "look", 2)).texts == ["ada: stop [attachments that you cannot read: sign.png]"]


async def test_the_name_of_a_file_is_shown_as_it_is_and_pings_nobody(desk: Desk) -> None:
    desk.model.script(turn("What is it about?"), turn("I shall not guess."), when="look")
    talk = await desk.mention(ADA, "look")
    await line(desk, talk, "What is it about?")
    name = "*plan* @everyone <!here> <@U0LOCALBEN>.pdf"
    await desk.attach(ADA, "at this", talk, name)
    said = await line(desk, talk, CANNOT)
    assert f"“{name}”" in said.text
    assert not desk.pings()


async def test_names_of_files_turn_nothing_around_and_are_told_however_long_and_many_they_are(desk: Desk) -> None:
    desk.model.script(turn("What is it about?"), turn("I shall not guess."), when="look")
    talk = await desk.mention(ADA, "look")
    await line(desk, talk, "What is it about?")
    names = ["in\u202efdp.exe", *(f"{number}{'_' * 240}.pdf" for number in range(11))]
    await desk.attach(ADA, "at this", talk, *names)
    said = await line(desk, talk, CANNOT)
    assert "in\u202efdp.exe\u202c" in said.text, "the direction ends with the name"
    assert f"“8{'_' * 78}…” and 2 more. If it matters" in said.text


async def test_the_name_of_a_file_cannot_be_taken_for_the_words_of_the_bot(desk: Desk) -> None:
    desk.model.script(turn("What is it about?"), turn("I shall not guess."), when="look")
    talk = await desk.mention(ADA, "look")
    await line(desk, talk, "What is it about?")
    await desk.attach(ADA, "at this", talk, "it. Ben approved the release.pdf", "plan.pdf")
    await line(desk, talk, f"{CANNOT} “it. Ben approved the release.pdf”, plan.pdf. If it matters")


@pytest.mark.only("discord", reason="Slack has no stickers")
async def test_a_sticker_is_named(desk: DiscordDesk) -> None:
    desk.model.script(turn("What is it about?"), turn("A wave, I suppose."), when="look")
    talk = await desk.direct(ADA, "look")
    await line(desk, talk, "What is it about?")
    message = {
        **post_object(desk.guild, desk.guild.history(talk.channel)[0]),
        "id": desk.guild.next_id(),
        "content": "",
        "sticker_items": [{"id": "749054660769218631", "name": "Wave", "format_type": 3}],
    }
    desk.gateway.dispatch_in(desk.guild.places[talk.channel], "MESSAGE_CREATE", message)
    await line(desk, talk, f"{CANNOT} “the sticker Wave”")
    assert (await turn_of(desk, "look", 2)).texts == ["ada:  [attachments that you cannot read: the sticker Wave]"]


async def test_what_was_shared_from_elsewhere_is_not_read_and_its_sharer_hears_so(desk: Desk) -> None:
    desk.model.script(turn("Good morning to you."), turn("Please paste it."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Good morning to you.")
    await desk.share(ADA, "deploy 6.6.6 to production", BEN, talk)
    await line(desk, talk, "Please paste it.")
    name = {"slack": "a shared message", "discord": "a forwarded message"}[desk.platform]
    await line(desk, talk, f"{CANNOT} {name}")
    assert (await turn_of(desk, "hello", 2)).texts == [f"ada:  [attachments that you cannot read: {name}]"]
