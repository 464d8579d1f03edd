"""The ways to leave a question for now: each does what its label says, and a reminder is possible before the end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from askback.domain.actions import Action, Cancel, Choose, Decline, OpenDecline, Operation, Remind
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, PersonalReminder, Policy
from askback.domain.click_response import AskText, Notice, Redraw, Response
from askback.domain.decision import decide
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.interview import start_interview
from askback.domain.not_now import (
    MOST_REMINDERS,
    WAYS,
    WayName,
    build_operation,
    find_next_morning,
    list_ways,
)
from askback.domain.outcome import Outcome
from askback.domain.schedule import apply_due
from askback.domain.who import Who
from support.cases import ANN, BEN, NOON, form, question

CARD = MessageRef(channel="C1", id="1")
HOUR = timedelta(hours=1)


def asked(*, posted: bool = True, asker: Actor | None = None, **policy: Any) -> Ask:
    return Ask(
        id="ask",
        place=Place(platform="local", channel="C1"),
        policy=Policy(**{"who": Who.from_people(ANN, BEN), **policy}),
        interview=start_interview(form(question("deploy", "Yes", "No"))),
        created_at=NOON,
        post_after=NOON,
        messages=(CARD,) if posted else (),
        asked_by=asker,
    )


def does(ask: Ask, operation: Operation, by: Actor = ANN, delivery: str | None = None) -> tuple[Ask, Response]:
    action = Action(ask_id="ask", actor=by, at=NOON, step=0, operation=operation, delivery=delivery)
    after, response = decide(ask, action, is_admitted=lambda *_: True)
    return after or ask, response


def reminders(ask: Ask) -> list[tuple[str, timedelta]]:
    return [(one.who.id, one.at - NOON) for one in ask.policy.personal_reminders]


@pytest.mark.parametrize(
    ("way", "operation"),
    [
        ("discuss", Decline(reason="why?", discuss=True)),
        ("cancel", Cancel(reason="why?")),
        ("hour", Remind(moment=NOON + HOUR, reason="why?")),
        ("hours", Remind(moment=NOON + 4 * HOUR, reason="why?")),
        ("day", Remind(moment=NOON + 24 * HOUR, reason="why?")),
        ("week", Remind(moment=NOON + 168 * HOUR, reason="why?")),
    ],
)
def test_each_way_does_what_its_label_says(way: WayName, operation: Operation) -> None:
    assert build_operation(way, "why?", now=NOON) == operation
    assert build_operation(way, "", now=NOON) == operation.model_copy(update={"reason": None})


@pytest.mark.parametrize("way", ["tomorrow", "time"])
def test_a_way_that_needs_a_time_is_nothing_without_one(way: WayName) -> None:
    assert build_operation(way, "", now=NOON) is None
    assert build_operation(way, "", now=NOON, at=NOON + HOUR) == Remind(moment=NOON + HOUR)


@pytest.mark.parametrize(
    ("now", "morning"),
    [
        ("2026-11-25T12:00+00:00", "2026-11-26T09:00+01:00"),
        ("2026-11-25T22:59+00:00", "2026-11-26T09:00+01:00"),
        ("2026-11-25T23:01+00:00", "2026-11-27T09:00+01:00"),
        ("2026-03-28T12:00+00:00", "2026-03-29T09:00+02:00"),  # the clocks change in that night
    ],
)
def test_tomorrow_is_nine_o_clock_of_the_next_day_there(now: str, morning: str) -> None:
    found = find_next_morning(datetime.fromisoformat(now), ZoneInfo("Europe/Berlin"))
    assert found.astimezone(UTC) == datetime.fromisoformat(morning)


def test_no_reminder_is_offered_that_would_come_after_the_end() -> None:
    every: tuple[WayName, ...] = tuple(WAYS)
    assert list_ways(every, now=NOON, deadline=None) == every
    soon = list_ways(every, now=NOON, deadline=NOON + HOUR + timedelta(seconds=1))
    assert soon == ("discuss", "hour", "tomorrow", "time", "cancel"), "the day and the time are not known yet"
    assert "hour" not in list_ways(every, now=NOON, deadline=NOON + HOUR)
    late = list_ways(every, now=NOON, deadline=NOON - HOUR)
    assert late == ("discuss", "tomorrow", "time", "cancel"), "the question may still be open"


def test_a_reminder_leaves_the_question_open_and_changes_the_card() -> None:
    ask = asked()
    after, response = does(ask, Remind(moment=NOON + HOUR, reason=" In a meeting. "))
    assert response == Redraw()
    assert after.outcome is None
    assert after.interview.step == ask.interview.step, "the buttons of the card still count"
    assert after.interview.revision > ask.interview.revision
    assert after.policy.personal_reminders == (PersonalReminder(who=ANN, at=NOON + HOUR, reason="In a meeting."),)
    assert after.next_due_at == NOON + HOUR
    (line,) = after.to_card().reminders
    assert line.reason == "In a meeting."


def test_everybody_has_one_reminder_and_a_new_one_replaces_it() -> None:
    ask, _ = does(asked(), Remind(moment=NOON + HOUR))
    ask, _ = does(ask, Remind(moment=NOON + 3 * HOUR), BEN)
    ask, _ = does(ask, Remind(moment=NOON + 2 * HOUR))
    assert sorted(reminders(ask)) == [(ANN.id, 2 * HOUR), (BEN.id, 3 * HOUR)]
    assert [line.who for line in ask.to_card().reminders] == [ANN, BEN], "the next one comes first"


def test_a_click_that_is_delivered_twice_counts_once() -> None:
    ask, _ = does(asked(), Remind(moment=NOON + HOUR), delivery="1")
    ask, _ = does(ask, Remind(moment=NOON + 2 * HOUR), delivery="2")
    again, response = does(ask, Remind(moment=NOON + HOUR), delivery="1")
    assert (again, response) == (ask, Redraw())


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        (NOON, "has passed"),
        (NOON - HOUR, "has passed"),
        (NOON + timedelta(days=10), "ends before that"),
        (NOON + timedelta(days=366, seconds=1), "more than a year"),
    ],
)
def test_a_time_that_is_none_is_told(moment: datetime, words: str) -> None:
    ask = asked(deadline=NOON + timedelta(days=10))
    after, response = does(ask, Remind(moment=moment))
    assert isinstance(response, Notice)
    assert words in response.text
    assert after == ask


def test_what_is_too_long_or_too_much_is_told() -> None:
    ask = asked()
    after, response = does(ask, Remind(moment=NOON + HOUR, reason="x" * 1001))
    assert isinstance(response, Notice)
    assert "shorten it" in response.text
    after, response = does(ask, Cancel(reason="x" * 1001))
    assert isinstance(response, Notice)
    assert after.outcome is None
    crowd = tuple(Actor(platform="local", id=f"X{number}", name="") for number in range(MOST_REMINDERS))
    full = asked(personal_reminders=tuple(PersonalReminder(who=one, at=NOON + HOUR) for one in crowd))
    after, response = does(full, Remind(moment=NOON + HOUR))
    assert isinstance(response, Notice)
    assert after == full


def test_nobody_is_reminded_of_what_is_settled() -> None:
    over, _ = does(asked(), Cancel())
    assert over.outcome == Outcome(status="cancelled", at=NOON, by=ANN)
    after, response = does(over, Remind(moment=NOON + HOUR))
    assert isinstance(response, Notice)
    assert after == over


def test_who_may_decide_is_reminded_of_a_decision_of_several_people_without_a_vote() -> None:
    ask = asked(approval=Approval(quorum=2, refusing=("no",)))
    _, opened = does(ask, OpenDecline())
    assert isinstance(opened, AskText)
    assert (opened.field.declines, opened.field.only_reminds, opened.field.only_cancels) == (True, True, False)
    after, response = does(ask, Remind(moment=NOON + HOUR))
    assert response == Redraw()
    assert (after.outcome, after.interview.votes, reminders(after)) == (None, (), [(ANN.id, HOUR)])
    assert after.interview.step == ask.interview.step
    later, message = apply_due(after, NOON + HOUR)
    assert later is not None
    assert message is not None
    assert message.mention == Who.from_people(ANN)
    assert reminders(later) == []


def test_a_requester_who_may_not_decide_is_not_reminded() -> None:
    ask = asked(approval=Approval(refusing=("no",), requesters=(BEN,)), asker=BEN)
    for operation in (OpenDecline(), Remind(moment=NOON + HOUR)):
        after, response = does(ask, operation, BEN)
        assert isinstance(response, Notice)
        assert response.denied == "own_request"
        assert after == ask


def test_other_ways_to_leave_it_are_not_open_to_one_of_several_voters() -> None:
    ask = asked(approval=Approval(quorum=2, refusing=("no",)))
    for operation in (Decline(discuss=True), Cancel()):
        after, response = does(ask, operation)
        assert isinstance(response, Notice)
        assert (after.outcome, after.policy) == (None, ask.policy)


def test_who_has_voted_is_not_reminded_any_more() -> None:
    ask = asked(approval=Approval(quorum=2, refusing=("no",)))
    ask, _ = does(ask, Remind(moment=NOON + HOUR))
    ask, _ = does(ask, Remind(moment=NOON + HOUR), BEN)
    ask, _ = does(ask, Choose(index=0))
    assert reminders(ask) == [(BEN.id, HOUR)]


def test_a_due_reminder_calls_its_person_once_and_leaves_the_card() -> None:
    ask, _ = does(asked(deadline=NOON + 9 * HOUR), Remind(moment=NOON + HOUR, reason="In a meeting."))
    ask, _ = does(ask, Remind(moment=NOON + 2 * HOUR), BEN)
    after, say = apply_due(ask, NOON + HOUR)
    assert after is not None
    assert say is not None
    assert say.mention == Who.from_people(ANN)
    assert say.text == "You asked for a reminder: “What about deploy?” still waits for an answer."
    assert (say.reply_to, say.until) == (CARD, NOON + 9 * HOUR)
    assert reminders(after) == [(BEN.id, 2 * HOUR)]
    assert after.interview.revision > ask.interview.revision, "the card no longer announces it"
    assert apply_due(after, NOON + HOUR) == (None, None)
    last, other = apply_due(after, NOON + 2 * HOUR)
    assert last is not None
    assert other is not None
    assert other.target != say.target
    assert last.next_due_at == NOON + 9 * HOUR


def test_a_reminder_of_the_policy_that_is_due_as_well_follows() -> None:
    ask, _ = does(asked(reminders=(NOON + HOUR,)), Remind(moment=NOON + HOUR))
    after, first = apply_due(ask, NOON + HOUR)
    assert after is not None
    assert first is not None
    assert first.mention == Who.from_people(ANN)
    _, second = apply_due(after, NOON + HOUR)
    assert second is not None
    assert second.mention == Who.from_people(ANN, BEN)


def test_the_end_comes_before_a_reminder_that_is_as_late() -> None:
    ask, _ = does(asked(deadline=NOON + 2 * HOUR), Remind(moment=NOON + HOUR))
    after, say = apply_due(ask, NOON + 2 * HOUR)
    assert after is not None
    assert after.status == "timed_out"
    assert say is None
    assert after.to_card().reminders == ()


def test_a_reminder_waits_for_a_card_that_stands_nowhere() -> None:
    ask = asked(posted=False, personal_reminders=(PersonalReminder(who=ANN, at=NOON + HOUR),))
    assert ask.next_due_at is None
    assert apply_due(ask, NOON + 2 * HOUR) == (None, None)


def test_times_move_with_the_clock() -> None:
    reminder = PersonalReminder(who=ANN, at=NOON + HOUR)
    assert asked(personal_reminders=(reminder,)).shift(HOUR).policy.personal_reminders[0].at == NOON + 2 * HOUR


def test_an_older_process_can_read_what_has_no_reminder_and_no_discussion() -> None:
    assert "personal_reminders" not in asked().policy.model_dump()
    assert "discuss" not in Outcome(status="declined", at=NOON, by=ANN).model_dump()
    assert Outcome(status="declined", at=NOON, by=ANN, discuss=True).model_dump()["discuss"] is True


def test_who_may_only_cancel_is_offered_nothing_else() -> None:
    asker = Actor(platform="local", tenant="T1", id="U9", name="Eve")
    ask = asked(asker=asker)
    for by, only_cancels in ((ANN, False), (asker, True)):
        _, response = does(ask, OpenDecline(), by)
        assert isinstance(response, AskText)
        assert response.field.only_cancels is only_cancels
    assert isinstance(does(ask, OpenDecline(), Actor(platform="local", id="U8", name=""))[1], Notice)
    for operation in (Decline(discuss=True), Remind(moment=NOON + HOUR)):
        after, response = does(ask, operation, asker)
        assert isinstance(response, Notice), "a forged payload changes nothing"
        assert after == ask
    after, _ = does(ask, Cancel(), asker)
    assert after.status == "cancelled"


def test_who_wants_to_discuss_stands_first_on_the_settled_card() -> None:
    after, _ = does(asked(), Decline(reason="Which one is cheaper?", discuss=True))
    ending = after.to_card().ending
    assert ending is not None
    assert ending.title == "To be discussed first"
    plain, _ = does(asked(), Decline(reason="Later"))
    ending = plain.to_card().ending
    assert ending is not None
    assert ending.title == "Not now"
