"""Several people decide: reminders to those who are missing, and escalations to more people."""

from __future__ import annotations

from typing import Any

import pytest

from askback_sandbox.model.script import turn

from . import slack
from .approval_cards import PROMPT, approval, deploy, later, mentions, place, those
from .driver import ADA, BEN, CY, GROUPS, Desk, Talk, card, delivered, line, program_asks, settled, until


async def test_a_reminder_calls_those_who_are_missing(desk: Desk) -> None:
    talk = await place(desk)
    rules = approval(requesters=(desk.actor(CY),))
    more: dict[str, Any] = {"approval": rules, "remind": [1.0, 2.0, 4.0, 8.0], "timeout": 3600.0}
    async with program_asks(desk, talk, deploy(), ADA, BEN, CY, **more):
        await desk.press(ADA, await card(desk, talk, PROMPT), "Yes")
        await card(desk, talk, "1 of 2 agree")

        def reminded() -> str | None:
            texts = [one.text for one in desk.lines(talk) if one.bot and "Reminder: “Deploy 1.4.2?”" in one.text]
            return next((text for text in texts if desk.actor(ADA).id not in text), None)

        text = await until(reminded, "a reminder for those who have not voted")
        assert desk.actor(BEN).id in text
        assert desk.actor(CY).id not in text, "whose request it is does not decide"
        assert mentions(desk, BEN) > 1, "by the card, and by the reminder"


async def test_a_reminder_calls_those_of_a_group_who_have_not_voted(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = await place(desk)
    group = GROUPS[desk.platform]
    for person in (BEN, CY):
        desk.join_group(person)
    rules = approval(requesters=(desk.actor(CY),))
    async with program_asks(desk, talk, deploy(), who=those(desk, group=True), approval=rules, remind=[3600.0]):
        await desk.press(ADA, await card(desk, talk, PROMPT), "Yes")
        missing = (await card(desk, talk, "1 of 2 agree")).text.partition("Not yet: ")[2]
        assert missing.startswith("the rest of ")
        assert group in missing
        await later(desk, monkeypatch, 3601.0)
        told = await line(desk, talk, "Reminder: “Deploy 1.4.2?” still waits for you.")
        assert desk.actor(ADA).id not in told.text
        assert desk.actor(CY).id not in told.text
        # Discord does not list the members of a role.
        assert (desk.actor(BEN).id in told.text, group in told.text) == (
            (True, False) if desk.platform == "slack" else (False, True)
        )


@pytest.mark.only("slack", reason="Discord tells the roles of whoever clicks, and nobody else's")
async def test_where_a_group_cannot_be_read_a_reminder_calls_it_whole(
    desk: slack.SlackDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = await place(desk)
    desk.workspace.faults.fail("usergroups.users.list", "fatal_error", times=None)
    who = those(desk, BEN, group=True)
    async with program_asks(desk, talk, deploy(), who=who, approval=approval(), remind=[3600.0]):
        await desk.press(BEN, await card(desk, talk, PROMPT), "Yes")
        missing = (await card(desk, talk, "1 of 2 agree")).text.partition("Not yet: ")[2]
        assert "the rest of" not in missing
        await later(desk, monkeypatch, 3601.0)
        told = await line(desk, talk, "Reminder: “Deploy 1.4.2?” still waits for you.")
        assert GROUPS["slack"] in told.text
        assert desk.actor(ADA).id not in told.text


async def test_nobody_is_reminded_of_what_was_settled_before(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = await place(desk)
    more: dict[str, Any] = {"approval": approval(quorum=1), "remind": [3600.0]}
    async with (
        program_asks(desk, talk, deploy("The first?"), ADA, **more) as asked,
        program_asks(desk, talk, deploy("The second?"), ADA, **more),
    ):
        first = await card(desk, talk, "The first?")
        await card(desk, talk, "The second?")
        both = await desk.host.manager.list_open_asks()
        await desk.press(ADA, first, "Yes")
        await asked.outcome()
        await later(desk, monkeypatch, 3601.0, *both)
        await line(desk, talk, "Reminder: “The second?”")
        assert not [one for one in desk.lines(talk) if "Reminder: “The first?”" in one.text]


async def test_an_escalation_lets_others_in_and_the_card_says_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = await place(desk)
    escalate = {3600.0: those(desk, CY)}
    async with program_asks(desk, talk, deploy(), ADA, approval=approval(quorum=1), escalate=escalate) as asked:
        first = await card(desk, talk, PROMPT)
        assert desk.actor(CY).id not in first.text
        await later(desk, monkeypatch, 3601.0)
        shown = await card(desk, talk, desk.actor(CY).id)
        told = await line(desk, talk, "This now waits for you, too: “Deploy 1.4.2?”")
        assert desk.actor(CY).id in told.text
        assert desk.actor(ADA).id not in told.text
        await desk.press(CY, shown, "Yes")
        await settled(desk, talk, "Approved")
        assert [vote.by.id for vote in (await asked.outcome()).votes] == [desk.actor(CY).id]


@pytest.mark.only("slack", reason="on Discord a reminder is a reply in the same place")
async def test_a_reminder_hangs_below_its_card_where_there_is_no_thread(
    desk: slack.SlackDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = await desk.direct(ADA, "(nothing to say)")
    async with program_asks(desk, talk, deploy(), ADA, approval=approval(quorum=1), remind=[3600.0]):
        shown = await card(desk, talk, PROMPT)
        await later(desk, monkeypatch, 3601.0)
        told = await line(desk, Talk(talk.channel, shown.id), "Reminder: “Deploy 1.4.2?” still waits for you.")
        assert desk.actor(ADA).id in told.text


@pytest.mark.only("slack", reason="on Discord a reminder is a reply in the same place")
async def test_a_reminder_whose_answer_got_lost_is_found_below_its_card(
    desk: slack.SlackDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.model.script(turn("Good morning."))
    talk = await desk.direct(ADA, "hello")
    await line(desk, talk, "Good morning.")
    await delivered(desk)
    async with program_asks(desk, talk, deploy(), ADA, approval=approval(quorum=1), remind=[3600.0]):
        shown = await card(desk, talk, PROMPT)
        desk.lose_answer("post")
        await later(desk, monkeypatch, 3601.0)
        below = Talk(talk.channel, shown.id)
        await line(desk, below, "Reminder: “Deploy 1.4.2?”")
        await until(lambda: "delivery_later" in desk.journal.actions(), "it is tried again")
        await delivered(desk)
        assert len([one for one in desk.lines(below) if "Reminder" in one.text]) == 1
