"""Several people decide: the answer to each click, the card's text about it, and the mentions."""

from __future__ import annotations

import asyncio
import re

import pytest

from askback.domain.ask_policy import OWN_REQUEST
from askback.domain.card_labels import EVERYTHING, NOT_NOW, REMIND_ME, SHOW_QUESTION, UNDO_VOTE, WITHDRAW
from askback.domain.decision import NOT_TO_CANCEL
from askback.manager.denials import UNREAD_GROUPS
from askback_sandbox.model.script import turn

from . import slack
from .approval_cards import NO, PROMPT, YES, approval, deploy, later, place, those
from .driver import ADA, BEN, CY, Desk, card, line, notice, program_asks, settled, until

ARGUMENTS = "\n".join(f'"step-{n}": "copy-to-machine-{n}" <!channel> @everyone *' for n in range(120))


async def test_two_votes_settle_it_and_the_tally_grows(desk: Desk) -> None:
    talk = await place(desk)
    rules = approval(requesters=(desk.actor(CY),))
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=rules) as asked:
        shown = await card(desk, talk, "Needs 2 approvals. One denial stops it.")
        assert "Requested by" in shown.text
        assert "(cannot vote)" in shown.text
        assert "Not yet" not in shown.text, "all who are asked stand above"
        assert "Needs 2 approvals" in shown.notification
        await desk.press(ADA, shown, "Yes")
        shown = await card(desk, talk, "1 of 2 agree")
        assert desk.actor(BEN).id in shown.text.partition("Not yet: ")[2]
        assert desk.actor(ADA).id not in shown.text.partition("Not yet: ")[2]
        assert "1 of 2 agree" in shown.notification
        assert not asked.task.done()
        await desk.press(BEN, shown, "Yes")
        over = await settled(desk, talk, "Approved")
        assert "Not yet" not in over.text
        assert "Approved" in over.notification
        outcome = await asked.outcome()
    assert (outcome.status, outcome.refused) == ("answered", False)
    assert [(vote.by.id, vote.choice.value) for vote in outcome.votes] == [
        (desk.actor(ADA).id, YES),
        (desk.actor(BEN).id, YES),
    ]
    assert not desk.notices(ADA)
    assert not desk.notices(BEN)


async def test_one_no_ends_it_and_its_reason_is_asked_for(desk: Desk) -> None:
    talk = await place(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=approval(reasons="no")) as asked:
        shown = await card(desk, talk, "“No” needs a reason.")
        await desk.press(ADA, shown, "Yes")
        shown = await card(desk, talk, "1 of 2 agree")
        field = await desk.open_field(BEN, shown, "No")
        assert "Why “No”?" in f"{field.text}\n{field.placeholder}"
        assert not asked.task.done(), "nothing counts before the reason is there"
        assert await desk.submit(BEN, "Not on a Friday, <!channel> @everyone.") == ()
        over = await settled(desk, talk, "Refused")
        assert "Not on a Friday, <!channel> @everyone." in over.text
        assert "Approved" not in over.text
        outcome = await asked.outcome()
    assert (outcome.status, outcome.refused) == ("answered", True)
    assert outcome.reason == "Not on a Friday, <!channel> @everyone."
    assert [vote.reason for vote in outcome.votes] == [None, outcome.reason]
    assert not [ping for ping in desk.pings() if "everyone" in ping or "channel" in ping]


async def test_a_reason_of_blanks_is_none_and_the_field_says_so(desk: Desk) -> None:
    talk = await place(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=approval(reasons="both")) as asked:
        shown = await card(desk, talk, "Every choice needs a reason.")
        await desk.open_field(ADA, shown, "Yes")
        for blank in (" \n ", "\u200b", "\u2800"):
            (why,) = await desk.submit(ADA, blank)
            assert "Please say why" in why
        assert await desk.submit(ADA, "All green.") == ()
        assert "All green." in (await card(desk, talk, "1 of 2 agree")).text
        assert not asked.task.done()


async def test_the_requesters_own_click_is_refused_and_changes_nothing(desk: Desk) -> None:
    talk = await place(desk)
    rules = approval(requesters=(desk.actor(ADA),), quorum=1)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=rules) as asked:
        shown = await card(desk, talk, PROMPT)
        await desk.press(ADA, shown, "Yes")
        await notice(desk, ADA, OWN_REQUEST)
        (ask,) = await desk.host.manager.list_open_asks()
        assert not ask.interview.votes
        assert not asked.task.done()
        await desk.press(BEN, shown, "Yes")
        await settled(desk, talk, "Approved")
        assert [vote.by.id for vote in (await asked.outcome()).votes] == [desk.actor(BEN).id]


async def test_the_same_person_twice_counts_as_one(desk: Desk) -> None:
    talk = await place(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=approval()) as asked:
        shown = await card(desk, talk, PROMPT)
        await desk.press(ADA, shown, "Yes")
        await desk.press(ADA, await card(desk, talk, "1 of 2 agree"), "Yes")
        await notice(desk, ADA, "Your vote is already “Yes”. 1 more is needed.")
        assert not asked.task.done()
        await desk.press(BEN, shown, "Yes")
        assert len((await asked.outcome()).votes) == 2


async def test_a_person_changes_their_vote(desk: Desk) -> None:
    talk = await place(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, CY, approval=approval(refusals=2)) as asked:
        shown = await card(desk, talk, "Needs 2 approvals. 2 denials stop it.")
        await desk.press(ADA, shown, "Yes")
        await desk.press(ADA, await card(desk, talk, "1 of 2 agree"), "No")
        assert "0 of 2 agree, 1 of 2 “No”" in (await card(desk, talk, "1 of 2 “No”")).text
        await desk.press(BEN, shown, "No")
        await settled(desk, talk, "Refused")
        outcome = await asked.outcome()
    assert [vote.choice.value for vote in outcome.votes] == [NO, NO]


async def test_an_approval_after_the_denial_changes_nothing(desk: Desk) -> None:
    talk = await place(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=approval(quorum=1)) as asked:
        shown = await card(desk, talk, PROMPT)
        await desk.press(BEN, shown, "No")
        over = await settled(desk, talk, "Refused")
        await desk.press(ADA, shown, "Yes")
        await notice(desk, ADA, "")
        outcome = await asked.outcome()
        assert outcome.refused
        assert len(outcome.votes) == 1
        assert (await settled(desk, talk)).text == over.text


async def test_two_at_the_same_instant_count_as_two(desk: Desk) -> None:
    talk = await place(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=approval()) as asked:
        shown = await card(desk, talk, PROMPT)
        await asyncio.gather(desk.press(ADA, shown, "Yes"), desk.press(BEN, shown, "Yes"))
        assert len((await asked.outcome()).votes) == 2


async def test_somebody_who_is_not_asked_is_told_so(desk: Desk) -> None:
    talk = await place(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=approval()):
        await desk.press(CY, await card(desk, talk, PROMPT), "Yes")
        await notice(desk, CY, "can answer this.")
        (ask,) = await desk.host.manager.list_open_asks()
        assert not ask.interview.votes


async def test_an_approver_who_left_the_group_meanwhile_is_refused(desk: Desk) -> None:
    talk = await place(desk)
    who = those(desk, CY, group=True)
    desk.join_group(BEN)
    async with program_asks(desk, talk, deploy(), who=who, approval=approval(quorum=1)) as asked:
        shown = await card(desk, talk, PROMPT)
        desk.leave_group(BEN)
        await desk.press(BEN, shown, "Yes")
        await notice(desk, BEN, "can answer this.")
        assert not asked.task.done()
        await desk.press(ADA, shown, "Yes")
        assert (await asked.outcome()).by == (await asked.outcome()).votes[0].by


@pytest.mark.only("slack", reason="Discord tells the roles of whoever clicks")
async def test_a_group_that_cannot_be_read_is_closed_and_its_members_are_told_why(desk: slack.SlackDesk) -> None:
    talk = await place(desk)
    desk.workspace.faults.fail("usergroups.users.list", "fatal_error", times=None)
    async with program_asks(desk, talk, deploy(), who=those(desk, CY, group=True), approval=approval()) as asked:
        shown = await card(desk, talk, PROMPT)
        await desk.press(ADA, shown, "Yes")
        await notice(desk, ADA, UNREAD_GROUPS)
        await desk.press(CY, shown, "Yes")
        await card(desk, talk, "1 of 2 agree")
        assert not asked.task.done()


async def test_everything_is_shown_to_whoever_asks_to_see_it(desk: Desk) -> None:
    talk = await place(desk)
    form = deploy(details=ARGUMENTS)
    async with program_asks(desk, talk, form, ADA, approval=approval(quorum=1)):
        shown = await card(desk, talk, PROMPT)
        assert "step-119" not in shown.text
        await desk.press(ADA, shown, EVERYTHING)
        words = ARGUMENTS.split()
        await until(lambda: all(word in desk.alone(ADA) for word in words), "ada sees every word")
        assert not desk.alone(BEN)
        assert not [ping for ping in desk.pings() if "everyone" in ping or "channel" in ping]
        await desk.press(BEN, shown, EVERYTHING)
        await notice(desk, BEN, "can answer this.")
        await desk.press(ADA, shown, "No")
        over = await settled(desk, talk, "Refused")
        assert over.buttons == (SHOW_QUESTION,), "nothing to decide is left"
    await desk.press(BEN, over, SHOW_QUESTION)
    await until(lambda: PROMPT in desk.alone(BEN), "ben sees what was decided")
    assert "step-119" not in desk.alone(BEN), "the details stay with those who could decide"
    await desk.press(ADA, over, SHOW_QUESTION)
    await until(lambda: {"step-119", "No  ✓"} <= {*re.findall("step-119|No  ✓", desk.alone(ADA))}, "ada sees both")


async def test_a_settled_decision_shrinks_to_the_result_the_people_the_question_and_the_time(desk: Desk) -> None:
    talk = await place(desk)
    form = deploy(f"{PROMPT}\nIt takes ten minutes.")
    async with program_asks(desk, talk, form, ADA, BEN, approval=approval(requesters=(desk.actor(CY),))):
        await desk.press(ADA, await card(desk, talk, PROMPT), "Yes")
        await desk.press(BEN, await card(desk, talk, "1 of 2 agree"), "Yes")
        over = await settled(desk, talk, "Approved")
    first, second, *others = over.text.splitlines()
    assert first.startswith("✅ Approved: “Yes”  ·  2 of 2: ")
    assert [desk.actor(who).id in first for who in (ADA, BEN, CY)] == [True, True, False]
    assert second.startswith(f"{PROMPT}  ·  Requested by ")
    assert not others, others
    assert over.buttons == (SHOW_QUESTION,)
    await desk.press(CY, over, SHOW_QUESTION)
    await until(lambda: "It takes ten minutes." in desk.alone(CY), "nothing is lost")


async def test_the_deadline_ends_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = await place(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=approval(), timeout=3600.0) as asked:
        await desk.press(ADA, await card(desk, talk, PROMPT), "Yes")
        await card(desk, talk, "1 of 2 agree")
        await later(desk, monkeypatch, 3601.0)
        over = await settled(desk, talk, "Not decided in time: 1 of 2 agree")
        assert "Approved" not in over.text
        outcome = await asked.outcome()
    assert outcome.status == "timed_out"
    assert not outcome.answers


async def test_one_of_several_who_decide_does_not_end_it_for_the_others(desk: Desk) -> None:
    talk = await place(desk)
    rules = approval(requesters=(desk.actor(CY),))
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=rules) as asked:
        shown = await card(desk, talk, PROMPT)
        assert NOT_NOW not in shown.buttons
        await desk.press(ADA, shown, WITHDRAW)
        await notice(desk, ADA, NOT_TO_CANCEL)
        assert not asked.task.done()
        await desk.press(CY, shown, WITHDRAW)
        await settled(desk, talk, "Withdrawn")
        assert (await asked.outcome()).status == "cancelled"


async def test_a_voter_can_undo_their_vote_while_it_is_open(desk: Desk) -> None:
    talk = await place(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=approval()) as asked:
        shown = await card(desk, talk, PROMPT)
        assert UNDO_VOTE not in shown.buttons, "nobody has voted yet"
        await desk.press(ADA, shown, "Yes")
        voted = await card(desk, talk, "1 of 2 agree")
        await desk.press(BEN, voted, UNDO_VOTE)
        await notice(desk, BEN, "You have not voted, so there is nothing to undo.")
        await desk.press(ADA, voted, UNDO_VOTE)
        shown = await card(desk, talk, PROMPT, without="1 of 2 agree")
        assert shown.buttons == ("Yes", "No", REMIND_ME)
        await desk.press(BEN, shown, "Yes")
        shown = await card(desk, talk, "1 of 2 agree")
        assert not asked.task.done(), "the vote that was undone does not count"
        await desk.press(ADA, shown, "Yes")
        over = await settled(desk, talk, "Approved")
        assert not over.buttons
        assert [vote.by.id for vote in (await asked.outcome()).votes] == [desk.actor(BEN).id, desk.actor(ADA).id]


async def test_where_nobody_requested_it_there_is_nothing_to_withdraw(desk: Desk) -> None:
    talk = await place(desk)
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=approval()):
        assert (await card(desk, talk, PROMPT)).buttons == ("Yes", "No", REMIND_ME)


async def test_what_a_member_of_the_group_types_is_their_vote(desk: Desk) -> None:
    desk.model.script(turn("Good morning to you."))
    talk = await desk.mention(CY, "hello")
    await line(desk, talk, "Good morning to you.")
    async with program_asks(desk, talk, deploy(), who=those(desk, BEN, group=True), approval=approval()) as asked:
        await card(desk, talk, PROMPT)
        await desk.say(BEN, "Yes?", talk)
        await desk.say(ADA, "yes", talk)
        await card(desk, talk, "1 of 2 agree")
        await desk.say(BEN, "Yes", talk)
        await settled(desk, talk, "Approved")
        assert [vote.by.id for vote in (await asked.outcome()).votes] == [desk.actor(ADA).id, desk.actor(BEN).id]


# Slack


@pytest.mark.only("slack", reason="on Discord what is too long is a file")
async def test_what_a_modal_does_not_hold_has_several_parts(desk: slack.SlackDesk) -> None:
    talk = await place(desk)
    form = deploy(details="\n".join(f"line {n} of many, and each of them counts" for n in range(12_000)))
    async with program_asks(desk, talk, form, ADA, approval=approval(quorum=1)):
        await desk.press(ADA, await card(desk, talk, PROMPT), EVERYTHING)
        await until(lambda: "Part 1 of 3" in desk.alone(ADA), "the first part")
        assert "line 11999 of" not in desk.alone(ADA)
        for part in ("Part 2 of 3", "Part 3 of 3"):
            await desk.press_in_view(ADA, "Next part")
            await until(lambda part=part: part in desk.alone(ADA), part)
        assert "line 11999 of" in desk.alone(ADA)
        await desk.press_in_view(ADA, "Previous part")
        await until(lambda: "Part 2 of 3" in desk.alone(ADA), "back again")
