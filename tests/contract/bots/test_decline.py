"""The answer "Not now": a way to decline a question that says more than Cancel."""

from __future__ import annotations

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
    notice,
    one,
    program_asks,
    settled,
    turn_of,
)

NOT_NOW = "Not now…"


async def fruit(desk: Desk) -> tuple[Talk, Card]:
    desk.model.script(
        turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it, then."), turn("I see."), when="fruit"
    )
    talk = await desk.mention(ADA, "fruit, please")
    return talk, await card(desk, talk)


async def test_it_stands_beside_cancel_at_the_end(desk: Desk) -> None:
    _, shown = await fruit(desk)
    assert shown.buttons[-2:] == (NOT_NOW, "Cancel")


@pytest.mark.parametrize("reason", ["Ask me again on Monday, @channel <!here>", ""])
async def test_not_now_reaches_the_model_with_its_reason(desk: Desk, reason: str) -> None:
    talk, shown = await fruit(desk)
    field = await desk.open_field(ADA, shown, NOT_NOW)
    assert "Which fruit?" in field.text
    assert field.value == ""
    assert await desk.submit(ADA, reason) == ()
    over = await settled(desk, talk, "Not now")
    assert reason in over.text
    assert " by " in over.text
    result = (await turn_of(desk, "fruit", 2)).result
    assert "declined" in result
    assert reason in result
    await line(desk, talk, "So be it, then.")
    assert not desk.notices(ADA)
    assert len(set(desk.pings())) == 1, "nobody but ada, by the card"


async def test_a_closed_field_changes_nothing(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown, NOT_NOW)
    await desk.close_field(ADA)
    await desk.press(ADA, await card(desk, talk), "Pear")
    assert '"Which fruit?"="Pear"' in (await turn_of(desk, "fruit", 2)).result


async def test_only_those_who_are_asked_can_say_it(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.press(BEN, shown, NOT_NOW)
    await notice(desk, BEN, "can answer")
    assert desk.field(BEN) is None
    assert (await card(desk, talk)).controls


async def test_said_too_late_the_sentence_reaches_the_agent_as_a_message(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown, NOT_NOW)
    await desk.press(ADA, shown, "Pear")
    await settled(desk, talk, "Pear")
    await line(desk, talk, "So be it, then.")
    (why,) = await desk.submit(ADA, "On Monday")
    assert "already been answered" in why
    assert '"Which fruit?"="Pear"' in (await turn_of(desk, "fruit", 2)).result
    assert (await turn_of(desk, "fruit", 3)).texts == ["ada: (too late to be an answer to “Which fruit?”) On Monday"]


async def test_in_a_form_it_ends_all_questions(desk: Desk) -> None:
    form = asks(one("Which fruit?", "Apple", "Pear"), one("When?", "Now", "Soon", several=True))
    desk.model.script(turn(form), turn("So be it, then."), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    await desk.press(ADA, await card(desk, talk, "Which fruit?"), "Pear")
    shown = await card(desk, talk, "When?", without="1. Apple")
    await desk.press(ADA, shown, "Review") if "Review" in shown.buttons else None
    shown = await card(desk, talk, "When?")
    assert shown.buttons[-2:] == (NOT_NOW, "Cancel")
    await desk.open_field(ADA, shown, NOT_NOW)
    await desk.submit(ADA, "Too early")
    over = await settled(desk, talk, "Not now")
    assert "Too early" in over.text
    assert "These draft answers were not submitted." in over.text
    result = (await turn_of(desk, "fruit", 2)).result
    assert "declined" in result
    assert "Too early" in result


async def test_a_program_hears_it_too(desk: Desk) -> None:
    desk.model.script(turn("Hello."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Hello.")
    async with program_asks(desk, talk, form_of("Which fruit?", ["Apple", "Pear"])) as asked:
        await desk.open_field(ADA, await card(desk, talk, "Which fruit?"), NOT_NOW)
        await desk.submit(ADA, "  Later ")
        outcome = await asked.outcome()
    assert (outcome.status, outcome.reason) == ("declined", "Later")
    assert outcome.by is not None
    assert outcome.by.is_same_person(desk.actor(ADA))
