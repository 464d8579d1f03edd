"""A message or a question after an open question settles its card visibly, or leaves its buttons working."""

from __future__ import annotations

import asyncio

import pytest

from askback_sandbox.model.script import turn

from .driver import (
    ADA,
    BEN,
    Card,
    Desk,
    Talk,
    asks,
    card,
    form_of,
    line,
    one,
    program_asks,
    settled,
    turn_of,
    until,
)

WAITS = "I will continue once"


async def fruit(desk: Desk) -> tuple[Talk, Card]:
    """Let the agent ask, on ada's request."""
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it, then."), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    return talk, await card(desk, talk)


async def known(desk: Desk) -> None:
    """Wait until the bot has recorded where the cards are."""
    async with asyncio.timeout(30):
        while not all(ask.messages for ask in await desk.host.manager.list_open_asks()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("writer", [ADA, BEN])
async def test_another_message_leaves_the_buttons_working(desk: Desk, writer: str) -> None:
    talk, shown = await fruit(desk)
    await desk.say(writer, "by the way, do something else instead", talk)
    await until(
        lambda: any(WAITS in one.text for one in desk.lines(talk)) or desk.notices(writer) or desk.replies(writer),
        "they are told that the question waits",
    )
    assert (await card(desk, talk)).id == shown.id
    await desk.press(ADA, shown, "Pear")
    assert "Pear" in (await settled(desk, talk, "Which fruit?")).text
    await line(desk, talk, "So be it, then.")


async def test_a_stop_settles_each_open_card_and_says_who_stopped(desk: Desk) -> None:
    desk.model.script(turn(asks(one("First?", "A", "B")), asks(one("Second?", "C", "D"))), when="two")
    talk = await desk.mention(ADA, "two, please")
    await card(desk, talk, "First?")
    await card(desk, talk, "Second?")
    await known(desk)
    await desk.say(ADA, "stop", talk)
    for question in ("First?", "Second?"):
        over = await settled(desk, talk, question)
        assert "Cancelled" in over.text
        assert " by " in over.text
    await line(desk, talk, "Stopped by ada.")


async def test_a_new_beginning_settles_the_card_and_says_who_began_anew(desk: Desk) -> None:
    talk, _ = await fruit(desk)
    await known(desk)
    await desk.say(ADA, "new", talk)
    over = await settled(desk, talk, "Which fruit?")
    assert "Cancelled" in over.text
    assert " by " in over.text
    assert "A new conversation began here." in over.text


@pytest.mark.parametrize("change", ["edit", "deletion"])
async def test_a_change_of_the_message_that_began_it_leaves_the_buttons_working(desk: Desk, change: str) -> None:
    talk, shown = await fruit(desk)
    await known(desk)
    if change == "edit":
        await desk.edit(ADA, "vegetables, please", talk)
    else:
        await desk.take_back(ADA, talk)
    await desk.press(ADA, shown, "Pear")
    assert "Pear" in (await settled(desk, talk, "Which fruit?")).text
    assert '"Which fruit?"="Pear"' in (await turn_of(desk, "fruit", 2)).result


@pytest.mark.parametrize("order", ["stop", "new"])
async def test_the_question_of_a_program_outlives_the_end_of_the_conversation_around_it(desk: Desk, order: str) -> None:
    talk, _ = await fruit(desk)
    async with program_asks(desk, talk, form_of("Deploy?", ["Yes", "No"])) as asked:
        shown = await card(desk, talk, "Deploy?")
        await known(desk)
        await desk.say(ADA, order, talk)
        await settled(desk, talk, "Which fruit?")
        await desk.press(ADA, shown, "No")
        outcome = await asked.outcome()
        assert [answer.labels for answer in outcome.answers] == [("No",)]
        assert "No" in (await settled(desk, talk, "Deploy?")).text


async def test_the_answer_to_one_question_leaves_the_other_card_working(desk: Desk) -> None:
    desk.model.script(
        turn(asks(one("First?", "A", "B")), asks(one("Second?", "C", "D"))), turn("So be it, then."), when="two"
    )
    talk = await desk.mention(ADA, "two, please")
    first, second = await card(desk, talk, "First?"), await card(desk, talk, "Second?")
    await desk.press(ADA, first, "A")
    await settled(desk, talk, "First?")
    await desk.press(ADA, second, "D")
    assert "D" in (await settled(desk, talk, "Second?")).text
    await line(desk, talk, "So be it, then.")
