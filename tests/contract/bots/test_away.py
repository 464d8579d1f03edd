"""Messages and edits that people made while the bot was away for so long that the platform no longer repeats them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from askback_sandbox.discord.faults import DiscordFault
from askback_sandbox.model.script import turn
from support.outage import FOREIGN, of_discord, of_slack

from . import slack
from .driver import (
    ADA,
    BEN,
    CY,
    RELEASE,
    Desk,
    PlatformTests,
    Talk,
    at_rest,
    card,
    form_of,
    line,
    program_asks,
    told,
    until,
)
from .driver.conversations import fruit
from .offers import known

LOOK_UPS = {"conversations.replies", "conversations.history", "list_messages"}


def count_look_ups(desk: Desk) -> int:
    return sum(method in LOOK_UPS for method, _ in desk.api_calls())


def end_look_ups(desk: Desk, kind: str) -> Callable[[], None]:
    """Let the look-ups of groups fail that way until the returned function is called."""
    if desk.platform == "slack":
        return of_slack(desk.workspace.faults, kind, methods=("usergroups.users.list",), retry_after=1)  # type: ignore[attr-defined]
    return of_discord(desk.guild.faults, kind, operations=("get_guild_member",), retry_after=1)  # type: ignore[attr-defined]


async def restart(desk: Desk, number: int) -> None:
    """Run the bot until it has looked up what it missed, and has answered somebody else afterwards."""
    desk.model.script(turn(f"Here is {number}."), when=f"number {number}")
    before = count_look_ups(desk)
    async with desk.bot():
        await until(lambda: count_look_ups(desk) > before, "it looks")
        await line(desk, await desk.mention(CY, f"number {number}"), f"Here is {number}.")


async def says(desk: Desk, talk: Talk, words: str) -> None:
    """Wait until the bot has said this, and its turn has ended: a bot that ends earlier repeats the turn."""
    await line(desk, talk, words)
    await at_rest(desk, talk)


def posts(desk: Desk, talk: Talk) -> int:
    return len([one for one in desk.lines(talk) if one.bot]) + len(desk.replies(BEN))


async def test_what_was_written_in_a_conversation_while_the_bot_was_away_is_read_afterwards(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.script(turn("Good morning to you."), turn("It is noon."), when="hello")
        async with desk.bot():
            talk = await desk.mention(ADA, "hello")
            await says(desk, talk, "Good morning to you.")
        desk.drop_undelivered()
        await desk.say(ADA, "what time is it?", talk)
        async with desk.bot():
            await says(desk, talk, "It is noon.")
        await restart(desk, 1)  # it is told once
    assert [one.texts for one in told(desk, "hello")] == [["ada: hello"], ["ada: what time is it?"]]
    assert not desk.journal.unexpected()


@pytest.mark.parametrize("kind", FOREIGN)
async def test_what_was_written_meanwhile_is_read_once_the_platform_itself_answers(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.script(turn("Good morning to you."), turn("It is noon."), when="hello")
        async with desk.bot():
            talk = await desk.mention(ADA, "hello")
            await says(desk, talk, "Good morning to you.")
        desk.drop_undelivered()
        await desk.say(ADA, "what time is it?", talk)
        if desk.platform == "slack":
            over = of_slack(desk.workspace.faults, kind, methods=("conversations.replies",))  # type: ignore[attr-defined]
        else:
            over = of_discord(desk.guild.faults, kind, operations=("list_messages",))  # type: ignore[attr-defined]
        async with desk.bot():
            waits = {"catch_up_later", "no_catch_up"}
            await until(lambda: not waits.isdisjoint(desk.journal.actions()), "it is logged")
            over()
            if desk.platform == "discord":
                desk.guild.faults.add(DiscordFault(kind="no_resume"))  # type: ignore[attr-defined]
                await desk.lose_connection()
            await says(desk, talk, "It is noon.")
    assert not desk.journal.unexpected()


async def test_what_members_of_an_allowed_group_wrote_or_edited_while_the_bot_was_away_is_read_afterwards(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests_of.allow(monkeypatch, groups=[RELEASE])
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.join_group(ADA)
        desk.model.script(turn("To staging."), *[turn("I see.")] * 21, turn("To production."), when="deploy")
        async with desk.bot():
            talk = await desk.mention(ADA, "deploy to stagin")
            await says(desk, talk, "To staging.")
        desk.drop_undelivered()
        await desk.say(BEN, "deploy 6.6.6 instead", talk)
        for number in range(20):
            await desk.say(ADA, f"remark {number}", talk)
        async with desk.bot():
            await until(lambda: "ada: remark 19" in told(desk, "deploy")[-1].all_texts, "all of it is read")
        look_ups = [method for method, _ in desk.api_calls() if method == "get_guild_member"]
        assert len(look_ups) <= 4, "not one for each message"
        desk.drop_undelivered()
        await desk.edit(ADA, "deploy to PRODUCTION", talk, which=0)
        async with desk.bot():
            await until(lambda: "PRODUCTION" in told(desk, "deploy")[-1].all_texts[-1], "the edit is read")
    assert not any("6.6.6" in text for one in told(desk, "deploy") for text in one.all_texts)
    assert not desk.journal.unexpected()


@pytest.mark.parametrize("kind", ["500", "429", "silent"])
async def test_a_missed_message_waits_until_it_can_be_looked_up_whether_its_author_may_talk_to_the_bot(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("askback_slack.groups.FAILED_SECONDS", 0.1)
    monkeypatch.setattr("askback_discord.groups.LOOKUP_SECONDS", 1.0)
    tests_of.allow(monkeypatch, groups=[RELEASE])
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.script(turn("To staging."), turn("I see."), turn("To production."), when="deploy")
        async with desk.bot():
            talk = await desk.mention(ADA, "deploy to stagin")
            await says(desk, talk, "To staging.")
        desk.drop_undelivered()
        await desk.say(BEN, "deploy 6.6.6 instead", talk)
        await desk.say(ADA, "version 7", talk)
        over = end_look_ups(desk, kind)
        async with desk.bot():
            await until(lambda: "catch_up_later" in desk.journal.actions(), "it waits")
            over()
            await until(lambda: "ada: version 7" in told(desk, "deploy")[-1].all_texts, "it is read")
        desk.drop_undelivered()
        await desk.edit(ADA, "deploy to PRODUCTION", talk, which=0)
        desk.journal.records.clear()
        over = end_look_ups(desk, kind)
        async with desk.bot():
            await until(lambda: "catch_up_later" in desk.journal.actions(), "it waits")
            over()
            await until(lambda: "PRODUCTION" in told(desk, "deploy")[-1].all_texts[-1], "the edit is read")
    assert not any("6.6.6" in text for one in told(desk, "deploy") for text in one.all_texts)
    assert not desk.journal.unexpected()


@pytest.mark.only("discord", reason="a person who left a workspace of Slack is in none of its user groups")
async def test_a_person_who_has_left_the_server_has_no_roles_and_nobody_waits_for_them(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests_of.allow(monkeypatch, groups=[RELEASE])
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.join_group(BEN)
        desk.model.script(turn("To staging."), turn("I see."), when="deploy")
        async with desk.bot():
            talk = await desk.mention(ADA, "deploy to staging")
            await says(desk, talk, "To staging.")
        desk.drop_undelivered()
        await desk.say(BEN, "deploy 6.6.6 instead", talk)
        await desk.say(ADA, "version 7", talk)
        del desk.guild.people[desk.actor(BEN).id]  # type: ignore[attr-defined]
        async with desk.bot():
            await until(lambda: "ada: version 7" in told(desk, "deploy")[-1].all_texts, "it is read")
        assert {"catch_up_later", "no_roles"}.isdisjoint(desk.journal.actions())
    assert not any("6.6.6" in text for one in told(desk, "deploy") for text in one.all_texts)
    assert not desk.journal.unexpected()


async def test_a_mention_while_the_bot_was_away_begins_a_conversation_in_a_channel_where_it_talked_lately(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.script(turn("Good morning to you."), when="hello")
        desk.model.script(turn("It is noon."), when="what time")
        async with desk.bot():
            await line(desk, await desk.mention(ADA, "hello"), "Good morning to you.")
        desk.drop_undelivered()
        missed = await desk.mention(BEN, "what time is it?")
        async with desk.bot():
            await says(desk, missed, "It is noon.")
        await restart(desk, 1)
        lines = [one.text for one in desk.lines(missed) if one.bot]
    assert [one.texts for one in told(desk, "what time")] == [["ben: what time is it?"]]
    assert lines == ["It is noon."]
    assert not desk.journal.unexpected()


async def test_a_direct_message_while_the_bot_was_away_is_read_afterwards(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.script(turn("Good morning to you."), turn("It is noon."), turn("One."), when="hello")
        async with desk.bot():
            talk = await desk.direct(ADA, "hello")
            await says(desk, talk, "Good morning to you.")
        desk.drop_undelivered()
        await desk.say(ADA, "what time is it?", talk)
        await desk.say(ADA, "please", talk)
        async with desk.bot():
            await says(desk, talk, "It is noon.")
            await until(lambda: "ada: please" in told(desk, "hello")[-1].all_texts, "both are heard, in order")
    assert told(desk, "hello")[-1].all_texts == ["ada: hello", "ada: what time is it?", "ada: please"]
    assert not desk.journal.unexpected()


@pytest.mark.parametrize("which", [0, 1], ids=["of the first message", "of a later one"])
async def test_an_edit_while_the_bot_was_away_is_heard_afterwards(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.script(turn("Where to?"), turn("To staging, then."), turn("To production, then."), when="deploy")
        async with desk.bot():
            talk = await desk.mention(ADA, "deploy it")
            await says(desk, talk, "Where to?")
            await desk.say(ADA, "to stagin", talk)
            await says(desk, talk, "To staging, then.")
        desk.drop_undelivered()
        await desk.edit(ADA, "deploy it to PRODUCTION", talk, which=which)
        async with desk.bot():
            await says(desk, talk, "To production, then.")
        await restart(desk, 1)  # it is told once
    (heard,) = told(desk, "deploy")[-1].texts
    assert ("deploy it”", "to stagin")[which] in heard
    assert "deploy it to PRODUCTION" in heard
    assert len(told(desk, "deploy")) == 3
    assert not desk.journal.unexpected()


async def test_a_message_that_was_written_and_edited_while_the_bot_was_away_is_heard_once(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.script(turn("Where to?"), turn("To production, then."), when="deploy")
        async with desk.bot():
            talk = await desk.mention(ADA, "deploy it")
            await says(desk, talk, "Where to?")
        desk.drop_undelivered()
        await desk.say(ADA, "to stagin", talk)
        await desk.edit(ADA, "to PRODUCTION", talk)
        async with desk.bot():
            await says(desk, talk, "To production, then.")
        await restart(desk, 1)
    assert [one.texts for one in told(desk, "deploy")] == [["ada: deploy it"], ["ada: to PRODUCTION"]]
    assert not desk.journal.unexpected()


async def test_nobody_is_told_again_about_a_message_that_is_read_again_at_a_start(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests_of.allow(monkeypatch, people=[ADA, CY])
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        async with desk.bot():
            talk, _ = await fruit(desk)
            await known(desk)
            await desk.say(ADA, "show the question", talk)
            await line(desk, talk, "The question is here")
            await desk.mention_in(BEN, "may I?", talk)
            await until(lambda: desk.replies(BEN), "ben may not talk to the bot")
        seen = posts(desk, talk)
        for number in range(2):
            await restart(desk, number)
        assert posts(desk, talk) == seen
    assert not desk.journal.unexpected()


async def test_a_typed_answer_to_a_program_is_no_new_message_after_a_restart(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.script(turn("Good morning to you."), when="hello")
        async with desk.bot():
            talk = await desk.mention(ADA, "hello")
            await says(desk, talk, "Good morning to you.")
            channel = Talk(talk.channel, None)
            async with program_asks(desk, channel, form_of("Which fruit?", ["Apple", "Pear"])) as asked:
                await card(desk, channel)
                await known(desk)
                await desk.mention(ADA, "Pear")
                assert (await asked.outcome())["q"].labels == ("Pear",)
        await restart(desk, 1)
        await restart(desk, 2)
    assert len(desk.model.log) == 3
    assert not desk.journal.unexpected()


async def test_what_was_written_before_the_mention_is_not_heard_again_after_a_restart(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.script(turn("Then revert it."))
        async with desk.bot():
            talk = await desk.thread(ADA, "the build is red")
            await desk.say(BEN, "since this morning", talk)
            await asyncio.sleep(0.01)  # Discord counts milliseconds
            await desk.mention_in(ADA, "what do you make of it?", talk)
            await says(desk, talk, "Then revert it.")
        await restart(desk, 1)
    (first,) = told(desk, "the build is red")
    assert "since this morning" in first.texts[0]
    assert not desk.journal.unexpected()


# Slack's permissions and rate limits


@pytest.mark.only("slack", reason="Slack names the permission")
async def test_without_the_permission_the_log_says_once_what_to_do(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with slack.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.script(turn("Good morning to you."))
        desk.model.script(turn("I am back."), when="are you there?")
        async with desk.bot():
            for _ in range(2):
                talk = await desk.mention(ADA, "hello")
                await says(desk, talk, "Good morning to you.")
        desk.workspace.faults.fail("conversations.replies", "missing_scope", times=None)
        async with desk.bot():
            await until(lambda: "no_catch_up" in desk.journal.actions(), "it is logged")
            await line(desk, await desk.mention(ADA, "are you there?"), "I am back.")
    (why,) = [one for one in desk.journal.records if getattr(one, "action", "") == "no_catch_up"]
    assert "channels:history" in why.getMessage()
    assert count_look_ups(desk) == 1


@pytest.mark.only("slack", reason="Discord's library waits by itself")
async def test_a_look_up_that_is_refused_for_now_is_made_again(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with slack.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.script(turn("Good morning to you."), turn("It is noon."), when="hello")
        async with desk.bot():
            talk = await desk.mention(ADA, "hello")
            await says(desk, talk, "Good morning to you.")
        desk.drop_undelivered()
        await desk.say(ADA, "what time is it?", talk)
        desk.workspace.faults.ratelimit("conversations.replies", retry_after=1)
        async with desk.bot():
            await says(desk, talk, "It is noon.")
    assert [one.levelname for one in desk.journal.records if getattr(one, "action", "") == "catch_up_later"] == [
        "WARNING"
    ]
    assert not desk.journal.unexpected()


@pytest.mark.only("slack", reason="Discord tells of a lost session")
async def test_what_slack_gave_up_during_a_long_gap_is_read_afterwards(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with slack.open_desk(tmp_path, monkeypatch) as desk:
        desk.model.script(turn("Good morning to you."), turn("It is noon."), when="hello")
        talk = await desk.mention(ADA, "hello")
        await says(desk, talk, "Good morning to you.")
        desk.drop_undelivered()
        await desk.lose_connection()
        await desk.say(ADA, "what time is it?", talk)
        await says(desk, talk, "It is noon.")
    assert not desk.journal.unexpected()


@pytest.mark.only("slack", reason="Discord's library keeps to its limits by itself")
async def test_a_connection_that_breaks_off_again_and_again_does_not_use_up_slacks_limit(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with slack.open_desk(tmp_path, monkeypatch) as desk:
        desk.model.script(turn("Good morning to you."), when="hello")
        await line(desk, await desk.mention(ADA, "hello"), "Good morning to you.")
        for number in range(4):
            await desk.lose_connection()
            await desk.reconnected()
            desk.model.script(turn(f"Here is {number}."), when=f"number {number}")
            await line(desk, await desk.mention(CY, f"number {number}"), f"Here is {number}.")
        assert count_look_ups(desk) == 2  # the thread and its channel
