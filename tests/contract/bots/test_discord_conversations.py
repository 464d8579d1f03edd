"""The messages that the Discord bot receives, the ones that Discord withholds, and reconnects to the gateway."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from askback.domain.ask_policy import NOT_TAKING_PART
from askback.errors import OperatorError
from askback.inbound.message_router import MessageRouter
from askback.ports.installed_bots import get_bot
from askback.runtime.app import open_host
from askback.settings.core import Settings
from askback.settings.loader import load
from askback.store.errors import StoreBusy
from askback_discord.events import NOT_HEARD, ONLY_MENTIONS
from askback_sandbox.discord.faults import DiscordFault
from askback_sandbox.discord.values import Permission
from askback_sandbox.model.script import turn

from . import discord
from .discord import DiscordDesk
from .driver import ADA, BEN, Card, Talk, asks, card, line, one, settled, told, turn_of, until

pytestmark = pytest.mark.only("discord", reason="threads, intents and the gateway are Discord's own")


FRUIT = (turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it, then."))


async def fruit(desk: DiscordDesk) -> tuple[Talk, Card]:
    desk.model.script(*FRUIT, when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    return talk, await card(desk, talk)


def count_writers(tmp_path: Path) -> int:
    """Return the number of people of whose messages the bot knows."""
    with sqlite3.connect(tmp_path / "desk.db") as connection:
        return connection.execute("SELECT count(DISTINCT author) FROM inbox").fetchone()[0]


@pytest.fixture
async def deaf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DiscordDesk]:
    """A bot whose application may not read messages that do not mention it."""
    async with discord.open_desk(tmp_path, monkeypatch, privileged=0) as desk:
        yield desk
    assert not desk.journal.unexpected(), "\n".join(desk.journal.unexpected())


# Threads


async def test_a_mention_begins_a_thread_at_the_message_that_is_named_after_it(desk: DiscordDesk) -> None:
    desk.model.script(turn("Here I am, in the thread."), when="ship")
    talk = await desk.mention(ADA, "please ship release 42 to @ben and @release")
    thread = await desk.room(talk)
    assert thread.id == talk.thread
    assert thread.parent == talk.channel
    assert thread.name == "please ship release 42 to @ben and @release"
    assert thread.auto_archive_minutes == 10_080, "as long as Discord lets it be"
    await line(desk, talk, "Here I am, in the thread.")
    assert not [post for post in desk.guild.history(talk.channel) if post.author == desk.guild.bot.id]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("  two\nlines ", "two lines"),
        ("x" * 300, "x" * 89 + "…"),
        ("\u200b\u202e", "askback"),
        ("👩‍💻 " * 60, None),
        ("", "askback"),
    ],
)
async def test_a_title_that_discord_would_not_take_is_made_one(desk: DiscordDesk, text: str, name: str | None) -> None:
    thread = await desk.room(await desk.mention(ADA, text))
    assert name is None or thread.name == name
    assert 1 <= len(thread.name) <= 100


async def test_a_title_that_discord_refuses_gives_way_to_another(desk: DiscordDesk) -> None:
    desk.guild.faults.fail("create_thread_from_message", 400, 50035)
    talk = await desk.mention(ADA, "something indecent")
    assert (await desk.room(talk)).name == "askback"
    await line(desk, talk, "")
    desk.guild.log.remove(next(call for call in desk.guild.log if call.status == 400))


async def test_a_thread_that_could_not_be_begun_is_begun_by_the_first_message_with_its_title(
    desk: DiscordDesk,
) -> None:
    desk.guild.faults.add(DiscordFault(kind="ratelimit", operation="create_thread_from_message", via=False))
    desk.model.script(turn("Here I am, in the thread."), when="ship")
    talk = await desk.mention(ADA, "ship it")
    await line(desk, talk, "Here I am, in the thread.")
    assert (await desk.room(talk)).name == "ship it"
    assert "no_thread" in desk.journal.actions()


async def test_a_mention_in_somebody_elses_thread_is_a_conversation_there(desk: DiscordDesk) -> None:
    people, posting = desk.services.discord.people, desk.services.discord.posting
    root = people.write(BEN, "general", "let us talk")
    parent = desk.guild.places[root.channel]
    posting.start_thread(
        replace(parent, id=root.id, name="talk", kind="thread", parent=parent.id, owner=root.author), root
    )
    talk = Talk(parent.id, root.id)
    await desk.say(BEN, "the bot is not meant", talk)
    desk.model.script(turn("I come when I am called."), turn("Still here, of course."), when="come")
    await desk.mention_in(BEN, "come", talk)
    await line(desk, talk, "I come when I am called.")
    await desk.say(BEN, "and stay", talk)
    await line(desk, talk, "Still here, of course.")
    first, second = told(desk, "the bot is not meant")
    assert (first.texts[1:], second.texts) == (["ben: come"], ["ben: and stay"])


async def test_a_thread_that_the_bot_has_not_seen_is_the_same_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Discord lists no archived threads after a reconnect, so the bot knows only the thread's id."""
    async with discord.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.script(turn("Good morning to you."), turn("Still here, of course."), when="hello")
        async with desk.bot():
            talk = await desk.mention(ADA, "hello")
            await line(desk, talk, "Good morning to you.")
        thread = await desk.room(talk)
        desk.guild.put_place(discord.archived(thread))
        async with desk.bot():
            # The new message reopens the thread, and arrives before the event about that.
            desk.guild.put_place(thread)
            await desk.say(ADA, "are you there?", talk)
            await line(desk, talk, "Still here, of course.")
    assert told(desk, "hello")[-1].all_texts == ["ada: hello", "ada: are you there?"]
    assert not desk.journal.unexpected()


# Without the privilege to read everything


async def test_without_message_content_only_mentions_are_heard_and_the_bot_says_so_once(deaf: DiscordDesk) -> None:
    deaf.model.script(turn("Good morning to you."), turn("And again, hello."), when="hello")
    talk = await deaf.mention(ADA, "hello")
    await line(deaf, talk, "Good morning to you.")
    await deaf.say(ADA, "this is kept back by Discord", talk)
    await deaf.mention_in(ADA, "this is not", talk)
    await line(deaf, talk, "And again, hello.")
    assert [one.texts for one in told(deaf, "hello")] == [["ada: hello"], ["ada: this is not"]]
    assert [one.text for one in deaf.lines(talk) if one.bot].count(ONLY_MENTIONS) == 1


async def test_without_message_content_a_question_is_answered_all_the_same(deaf: DiscordDesk) -> None:
    talk, shown = await fruit(deaf)
    await deaf.press(ADA, shown, "Pear")
    await settled(deaf, talk, "Pear")
    assert '"Pear"' in (await turn_of(deaf, "fruit", 2)).result


async def test_without_message_content_who_writes_in_the_thread_takes_part(deaf: DiscordDesk, tmp_path: Path) -> None:
    talk, shown = await fruit(deaf)
    await deaf.press(BEN, shown, "Pear")
    await until(lambda: NOT_TAKING_PART in deaf.alone(BEN), "ben is told what to do")
    await deaf.say(BEN, "here I write something", talk)
    await until(lambda: count_writers(tmp_path) == 2, "the bot heard that ben wrote")
    await deaf.press(BEN, shown, "Pear")
    assert '"Pear"' in (await turn_of(deaf, "fruit", 2)).result
    assert not any("here I write" in text for text in (await turn_of(deaf, "fruit", 2)).all_texts)
    assert deaf.replies(BEN) == ()


async def test_without_message_content_direct_messages_are_heard(deaf: DiscordDesk) -> None:
    deaf.model.script(turn("Just the two of us."), turn("As before, yes."), when="psst")
    talk = await deaf.direct(ADA, "psst")
    await line(deaf, talk, "Just the two of us.")
    await deaf.say(ADA, "and again", talk)
    await line(deaf, talk, "As before, yes.")
    assert not any(ONLY_MENTIONS in one.text for one in deaf.lines(talk))


async def test_with_message_content_nothing_is_said_about_mentions(desk: DiscordDesk) -> None:
    desk.model.script(turn("Good morning to you."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Good morning to you.")
    assert not any(ONLY_MENTIONS in one.text for one in desk.lines(talk))


# The gateway


async def test_after_a_drop_the_bot_resumes_and_a_click_meanwhile_is_answered(desk: DiscordDesk) -> None:
    talk, shown = await fruit(desk)
    identified = desk.gateway.identified
    desk.gateway.drop()
    clicked = await desk.press(ADA, shown, "Pear")
    assert clicked.acked
    assert desk.gateway.identified == identified
    assert desk.gateway.resumed == 1
    await settled(desk, talk, "Pear")
    assert '"Pear"' in (await turn_of(desk, "fruit", 2)).result


async def test_after_a_drop_without_resume_the_bot_begins_anew_and_reads_what_it_missed(
    desk: DiscordDesk,
) -> None:
    desk.journal.announce("discord")
    talk, shown = await fruit(desk)
    identified = desk.gateway.identified
    desk.gateway.drop(resumable=False)
    await desk.say(BEN, "are you there?", talk)
    await until(lambda: desk.gateway.identified > identified, "it identifies anew", within=30)
    # Messages in between are looked up, because a new session does not receive them.
    await line(desk, talk, "once somebody answers")
    await desk.press(ADA, shown, "Pear")
    await settled(desk, talk, "Pear")
    await line(desk, talk, "So be it, then.")
    assert told(desk, "fruit")[-1].texts == ["ben: are you there?"]
    desk.model.script(turn("And I hear you."), when="anybody")
    await line(desk, await desk.mention(BEN, "anybody?"), "And I hear you.")


async def test_what_was_written_about_an_open_question_while_the_bot_was_away_is_read_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with discord.open_desk(tmp_path, monkeypatch, start=False) as desk:
        async with desk.bot():
            talk, shown = await fruit(desk)
            await desk.say(BEN, "before", talk)
            await line(desk, talk, "once somebody answers")
        await desk.say(ADA, "while you were away", talk)
        looked_up = desk.operations().count("list_messages")
        async with desk.bot():
            # The gateway delivers it before missed messages are looked up; it must not hide them.
            await desk.say(ADA, "after", talk)
            await until(lambda: desk.operations().count("list_messages") > looked_up, "it is looked up")
            # Messages read before the answer counts are sent with it; messages read later begin a turn.
            desk.model.script(*FRUIT, turn("That as well."), turn("And that."), when="fruit")
            await desk.press(ADA, shown, "Pear")
            await line(desk, talk, "So be it, then.")
            await until(lambda: len(told(desk, "fruit")[-1].all_texts) == 4, "all are heard")
    heard = told(desk, "fruit")[-1].all_texts[1:]
    assert sorted(heard) == ["ada: after", "ada: while you were away", "ben: before"]
    assert not desk.journal.unexpected()


async def test_an_invalid_session_is_replaced(desk: DiscordDesk) -> None:
    desk.journal.announce("discord")
    talk, shown = await fruit(desk)
    identified = desk.gateway.identified
    desk.gateway.invalidate()
    await until(lambda: desk.gateway.identified > identified, "it identifies anew", within=30)
    await desk.press(ADA, shown, "Pear")
    await settled(desk, talk, "Pear")


async def test_what_a_resume_delivers_a_second_time_counts_once(desk: DiscordDesk) -> None:
    desk.model.script(turn("Good morning to you."), turn("Again, good morning."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Good morning to you.")
    await desk.deliver_twice(1)
    await desk.say(ADA, "are you there?", talk)
    await line(desk, talk, "Again, good morning.")
    assert len(told(desk, "hello")) == 2


async def test_an_event_of_another_shape_than_discord_py_expects_does_not_end_the_bot(desk: DiscordDesk) -> None:
    desk.journal.announce("payload_failed")
    desk.model.script(turn("Good morning to you."), when="hello")
    connections = desk.connection_count()
    desk.gateway.dispatch("MESSAGE_CREATE", {})
    desk.gateway.dispatch("MESSAGE_CREATE", {"channel_id": "no number"})
    desk.gateway.dispatch("MESSAGE_CREATE", {"channel_id": [], "message_reference": {"message_id": "1"}})
    await line(desk, await desk.mention(ADA, "hello"), "Good morning to you.")
    assert desk.journal.actions().count("payload_failed") == 3
    assert desk.connection_count() == connections


async def ended_by(desk: DiscordDesk, code: int) -> None:
    async with desk.bot():
        await desk.gateway.close_all(code)
        await asyncio.wait_for(asyncio.Event().wait(), 10)


@pytest.mark.parametrize(("code", "words"), [(4004, "DISCORD_TOKEN"), (4014, "Message Content Intent")])
async def test_a_gateway_that_closes_for_good_ends_the_bot_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, words: str
) -> None:
    async with discord.open_desk(tmp_path, monkeypatch, start=False) as desk:
        with pytest.raises(OperatorError, match=words):
            await ended_by(desk, code)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("DISCORD_TOKEN", "wrong", "rejects DISCORD_TOKEN"),
        ("DISCORD_TOKEN", None, "DISCORD_TOKEN is missing"),
        ("ASKBACK_DISCORD_API_URL", "http://127.0.0.1:9", "Could not reach Discord"),
        ("ASKBACK_DISCORD_API_URL", "discord.com", "ASKBACK_DISCORD_API_URL"),
    ],
)
async def test_what_is_wrong_with_the_settings_reaches_whoever_runs_the_bot_as_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str | None, words: str
) -> None:
    async with discord.open_desk(tmp_path, monkeypatch, start=False):
        monkeypatch.delenv(name) if value is None else monkeypatch.setenv(name, value)
        with pytest.raises(OperatorError, match=words):
            async with open_host([get_bot("discord")], load(Settings)):
                raise AssertionError("it does not begin")


async def test_what_a_program_raises_in_the_block_comes_out_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with discord.open_desk(tmp_path, monkeypatch, start=False) as desk:
        with pytest.raises(ZeroDivisionError):
            async with desk.bot():
                _ = 1 / 0


# Events that Discord does not deliver again


async def test_a_message_that_can_never_be_stored_is_said_to_be_lost(
    desk: DiscordDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object, **__: object) -> bool:
        raise StoreBusy("the disk is full")

    desk.journal.announce("message_rejected", "message_lost")
    monkeypatch.setattr("askback_discord.events.SAVE_SECONDS", 0.7)
    monkeypatch.setattr(MessageRouter, "receive", full)
    talk = await desk.direct(ADA, "nobody will ever know")
    await until(lambda: any(one.text == NOT_HEARD for one in desk.lines(talk)), "it is said")


async def test_messages_of_one_thread_are_kept_in_their_order(desk: DiscordDesk) -> None:
    talk, shown = await fruit(desk)
    for number in range(20):
        await desk.say(ADA, f"note {number}", talk)
    await desk.press(ADA, shown, "Pear")
    await line(desk, talk, "So be it, then.")
    wanted = [f"ada: note {number}" for number in range(20)]
    await until(lambda: len(told(desk, "fruit")[-1].all_texts) == 21, "all are heard")
    assert told(desk, "fruit")[-1].all_texts[1:] == wanted


async def test_the_bot_needs_no_more_than_it_is_invited_with(desk: DiscordDesk) -> None:
    """Exactly the permissions of the invite are enough for a whole conversation."""
    general = desk.guild.place("general")
    assert general is not None
    wanted = (
        Permission.VIEW_CHANNEL
        | Permission.SEND_MESSAGES
        | Permission.CREATE_PUBLIC_THREADS
        | Permission.SEND_MESSAGES_IN_THREADS
        | Permission.READ_MESSAGE_HISTORY
    )
    desk.guild.put_place(replace(general, denied=int(~wanted & ((1 << 50) - 1))))
    talk, shown = await fruit(desk)
    desk.services.discord.posting.change_place(discord.archived(await desk.room(talk)))
    await until(lambda: not desk.guild.places[str(talk.thread)].archived, "it is opened")
    await desk.press(ADA, shown, "Pear")
    await settled(desk, talk, "Pear")
    await line(desk, talk, "So be it, then.")


async def test_a_gateway_that_acknowledges_no_heartbeat_is_used_all_the_same(desk: DiscordDesk) -> None:
    """Discord acknowledges each; a proxy in between may not. Only what has acknowledged one can fall silent."""
    desk.journal.announce("no_heartbeat_ack")
    desk.guild.faults.add(DiscordFault(kind="no_heartbeat_ack", times=None))
    await desk.lose_session()
    await until(lambda: "no_heartbeat_ack" in desk.journal.actions(), "the bot has noticed that", within=30)
    before = desk.connection_count()
    desk.model.script(turn("Over here."), when="hello")
    await line(desk, await desk.mention(ADA, "hello"), "Over here.")
    assert desk.connection_count() == before
    assert "gateway_silent" not in desk.journal.actions()
