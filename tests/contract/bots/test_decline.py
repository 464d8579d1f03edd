"""The button "Not now…": the ways to leave a question without answering it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from askback.internal.clock import utc_now
from askback_sandbox.model.script import turn
from support.clocks import DrivenTime

from .driver import (
    ADA,
    BEN,
    CANCEL,
    NOT_NOW,
    Card,
    Desk,
    Talk,
    asks,
    card,
    form_of,
    leave,
    line,
    notice,
    one,
    pass_time,
    program_asks,
    settled,
    turn_of,
)
from .slack import SlackDesk

DISCUSS = "Discuss it first"
IN_AN_HOUR = "Remind me in an hour"
AT_A_TIME = "Remind me at another time"


async def fruit(desk: Desk) -> tuple[Talk, Card]:
    desk.model.script(
        turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it, then."), turn("I see."), when="fruit"
    )
    talk = await desk.mention(ADA, "fruit, please")
    return talk, await card(desk, talk)


async def test_it_is_the_only_way_out_and_stands_at_the_end(desk: Desk) -> None:
    _, shown = await fruit(desk)
    assert shown.buttons[-1] == NOT_NOW
    assert "Cancel" not in shown.buttons


@pytest.mark.parametrize("note", ["Which is cheaper, @channel <!here>?", ""])
async def test_who_wants_to_discuss_is_heard_and_the_agent_can_ask_again(desk: Desk, note: str) -> None:
    talk, shown = await fruit(desk)
    field = await desk.open_field(ADA, shown, NOT_NOW)
    assert "Which fruit?" in field.text
    assert field.value == ""
    assert await desk.submit(ADA, note) == ()  # it is the way that is chosen to begin with
    over = await settled(desk, talk, "To be discussed first")
    assert note in over.text
    assert " by " in over.text
    result = (await turn_of(desk, "fruit", 2)).result
    assert "wants to discuss this" in result
    assert "ask the question again" in result
    assert note in result
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
    await leave(desk, ADA, shown, DISCUSS, "Too early")
    over = await settled(desk, talk, "To be discussed first")
    assert "Too early" in over.text
    assert "These draft answers were not submitted." in over.text
    assert "Too early" in (await turn_of(desk, "fruit", 2)).result


async def test_a_program_hears_it_too(desk: Desk) -> None:
    desk.model.script(turn("Hello."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Hello.")
    async with program_asks(desk, talk, form_of("Which fruit?", ["Apple", "Pear"])) as asked:
        await leave(desk, ADA, await card(desk, talk, "Which fruit?"), DISCUSS, "  Which is riper? ")
        outcome = await asked.outcome()
    assert (outcome.status, outcome.discuss, outcome.reason) == ("declined", True, "Which is riper?")
    assert outcome.by is not None
    assert outcome.by.is_same_person(desk.actor(ADA))


async def test_a_cancel_says_why_if_somebody_writes_it(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    assert await leave(desk, ADA, shown, CANCEL, "No fruit today.") == ()
    over = await settled(desk, talk, "Cancelled")
    assert "No fruit today." in over.text
    result = (await turn_of(desk, "fruit", 2)).result
    assert "cancelled" in result
    assert "No fruit today." in result


async def test_a_reminder_leaves_the_question_open_and_comes_in_its_time(driven: DrivenTime, desk: Desk) -> None:
    talk, shown = await fruit(desk)
    calls = len(desk.pings())
    assert await leave(desk, ADA, shown, IN_AN_HOUR, "I am in a meeting.") == ()
    waiting = await card(desk, talk, "Reminder for")
    assert "I am in a meeting." in waiting.text
    assert waiting.id == shown.id
    pass_time(desk, driven, hours=1)
    reminder = await line(desk, talk, "You asked for a reminder")
    assert "Which fruit?" in reminder.text
    assert len(desk.pings()) > calls, "ada is called"
    again = await card(desk, talk, "Which fruit?", without="Reminder for")
    assert again.id == shown.id
    await desk.press(ADA, again, "Pear")
    assert '"Which fruit?"="Pear"' in (await turn_of(desk, "fruit", 2)).result


async def test_nobody_is_reminded_of_a_question_that_is_answered(driven: DrivenTime, desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await leave(desk, ADA, shown, IN_AN_HOUR)
    await desk.press(ADA, await card(desk, talk, "Reminder for"), "Pear")
    await settled(desk, talk, "Pear")
    await line(desk, talk, "So be it, then.")
    open_talk = await desk.mention(ADA, "fruit, please")
    await leave(desk, ADA, await card(desk, open_talk), IN_AN_HOUR)
    await card(desk, open_talk, "Reminder for")
    pass_time(desk, driven, hours=1)
    await line(desk, open_talk, "You asked for a reminder")
    assert not any("reminder" in one.text for one in desk.lines(talk))


async def test_a_reminder_after_the_end_is_not_offered(desk: Desk) -> None:
    desk.model.script(turn("Hello."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Hello.")
    async with program_asks(desk, talk, form_of("Which fruit?", ["Apple", "Pear"]), timeout=1800) as asked:
        field = await desk.open_field(ADA, await card(desk, talk, "Which fruit?"), NOT_NOW)
        # Slack's person can choose a time before the end.
        times = [AT_A_TIME] if desk.platform == "slack" else []
        assert [way for way in field.ways if "tomorrow" not in way] == [DISCUSS, *times, CANCEL]
        assert await desk.submit(ADA, "", way=CANCEL) == ()
        assert (await asked.outcome()).status == "cancelled"


@pytest.mark.only("slack", reason="Discord's modals have no field for a time")
async def test_the_time_of_a_reminder_can_be_chosen(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown, NOT_NOW)
    soon = utc_now().replace(microsecond=0) + timedelta(days=3)
    (missing,) = await desk.submit(ADA, "Then.", way=AT_A_TIME)
    assert "choose the date and the time" in missing
    (unclear,) = await desk.submit(ADA, "Then.", way=DISCUSS, when=soon)
    assert "Clear this" in unclear
    (past,) = await desk.submit(ADA, "Then.", way=AT_A_TIME, when=soon - timedelta(days=4))
    assert "has passed" in past
    (far,) = await desk.submit(ADA, "Then.", way=AT_A_TIME, when=soon + timedelta(days=400))
    assert "more than a year" in far
    assert (await card(desk, talk)).id == shown.id
    assert await desk.submit(ADA, "Then.", way=AT_A_TIME, when=soon) == ()
    assert "Then." in (await card(desk, talk, "Reminder for")).text
    (ask,) = await desk.host.manager.list_open_asks()
    assert [(one.at, one.reason) for one in ask.policy.personal_reminders] == [(soon, "Then.")]


@pytest.mark.only("slack", reason="Discord says nobody's time zone")
async def test_a_time_zone_that_slack_does_not_say_is_told_where_it_was_chosen(desk: Desk) -> None:
    assert isinstance(desk, SlackDesk)
    desk.workspace.faults.fail("users.info", "user_not_found", times=None)
    talk, shown = await fruit(desk)
    (why,) = await leave(desk, ADA, shown, "Remind me tomorrow at 9:00", "Then.")
    assert "time zone" in why
    assert await desk.submit(ADA, "Then.", way=IN_AN_HOUR) == ()
    await card(desk, talk, "Reminder for")


@pytest.mark.only("slack", reason="Discord says nobody's time zone")
async def test_tomorrow_is_nine_o_clock_where_the_person_is(desk: Desk) -> None:
    assert isinstance(desk, SlackDesk)
    person = desk.workspace.people[desk.actor(ADA).id]
    desk.workspace.people[person.id] = replace(person, tz="Asia/Tokyo")
    talk, shown = await fruit(desk)
    assert await leave(desk, ADA, shown, "Remind me tomorrow at 9:00") == ()
    await card(desk, talk, "Reminder for")
    (ask,) = await desk.host.manager.list_open_asks()
    (reminder,) = ask.policy.personal_reminders
    there = reminder.at.astimezone(ZoneInfo("Asia/Tokyo"))
    assert (there.hour, there.minute) == (9, 0)
    assert timedelta() < reminder.at - utc_now() < timedelta(hours=33)
