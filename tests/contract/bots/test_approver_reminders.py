"""The button "Remind me…" on the card of a decision of several people: neither a vote nor a “no”."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from askback.domain import not_now
from askback.domain.ask_policy import OWN_REQUEST, Approval
from askback.domain.card_labels import REMIND_ME, UNDO_VOTE, WITHDRAW
from askback.domain.form import Form
from askback.internal.clock import utc_now
from support.clocks import DrivenTime

from .driver import ADA, BEN, CY, Card, Desk, Talk, card, form_of, line, notice, pass_time, program_asks, settled

PROMPT = "Deploy 1.4.2?"
IN_AN_HOUR = "Remind me in an hour"


def deploy(**more: Any) -> Form:
    return form_of(PROMPT, ["Yes", "No"], allow_custom=False, **more)


def rules(desk: Desk) -> Approval:
    return Approval(quorum=2, refusing=("v1",), requesters=(desk.actor(CY),))


async def remind(desk: Desk, person: str, shown: Card, way: str = IN_AN_HOUR, **more: Any) -> tuple[str, ...]:
    await desk.open_field(person, shown, REMIND_ME)
    return await desk.submit(person, "", way=way, **more)


async def begin(desk: Desk) -> Talk:
    return await desk.thread(CY, "It is release day.")


async def test_a_voter_is_reminded_and_nothing_changes_for_the_others(driven: DrivenTime, desk: Desk) -> None:
    talk = await begin(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=rules(desk)) as asked:
        shown = await card(desk, talk, PROMPT)
        field = await desk.open_field(ADA, shown, REMIND_ME)
        assert PROMPT in field.text
        assert all(way.startswith("Remind me") for way in field.ways)
        assert await desk.submit(ADA, "", way=IN_AN_HOUR) == ()
        waiting = await card(desk, talk, "Reminder for")
        assert "agree" not in waiting.text, "nobody has voted"
        (ask,) = await desk.host.manager.list_open_asks()
        assert (ask.outcome, ask.interview.votes) == (None, ())
        calls = len(desk.pings())
        pass_time(desk, driven, hours=1)
        assert PROMPT in (await line(desk, talk, "You asked for a reminder")).text
        new = desk.pings()[calls:]
        assert new
        assert all(desk.actor(ADA).id in ping for ping in new), "nobody but ada is called"
        again = await card(desk, talk, PROMPT, without="Reminder for")
        await desk.press(ADA, again, "Yes")
        await desk.press(BEN, await card(desk, talk, "1 of 2 agree"), "Yes")
        await settled(desk, talk, "Approved")
        assert (await asked.outcome()).status == "answered"


async def test_a_requester_who_may_not_decide_gets_a_private_notice(desk: Desk) -> None:
    talk = await begin(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=rules(desk)):
        await desk.press(CY, await card(desk, talk, PROMPT), REMIND_ME)
        await notice(desk, CY, OWN_REQUEST)
        assert desk.field(CY) is None


async def test_the_button_is_in_the_row_of_the_small_controls(desk: Desk) -> None:
    talk = await begin(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=rules(desk)):
        shown = await card(desk, talk, PROMPT)
        assert shown.buttons == ("Yes", "No", REMIND_ME, WITHDRAW)
        await desk.press(ADA, shown, "Yes")
        assert (await card(desk, talk, "1 of 2 agree")).buttons[-3:] == (REMIND_ME, UNDO_VOTE, WITHDRAW)


async def test_a_vote_ends_the_voters_own_reminder(desk: Desk) -> None:
    talk = await begin(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=rules(desk)):
        assert await remind(desk, ADA, await card(desk, talk, PROMPT)) == ()
        await desk.press(ADA, await card(desk, talk, "Reminder for"), "Yes")
        await card(desk, talk, "1 of 2 agree", without="Reminder for")


async def test_shortly_before_the_end_no_reminder_is_possible(desk: Desk) -> None:
    talk = await begin(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=rules(desk), timeout=1800):
        shown = await card(desk, talk, PROMPT)
        if desk.platform == "discord":
            await desk.press(ADA, shown, REMIND_ME)
            await notice(desk, ADA, not_now.TOO_SOON)
            return
        # Slack's person chooses a time; one after the end is refused in the modal.
        late = utc_now().replace(microsecond=0) + timedelta(hours=1)
        (why,) = await remind(desk, ADA, shown, "Remind me at another time", when=late)
        assert "ends before that" in why
        soon = utc_now().replace(microsecond=0) + timedelta(minutes=10)
        assert await desk.submit(ADA, "", way="Remind me at another time", when=soon) == ()
        await card(desk, talk, "Reminder for")


async def test_with_two_hours_left_one_time_is_offered(desk: Desk) -> None:
    talk = await begin(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=rules(desk), timeout=7200):
        field = await desk.open_field(ADA, await card(desk, talk, PROMPT), REMIND_ME)
        assert IN_AN_HOUR in field.ways
        assert "Remind me in four hours" not in field.ways
        assert await desk.submit(ADA, "", way=IN_AN_HOUR) == ()
        await card(desk, talk, "Reminder for")


async def test_too_late_the_modal_says_why(desk: Desk) -> None:
    talk = await begin(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=rules(desk)):
        await desk.open_field(ADA, await card(desk, talk, PROMPT), REMIND_ME)
        await desk.press(BEN, await card(desk, talk, PROMPT), "No")
        await settled(desk, talk, "Refused")
        (why,) = await desk.submit(ADA, "", way=IN_AN_HOUR)
        assert "already been answered" in why
