"""Stopping the bot's work: the platform's own button, a word, and the people who may."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from askback.store.store import Store
from askback_discord.posting import DiscordPlatform
from askback_discord.streaming import DiscordTextStream
from askback_sandbox.model.script import Fault, turn
from askback_sandbox.slack.values import Session

from . import discord
from .discord import DiscordDesk
from .driver import (
    ADA,
    BEN,
    CY,
    RELEASE,
    Desk,
    PlatformTests,
    Talk,
    asks,
    cancel,
    card,
    line,
    one,
    settled,
    told,
    turn_of,
    until,
)
from .slack import SlackDesk

PROSE = "It begins here. " + "And then it goes on for a while. " * 14 + "Here it ends."
SILENT = Fault(kind="stall", after=60)
NOTHING = "There is nothing to stop here."


class KilledError(Exception):
    """Ends a bot without waiting for anything."""


async def at_work(desk: Desk, person: str = ADA) -> Talk:
    """Return a conversation in which the model stalls while it writes; the second request gets the full text."""
    desk.model.script(turn(PROSE, SILENT), when="story")
    talk = await desk.mention(person, "story")
    await line(desk, talk, "It begins")
    await until(lambda: desk.can_stop(talk), "there is a button to stop it")
    return talk


def stops(desk: Desk, talk: Talk) -> list[str]:
    return [said.text for said in desk.lines(talk) if said.bot and said.text.startswith("Stopped by")]


async def at_rest(desk: Desk, talk: Talk) -> None:
    """Check that the platform no longer shows the bot as working there."""
    await until(lambda: not desk.can_stop(talk) and desk.mood(talk) is None, "no button to stop remains")


async def test_the_button_ends_the_turn_and_goes(desk: Desk) -> None:
    talk = await at_work(desk)
    await desk.stop(ADA, talk)
    await line(desk, talk, "Stopped by ada.")
    await at_rest(desk, talk)
    assert not any("Here it ends." in said.text for said in desk.lines(talk))
    assert any(said.text.startswith("It begins") for said in desk.lines(talk)), "what was read stays"
    await desk.say(ADA, "are you there?", talk)
    await line(desk, talk, "Here it ends.")
    # An interrupted request may be logged after the one that follows it.
    newest = await until(lambda: next((one for one in told(desk, "story") if len(one.texts) > 1), None), "it is heard")
    assert newest.texts[-1] == "ada: are you there?"
    assert any("stopped you here" in text for text in newest.all_texts)
    await at_rest(desk, talk)


async def test_somebody_else_is_told_privately_that_they_may_not(desk: Desk) -> None:
    talk = await at_work(desk)
    await desk.stop(BEN, talk)
    await until(lambda: desk.notices(BEN), "ben is told")
    assert desk.notices(BEN) == ("Only ada, who began this, or an administrator may stop it.",)
    assert desk.can_stop(talk), "the work goes on, and can be stopped"
    assert not stops(desk, talk)
    await desk.stop(ADA, talk)
    await at_rest(desk, talk)


async def test_an_administrator_may_stop_what_others_began(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests_of.allow(monkeypatch, admins=[CY], admin_groups=[RELEASE])
    async with tests_of.open_desk(tmp_path, monkeypatch) as desk:
        for person in (CY, ADA):  # one of them by name, the other as a member of the group
            desk.model.script(turn(PROSE, SILENT), when=f"story for {person}")
            talk = await desk.mention(BEN, f"story for {person}")
            await line(desk, talk, "It begins")
            await until(lambda talk=talk: desk.can_stop(talk), "there is a button to stop it")
            await desk.stop(person, talk)
            await line(desk, talk, f"Stopped by {person}.")
            await at_rest(desk, talk)


async def test_an_administrator_may_cancel_a_question_that_is_for_others(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests_of.allow(monkeypatch, admins=[CY], admin_groups=[RELEASE])
    async with tests_of.open_desk(tmp_path, monkeypatch) as desk:
        for person in (CY, ADA):
            desk.model.script(turn(asks(one(f"Which fruit, {person}?", "Apple", "Pear"))), when=f"fruit for {person}")
            talk = await desk.mention(BEN, f"fruit for {person}")
            await cancel(desk, person, await card(desk, talk, f"Which fruit, {person}?"))
            await settled(desk, talk, "Cancelled")


@pytest.mark.parametrize("word", ["stop", "Cancel."])
async def test_a_word_ends_the_turn_as_well_and_no_button_remains(desk: Desk, word: str) -> None:
    talk = await at_work(desk)
    await desk.say(ADA, word, talk)
    await line(desk, talk, "Stopped by ada.")
    await at_rest(desk, talk)


async def test_a_word_with_a_mention_stops_once(desk: Desk) -> None:
    """A mention may arrive as two events; the second must not answer that there is nothing to stop."""
    talk = await at_work(desk)
    await desk.deliver_twice(1)
    await desk.mention_in(ADA, "stop", talk)
    await line(desk, talk, "Stopped by ada.")
    await at_rest(desk, talk)
    await desk.say(ADA, "are you there?", talk)
    await line(desk, talk, "Here it ends.")
    assert not desk.replies(ADA)
    assert len(stops(desk, talk)) == 1


async def test_a_stop_settles_the_open_question_and_the_model_hears_of_it_once(desk: Desk) -> None:
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("As you wish."), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    await card(desk, talk, "Which fruit?")
    await desk.say(ADA, "stop", talk)
    over = await settled(desk, talk, "Which fruit?")
    assert "Cancelled" in over.text
    await at_rest(desk, talk)
    await desk.say(ADA, "something else, then", talk)
    second = await turn_of(desk, "fruit", 2)
    assert len(second.results) == 1
    assert second.texts[-1] == "ada: something else, then"


async def test_a_new_beginning_ends_what_went_on(desk: Desk) -> None:
    talk = await at_work(desk)
    await desk.say(ADA, "new", talk)
    await line(desk, talk, "This is a new conversation")
    await at_rest(desk, talk)


# Slack


@pytest.mark.only("slack", reason="Discord has no sessions of agents")
async def test_a_session_that_a_dead_process_left_behind_comes_to_rest(desk: SlackDesk) -> None:
    desk.model.script(turn("Good morning to you."))
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Good morning to you.")
    await at_rest(desk, talk)
    assert talk.thread is not None
    desk.workspace.put_session(Session(channel=talk.channel, thread_ts=talk.thread, status="processing"))
    await desk.stop(ADA, talk)
    await at_rest(desk, talk)
    await until(lambda: desk.notices(ADA) == (NOTHING,), "ada is told")


@pytest.mark.only("slack", reason="Discord's clicks are no events")
async def test_a_stop_that_comes_twice_stops_once(desk: SlackDesk) -> None:
    talk = await at_work(desk)
    await desk.deliver_twice(1)
    await desk.stop(ADA, talk)
    await line(desk, talk, "Stopped by ada.")
    await at_rest(desk, talk)
    await desk.say(ADA, "are you there?", talk)
    await line(desk, talk, "Here it ends.")
    assert not desk.notices(ADA)


# Discord


@pytest.mark.only("discord", reason="Slack has its own Stop from the beginning")
async def test_before_there_is_anything_to_read_there_is_a_button_after_a_while(
    desk: DiscordDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askback_discord.streaming.SILENT_SECONDS", 0.05)
    desk.model.script(turn(PROSE, Fault(kind="stall", after=0)), when="story")
    talk = await desk.mention(ADA, "story")
    await line(desk, talk, "Working…")
    await desk.stop(ADA, talk)
    await line(desk, talk, "Stopped by ada.")
    await at_rest(desk, talk)
    assert not any("Working…" in said.text for said in desk.lines(talk))


@pytest.mark.only("discord", reason="Slack has its own Stop from the beginning")
async def test_the_text_stands_in_the_place_of_that_button(desk: DiscordDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askback_discord.streaming.SILENT_SECONDS", 0.05)
    monkeypatch.setattr("askback_discord.streaming.FIRST_CHARACTERS", 100)
    desk.model.delay = 0.05
    desk.model.script(turn(PROSE), when="story")
    talk = await desk.mention(ADA, "story")
    await line(desk, talk, "Working…")
    ((placeholder, _),) = desk.stop_buttons(talk)
    await line(desk, talk, "Here it ends.")
    await at_rest(desk, talk)
    own = [post for post in desk.guild.history(placeholder.channel) if post.author == desk.guild.bot.id]
    assert [post.id for post in own] == [placeholder.id]


@pytest.mark.only("discord", reason="Slack has its own Stop from the beginning")
@pytest.mark.parametrize("ending", [(), (asks(one("Which fruit?", "Apple", "Pear")),)], ids=["a text", "a question"])
async def test_that_button_goes_although_the_answer_to_its_posting_was_lost(
    desk: DiscordDesk, monkeypatch: pytest.MonkeyPatch, ending: tuple[Any, ...]
) -> None:
    monkeypatch.setattr("askback_discord.streaming.SILENT_SECONDS", 0.05)
    # Nothing of the text is shown before the placeholder's answer is lost.
    monkeypatch.setattr("askback_discord.streaming.FIRST_CHARACTERS", 30)
    desk.lose_answer("post")
    desk.model.delay = 0.1
    desk.model.script(turn(PROSE, *ending), when="story")
    talk = await desk.mention(ADA, "story")
    await line(desk, talk, "Working…")
    await line(desk, talk, "Here it ends.")
    if ending:
        await card(desk, talk, "Which fruit?")
    await at_rest(desk, talk)
    assert not any("Working…" in said.text for said in desk.lines(talk))
    assert not desk.stop_buttons(talk)


@pytest.mark.only("discord", reason="Slack has its own Stop from the beginning")
async def test_a_question_without_a_text_takes_that_button_away(
    desk: DiscordDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askback_discord.streaming.SILENT_SECONDS", 0.05)
    desk.model.delay = 0.1
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    await line(desk, talk, "Working…")
    await card(desk, talk, "Which fruit?")
    await at_rest(desk, talk)
    assert not any("Working…" in said.text for said in desk.lines(talk))


@pytest.mark.only("discord", reason="Slack has its own Stop from the beginning")
async def test_that_button_goes_before_a_turn_without_a_text_is_committed(
    desk: DiscordDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would look for the button if the process died right after the commit."""
    monkeypatch.setattr("askback_discord.streaming.SILENT_SECONDS", 0.05)
    end_turn, left = Store.end_turn, []

    async def ending(self: Store, *args: Any) -> Any:
        left.append(desk.stop_buttons(talk))
        return await end_turn(self, *args)

    monkeypatch.setattr(Store, "end_turn", ending)
    desk.model.delay = 0.1
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    await line(desk, talk, "Working…")
    await card(desk, talk, "Which fruit?")
    assert [*map(len, left)] == [0]


@pytest.mark.only("discord", reason="Slack shows Stop by the session, not by a message")
async def test_a_button_that_was_left_over_says_so_and_goes(desk: DiscordDesk) -> None:
    talk = await at_work(desk)
    ((post, control),) = desk.stop_buttons(talk)
    await desk.stop(ADA, talk)
    await at_rest(desk, talk)
    desk.services.discord.posting.change(post)  # the button is back, as if the process had died
    await desk.press_stop(ADA, post, control)
    await until(lambda: desk.notices(ADA) == (NOTHING,), "ada is told")
    await at_rest(desk, talk)
    assert desk.guild.posts[post.id].content == post.content


@pytest.mark.only("discord", reason="Slack shows Stop by the session, not by a message")
async def test_after_a_restart_in_the_middle_the_text_goes_on_in_its_message_and_the_button_goes(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(_: DiscordTextStream) -> None:
        """Remove nothing, like a killed process."""

    async with discord.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.script(turn(PROSE, SILENT), when="story")
        with monkeypatch.context() as dead, suppress(KilledError):
            dead.setattr(DiscordTextStream, "abandon", nothing)
            async with desk.bot():
                talk = await desk.mention(ADA, "story")
                await line(desk, talk, "It begins")
                raise KilledError
        ((post, _),) = desk.stop_buttons(talk)
        async with desk.bot():
            await line(desk, talk, "Here it ends.")
            await at_rest(desk, talk)
            own = [one for one in desk.guild.history(post.channel) if one.author == desk.guild.bot.id]
            assert [one.id for one in own] == [post.id]
    assert not desk.journal.unexpected()


@pytest.mark.only("discord", reason="Slack shows Stop by the session, not by a message")
async def test_a_text_in_the_words_of_the_placeholder_is_kept_when_its_button_goes(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with discord.open_desk(tmp_path, monkeypatch) as desk:
        desk.model.script(turn("Here."), when="hello")
        talk = await desk.mention(ADA, "hello")
        await line(desk, talk, "Here.")
        shown = desk.host.connections["discord"].platform
        assert isinstance(shown, DiscordPlatform)
        placeholder = await shown.post_placeholder(desk.place(talk), "text:1")
        text = await shown.write_text(desk.place(talk), "Working…", (), "text:2", being_written=True)
        for messages in (placeholder, text):
            await shown.remove_stop_button(messages, worded=None)
        assert [one.text for one in desk.lines(talk) if one.bot] == ["Here.", "Working…"]
        assert desk.stop_buttons(talk) == []


@pytest.mark.only("discord", reason="Slack shows Stop by the session, not by a message")
async def test_after_a_restart_one_message_is_left_of_those_whose_posting_was_not_confirmed(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(*_: object, **__: object) -> tuple[()]:
        """Find and remove nothing, like a process that is killed before its calls arrive."""
        return ()

    monkeypatch.setattr("askback_discord.streaming.SILENT_SECONDS", 0.05)
    async with discord.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.delay = 0.1
        desk.model.script(turn(PROSE, SILENT), when="story")
        with monkeypatch.context() as dead, suppress(KilledError):
            dead.setattr(DiscordTextStream, "abandon", nothing)
            dead.setattr(DiscordPlatform, "find_posted", nothing)
            dead.setattr("askback_discord.streaming.FIRST_CHARACTERS", 30)
            async with desk.bot():
                desk.lose_answer("post", times=2)
                talk = await desk.mention(ADA, "story")
                await until(lambda: len(desk.stop_buttons(talk)) == 2, "a placeholder and the text")
                raise KilledError
        async with desk.bot():
            await line(desk, talk, "Here it ends.")
            await at_rest(desk, talk)
            await until(lambda: [said.text for said in desk.lines(talk) if said.bot] == [PROSE], "one text is left")


@pytest.mark.only("discord", reason="Slack shows Stop by the session, not by a message")
async def test_a_text_whose_place_nobody_recorded_is_gone_on_with_although_people_wrote_more_before_the_restart(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(*_: object) -> None:
        """Remove and record nothing, like a killed process."""

    def messages(connection: Connection) -> int:
        return connection.execute(text("SELECT count(*) FROM inbox")).scalar_one()

    async with discord.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.script(turn(PROSE, SILENT), when="story")
        with monkeypatch.context() as dead, suppress(KilledError):
            dead.setattr(DiscordTextStream, "abandon", nothing)
            dead.setattr("askback.store.store.Store.set_text_messages", nothing)
            async with desk.bot():
                talk = await desk.mention(ADA, "story")
                await line(desk, talk, "It begins")
                raise KilledError
        ((post, _),) = desk.stop_buttons(talk)
        with monkeypatch.context() as silent:
            # The message arrives before the turn restarts: another process takes the message, and the turn only later.
            silent.setattr("askback.agent.loop.Agent.advance", nothing)
            async with desk.bot():
                await desk.say(ADA, "are you there? the story!", talk)
                while await desk.host.store._database.read(messages) < 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        async with desk.bot():
            await line(desk, talk, "Here it ends.")
            await at_rest(desk, talk)
            own = [one for one in desk.guild.history(post.channel) if one.author == desk.guild.bot.id]
            assert [one.id for one in own] == [post.id]
    assert not desk.journal.unexpected()


@pytest.mark.only("discord", reason="Slack shows Stop by the session, not by a message")
async def test_after_a_restart_before_anything_was_said_the_button_alone_goes(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(_: DiscordTextStream) -> None:
        """Remove nothing, like a killed process."""

    monkeypatch.setattr("askback_discord.streaming.SILENT_SECONDS", 0.05)
    async with discord.open_desk(tmp_path, monkeypatch, start=False) as desk:
        asking = turn(asks(one("Which fruit?", "Apple", "Pear")), Fault(kind="stall", after=0))
        desk.model.script(asking, when="fruit")
        with monkeypatch.context() as dead, suppress(KilledError):
            dead.setattr(DiscordTextStream, "abandon", nothing)
            async with desk.bot():
                talk = await desk.mention(ADA, "fruit, please")
                await line(desk, talk, "Working…")
                await until(lambda: desk.model._numbers > 0, "the model is asked")
                raise KilledError
        assert desk.stop_buttons(talk)
        async with desk.bot():
            await card(desk, talk, "Which fruit?")
            await at_rest(desk, talk)
            assert not any("Working…" in said.text for said in desk.lines(talk))
    assert not desk.journal.unexpected()
