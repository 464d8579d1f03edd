"""The bot's visible status while it works and waits, and that it disturbs nothing."""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import Any

import pytest

from askback_sandbox.model.script import Fault, turn
from askback_sandbox.slack import limits as slack_limits
from askback_sandbox.slack.faults import Fault as Slow

from .discord import DiscordDesk
from .driver import ADA, Desk, asks, at_rest, card, line, one, until
from .driver.conversations import PROSE
from .slack import SlackDesk

SESSION, LINE = "agents.sessions.setStatus", "assistant.threads.setStatus"


def statuses(desk: SlackDesk, method: str = SESSION) -> list[str]:
    """Return the statuses that the bot set, in order, as far as Slack accepted them."""
    return [str(call.arguments.get("status")) for call in desk.workspace.log if call.method == method]


async def test_it_works_and_then_nothing_goes_on(desk: Desk) -> None:
    desk.model.delay = 0.05
    desk.model.script(turn(PROSE[:200] + " Here it ends."), when="story")
    talk = await desk.mention(ADA, "story")
    await until(lambda: desk.mood(talk) == "working", "it works")
    await line(desk, talk, "Here it ends.")
    await at_rest(desk, talk)


async def test_in_a_direct_message_it_works_as_anywhere(desk: Desk) -> None:
    desk.model.script(turn("Just the two of us."), when="psst")
    talk = await desk.direct(ADA, "psst")
    await line(desk, talk, "Just the two of us.")
    await at_rest(desk, talk)
    assert not [record for record in desk.journal.records if record.levelno >= logging.WARNING]


# Slack


@pytest.mark.only("slack", reason="Discord shows nothing but typing")
async def test_a_session_is_suspended_while_people_are_asked(desk: SlackDesk) -> None:
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it, then."), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    shown = await card(desk, talk)
    await until(lambda: desk.mood(talk) == "waiting", "it waits")
    await until(lambda: "is waiting for an answer" in statuses(desk, LINE), "and says so")
    await desk.press(ADA, shown, "Pear")
    await line(desk, talk, "So be it, then.")
    await at_rest(desk, talk)
    assert statuses(desk) == ["processing", "suspended", "processing", "active"]


@pytest.mark.only("slack", reason="Discord shows nothing but typing")
@pytest.mark.parametrize("code", ["unknown_method", "missing_scope", "not_allowed_token_type", "feature_not_enabled"])
async def test_what_is_not_there_is_asked_for_once_and_nobody_hears_of_it(desk: SlackDesk, code: str) -> None:
    for method in (SESSION, LINE):
        desk.workspace.faults.fail(method, code, times=None)
    desk.model.script(turn("Good morning to you."), turn("Still here, of course."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Good morning to you.")
    await until(lambda: len(statuses(desk, LINE)) == 1, "it was tried")
    await desk.say(ADA, "are you there?", talk)
    await line(desk, talk, "Still here, of course.")
    other = await desk.mention(ADA, "hello again")
    await line(desk, other, "Good morning to you.")
    assert len(statuses(desk)) == len(statuses(desk, LINE)) == 1
    assert not [record for record in desk.journal.records if record.levelno >= logging.WARNING]


@pytest.mark.only("slack", reason="Discord shows nothing but typing")
async def test_where_there_are_no_sessions_the_line_alone_is_shown(desk: SlackDesk) -> None:
    desk.workspace.faults.fail(SESSION, "unknown_method", times=None)
    desk.model.script(turn(PROSE, Fault(kind="stall", after=0)), when="story")
    talk = await desk.mention(ADA, "story")
    await until(lambda: [one.text for one in desk.workspace.statuses] == ["is working…"], "it says that it works")
    await desk.say(ADA, "stop", talk)
    await line(desk, talk, "Stopped by ada.")
    await until(lambda: not desk.workspace.statuses, "and no more")


@pytest.mark.only("slack", reason="Discord shows nothing but typing")
async def test_too_often_is_tried_again_when_slack_says(desk: SlackDesk) -> None:
    desk.workspace.faults.ratelimit(SESSION, retry_after=1)
    desk.model.script(turn(PROSE, Fault(kind="stall", after=0)), when="story")
    talk = await desk.mention(ADA, "story")
    await until(lambda: desk.mood(talk) == "working", "it is shown in the end")
    assert statuses(desk)[:2] == ["processing", "processing"]


@pytest.mark.only("slack", reason="Discord shows nothing but typing")
async def test_only_the_newest_mood_matters_and_none_is_told_twice(desk: SlackDesk) -> None:
    """The bot finishes three turns while Slack delays the first status."""
    desk.workspace.faults.add(Slow(kind="delay", method=SESSION, seconds=1.0))
    desk.model.script(*(turn(f"Answer number {number}.") for number in range(3)), when="hello")
    talk = await desk.mention(ADA, "hello")
    for number in range(3):
        await line(desk, talk, f"Answer number {number}.")
        if number < 2:
            await desk.say(ADA, "and?", talk)
    await until(lambda: statuses(desk)[-1:] == ["active"], "it comes to rest")
    await at_rest(desk, talk)
    shown = statuses(desk)
    assert all(before != after for before, after in pairwise(shown)), shown


@pytest.mark.only("slack", reason="Discord shows nothing but typing")
async def test_the_line_is_set_again_before_slack_takes_it_away(
    desk: SlackDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askback_slack.status.LINE_SECONDS", 0.05)
    desk.model.script(turn(PROSE, Fault(kind="stall", after=0)), when="story")
    await desk.mention(ADA, "story")
    await until(lambda: statuses(desk, LINE).count("is working…") >= 4, "it is set again and again")
    assert statuses(desk) == ["processing"], "the session holds by itself"


@pytest.mark.only("slack", reason="Discord has no streams")
async def test_a_stream_that_slack_ends_goes_on_by_edits(desk: SlackDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slack_limits, "STREAM_SECONDS", 0.5)  # five minutes
    monkeypatch.setattr("askback_slack.streaming.EDIT_SECONDS", 0.1)
    desk.model.delay = 0.05
    desk.model.script(turn(PROSE), when="story")
    talk = await desk.mention(ADA, "story")
    await line(desk, talk, "Here it ends.")
    await at_rest(desk, talk)
    (whole,) = (said for said in desk.lines(talk) if said.bot)
    assert whole.text.strip() == PROSE
    used = [method for method, _ in desk.api_calls()]
    assert used.count("chat.startStream") == 1
    assert used.count("chat.update") >= 2, "it went on, and did not only end"
    assert "chat.postMessage" not in used, "in the same message"


# Discord


def typed(desk: DiscordDesk) -> int:
    return desk.operations().count("trigger_typing_indicator")


def rooms(desk: DiscordDesk) -> list[str]:
    """Return the places where the bot still shows the typing indicator."""
    platform: Any = desk.host.platforms["discord"]
    return [*platform._status._typing]


@pytest.mark.only("discord", reason="Slack has other signs")
async def test_it_types_again_and_again_until_it_is_stopped(desk: DiscordDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askback_discord.status.TYPING_SECONDS", 0.05)
    monkeypatch.setattr("askback_discord.status.THREAD_SECONDS", 0.05)
    desk.model.script(turn(PROSE, Fault(kind="stall", after=0)), when="story")
    talk = await desk.mention(ADA, "story")
    await until(lambda: typed(desk) >= 4, "it types again and again")
    assert rooms(desk) == [talk.thread]
    await desk.say(ADA, "stop", talk)
    await line(desk, talk, "Stopped by ada.")
    await until(lambda: not rooms(desk), "it types no more")


@pytest.mark.only("discord", reason="Slack has other signs")
async def test_it_types_only_until_there_is_something_to_read(desk: DiscordDesk) -> None:
    desk.model.script(turn(PROSE, Fault(kind="stall", after=60)), when="story")
    talk = await desk.mention(ADA, "story")
    await line(desk, talk, "It begins")
    await until(lambda: not rooms(desk), "it types no more, though it goes on working")
    assert typed(desk) >= 1
    assert desk.can_stop(talk)


@pytest.mark.only("discord", reason="Slack has other signs")
async def test_it_does_not_type_while_it_waits_for_people(desk: DiscordDesk) -> None:
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    await card(desk, talk)
    await until(lambda: not rooms(desk), "it types no more")


@pytest.mark.only("discord", reason="Slack has other signs")
async def test_where_it_may_not_type_it_tries_once(desk: DiscordDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askback_discord.status.TYPING_SECONDS", 0.01)
    desk.guild.faults.fail("trigger_typing_indicator", 403, 50013, times=None)
    desk.model.script(turn(PROSE, Fault(kind="stall", after=0)), turn("Still here, of course."), when="hello")
    talk = await desk.direct(ADA, "hello")
    await until(lambda: typed(desk) == 1, "it was tried")
    await until(lambda: desk.model._numbers > 0, "the model is asked")
    await desk.say(ADA, "stop", talk)
    await line(desk, talk, "Stopped by ada.")
    await desk.say(ADA, "are you there?", talk)
    await line(desk, talk, "Here it ends.")
    assert typed(desk) == 1
    assert not [record for record in desk.journal.records if record.levelno >= logging.WARNING]
