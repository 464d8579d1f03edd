"""Two independent connections of the bot: an event that both receive, or that comes twice, counts once.

On Discord two sessions of one shard receive everything. On Slack each payload goes to one socket, but may be repeated
to the other one; here every click is. Two processes share only the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from askback_sandbox.model.script import Fault as Pause
from askback_sandbox.model.script import turn
from askback_sandbox.slack.faults import Fault

from . import discord, slack
from .driver import ADA, BEN, Desk, Talk, asks, asks_of, card, line, one, settled, told, turn_of, until
from .driver.conversations import trip
from .offers import USE, offer

SILENT = Pause(kind="stall", after=60)
STORY = "It begins here. " + "And then it goes on for a while. " * 14


@pytest.fixture
async def desk(platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    opened: discord.DiscordDesk | slack.SlackDesk
    ready: asyncio.Future[Desk] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def open_until_over() -> None:
        nonlocal opened
        if platform == "discord":
            async with discord.open_desk(tmp_path, monkeypatch, connections=2) as opened:
                ready.set_result(opened)
                await over.wait()
            return
        async with slack.open_desk(tmp_path, monkeypatch, connections=2) as opened:
            for method in ("interactive", "events_api"):
                opened.workspace.faults.add(Fault(kind="duplicate_events", method=method, times=None))
            ready.set_result(opened)
            await over.wait()

    task = asyncio.create_task(open_until_over())
    await asyncio.wait([task, ready], return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():
        await task
    found = ready.result()
    yield found
    over.set()
    await task
    assert not found.journal.unexpected(), "\n".join(found.journal.unexpected())
    assert "card_left" not in found.journal.actions(), "the second of two leaves nothing to anybody"


async def fruit(desk: Desk, **more: bool) -> Talk:
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear", **more))), turn("Enjoy it."), when="fruit")
    return await desk.mention(ADA, "fruit, please")


async def test_a_mention_that_both_hear_is_answered_once(desk: Desk) -> None:
    desk.model.script(turn("Hello there."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Hello there.")
    assert [said.text for said in desk.lines(talk) if said.bot] == ["Hello there."]
    assert len(told(desk, "hello")) == 1


async def test_a_click_that_both_hear_counts_once_and_nobody_is_told_otherwise(desk: Desk) -> None:
    talk = await fruit(desk)
    clicked = await desk.press(ADA, await card(desk, talk, "Which fruit?"), "Pear")
    assert clicked.acked
    await settled(desk, talk, "Pear")
    assert '"Which fruit?"="Pear"' in (await turn_of(desk, "fruit", 2)).result
    await line(desk, talk, "Enjoy it.")
    assert (desk.notices(ADA), len(desk.cards(talk)), len(told(desk, "fruit"))) == ((), 1, 2)


async def test_a_form_is_gone_through_without_a_word_of_steps_that_have_passed(desk: Desk) -> None:
    talk, first = await trip(desk)
    await desk.press(ADA, first, "Oslo")
    await desk.pick(ADA, await card(desk, talk, "What to pack?"), "Boots", "Map")
    await desk.press(ADA, await card(desk, talk, "✓"), "Next")
    await desk.press(ADA, await card(desk, talk, "3 of 3"), "May")
    await desk.press(ADA, await card(desk, talk, "Review your answers"), "Back")
    await desk.press(ADA, await card(desk, talk, "3 of 3"), "June")
    await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
    await settled(desk, talk, "Answered")
    result = (await turn_of(desk, "trip", 2)).result
    assert '"Where to?"="Oslo", "What to pack?"="Boots, Map", "When?"="June"' in result
    assert desk.notices(ADA) == ()


async def test_a_text_is_one_answer_and_no_message_beside(desk: Desk) -> None:
    talk = await fruit(desk)
    await desk.open_field(ADA, await card(desk, talk, "Which fruit?"))
    assert await desk.submit(ADA, "Quince") == ()
    await settled(desk, talk, "Quince")
    await line(desk, talk, "Enjoy it.")
    assert '"Which fruit?"="Quince"' in (await turn_of(desk, "fruit", 2)).result
    assert (desk.notices(ADA), len(told(desk, "fruit"))) == ((), 2), "the agent hears it once"


async def test_a_text_that_breaks_the_rules_is_given_back_once(desk: Desk) -> None:
    talk = await fruit(desk)
    await desk.open_field(ADA, await card(desk, talk, "Which fruit?"))
    assert len(await desk.submit(ADA, "x" * 1001)) == 1
    assert len(desk.notices(ADA)) <= 1
    assert await desk.submit(ADA, "Quince") == ()
    await settled(desk, talk, "Quince")
    assert '"Which fruit?"="Quince"' in (await turn_of(desk, "fruit", 2)).result


async def test_not_now_is_heard_once(desk: Desk) -> None:
    talk = await fruit(desk)
    await desk.open_field(ADA, await card(desk, talk, "Which fruit?"), "Not now")
    assert await desk.submit(ADA, "Ask me on Monday") == ()
    await settled(desk, talk, "Monday")
    await line(desk, talk, "Enjoy it.")
    assert len(told(desk, "fruit")) == 2


async def test_two_opposite_clicks_are_one_answer_and_the_loser_is_told(desk: Desk) -> None:
    talk = await fruit(desk)
    shown = await card(desk, talk, "Which fruit?")
    await asyncio.gather(desk.press(ADA, shown, "Pear"), desk.press(ADA, shown, "Apple"))
    await settled(desk, talk, "Answered")
    result = (await turn_of(desk, "fruit", 2)).result
    assert ('"Pear"' in result) != ('"Apple"' in result)
    await until(lambda: desk.notices(ADA), "the one that came late is told")
    assert all("has already been answered" in said for said in desk.notices(ADA))
    if desk.platform == "discord":
        assert len(desk.notices(ADA)) == 1, "an interaction takes one answer"


async def test_a_stop_that_both_hear_stops_once(desk: Desk) -> None:
    desk.model.script(turn(STORY, SILENT), when="story")
    talk = await desk.mention(ADA, "story")
    await line(desk, talk, "It begins")
    await until(lambda: desk.can_stop(talk), "there is a button to stop it")
    await desk.stop(ADA, talk)
    await line(desk, talk, "Stopped by")
    await until(lambda: not desk.can_stop(talk), "the button goes")
    assert len([said for said in desk.lines(talk) if said.text.startswith("Stopped by")]) == 1
    assert desk.notices(ADA) == ()


async def test_an_offer_is_taken_once(desk: Desk) -> None:
    talk = await fruit(desk)
    await card(desk, talk, "Which fruit?")
    await desk.say(ADA, "whatever is ripe", talk)
    await desk.press(ADA, await offer(desk, talk), USE)
    await settled(desk, talk, "whatever is ripe")
    assert '"Which fruit?"="whatever is ripe"' in (await turn_of(desk, "fruit", 2)).result
    await line(desk, talk, "Enjoy it.")
    assert len(told(desk, "fruit")) == 2


async def test_a_menu_of_many_is_served_by_any_connection(desk: Desk) -> None:
    desk.model.script(
        turn(asks_of("Which city?", [f"City {index}" for index in range(1, 151)])), turn("Go."), when="go"
    )
    talk = await desk.mention(ADA, "go")
    await desk.pick(ADA, await card(desk, talk, "Which city?"), "City 142")
    await settled(desk, talk, "City 142")
    await line(desk, talk, "Go.")
    assert (desk.notices(ADA), len(told(desk, "go"))) == ((), 2)


async def test_who_may_not_stop_is_told_and_nothing_else_happens(desk: Desk) -> None:
    desk.model.script(turn(STORY, SILENT), when="story")
    talk = await desk.mention(ADA, "story")
    await line(desk, talk, "It begins")
    await until(lambda: desk.can_stop(talk), "there is a button to stop it")
    await desk.stop(BEN, talk)
    await until(lambda: desk.notices(BEN), "ben is told")
    assert all("Only ada, who began this" in said for said in desk.notices(BEN))
    await until(lambda: desk.can_stop(talk), "it goes on")
