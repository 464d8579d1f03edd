"""The requesters of a call: the rule alone, and its input from rows, including rows of earlier releases."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, update

from askback import tool
from askback.agent.approver_shortage import find_shortage as shortage_of
from askback.domain import approval
from askback.domain.actions import Action, Back, Choose, FieldAnswer, GoTo, Next, Pick, Submit, SubmitForm, SubmitText
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Escalation, Policy
from askback.domain.click_response import Redraw
from askback.domain.form import Form, Option, Question
from askback.domain.group import GroupMembers
from askback.domain.identity import Actor
from askback.domain.interview import settle, start_interview
from askback.domain.outcome import Answer, Choice, Outcome, Picked, Vote
from askback.domain.requesters import PastCall, ReadMessage, find_authors, find_requesters
from askback.domain.who import Who
from askback.manager import build_ask, build_policy
from askback.store.queries import asks, transcript
from askback.store.schema import transcript as transcript_table
from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from support.approvals import APPROVE, CID, DENY, TEAM, Deploying, to
from support.engine import ANN, BEN, HERE, Board, engine

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAN = Actor(platform="board", tenant="T1", id="U4", name="Dan")


def message(seq: int, *authors: Actor, asks: bool = True) -> ReadMessage:
    return ReadMessage(seq=seq, authors=authors, complete=True, asks=asks)


def past(*calls: tuple[int, str, bool, bool]) -> list[PastCall]:
    """Return calls by row, tool, whether people approved them, and whether they succeeded."""
    return [
        PastCall(seq=seq, tool=tool, approved=approved, succeeded=succeeded) for seq, tool, approved, succeeded in calls
    ]


DONE, FAILED, STANDING, DENIED = (True, True), (True, False), (False, True), (False, False)
"""The ends of a call: approved and successful, approved and failed, allowed by an earlier approval, and denied."""


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        pytest.param([], (ANN, BEN, CID, DAN), id="nothing was called before"),
        pytest.param([(1, "deploy", *DONE)], (ANN, CID, DAN), id="what was done retires it"),
        pytest.param([(3, "deploy", *DONE)], (ANN, DAN), id="and all before it"),
        pytest.param([(1, "deploy", *DONE), (3, "deploy", *DONE)], (ANN, DAN), id="the newest counts"),
        pytest.param([(3, "deploy", *DONE), (1, "deploy", *DONE)], (ANN, DAN), id="in whatever order they are told"),
        pytest.param([(1, "deploy", *DONE), (3, "deploy", *DENIED)], (ANN, CID, DAN), id="denied, or given up"),
        pytest.param([(1, "deploy", *DONE), (3, "deploy", *FAILED)], (ANN, CID, DAN), id="failed"),
        pytest.param([(1, "deploy", *DONE), (3, "deploy", *STANDING)], (ANN, CID, DAN), id="nobody saw this one"),
        pytest.param([(1, "wipe", *DONE)], (ANN, BEN, CID, DAN), id="another tool"),
        pytest.param(
            [(1, "deploy", *DONE), (1, "deploy", *DENIED)], (ANN, BEN, CID, DAN), id="one of two, denied last"
        ),
        pytest.param(
            [(1, "deploy", *FAILED), (1, "deploy", *DONE)], (ANN, BEN, CID, DAN), id="one of two, failed first"
        ),
        pytest.param([(1, "deploy", *DONE), (1, "wipe", *DENIED)], (ANN, CID, DAN), id="beside another tool"),
        pytest.param([(4, "deploy", *DONE)], (ANN, BEN, CID, DAN), id="nobody wrote since"),
        pytest.param([(1, "deploy", *DONE), (6, "deploy", *DONE)], (ANN, CID, DAN), id="nobody wrote since the newest"),
    ],
)
def test_words_stay_with_their_authors_until_they_are_retired(
    calls: list[tuple[int, str, bool, bool]], expected: tuple[Actor, ...]
) -> None:
    read = (message(0, BEN), message(2, CID), message(5, DAN))
    assert find_requesters("deploy", ANN, read, past(*calls)) == expected


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        pytest.param((), (ANN, BEN), id="nothing"),
        pytest.param((message(2, CID),), (ANN, BEN, CID), id="what may be older than the decision"),
        pytest.param((message(3, CID),), (ANN, CID), id="a new message"),
        pytest.param((message(3, CID, asks=False),), (ANN, BEN, CID), id="a reason or an answer"),
        pytest.param((message(2, CID), message(4, DAN)), (ANN, CID, DAN), id="a new message, later"),
    ],
)
def test_only_a_new_message_after_the_results_retires_what_was_written_before(
    later: tuple[ReadMessage, ...], expected: tuple[Actor, ...]
) -> None:
    read = (message(0, BEN), *later)
    assert find_requesters("deploy", ANN, read, past((1, "deploy", *DONE))) == expected


def test_each_account_is_one_requester_and_who_began_comes_first() -> None:
    read = [message(0, BEN, ANN, BEN.evolve(tenant="E1", name="Benjamin"))]
    assert find_requesters("deploy", ANN, read, ()) == (ANN, BEN)


# The authors in an outcome


FORM = Form(
    questions=(
        Question(id="a", prompt="Where?", options=(Option(value="x", label="X"),)),
        Question(id="b", prompt="When?", options=(Option(value="y", label="Y"),)),
    )
)


def ended(outcome: Outcome, *, form: Form = FORM, decides: Approval | None = None) -> Ask:
    interview = start_interview(form).evolve(votes=outcome.votes)
    return Ask(
        id="a1",
        place=HERE,
        policy=Policy(who=Who.from_people(ANN, BEN, CID), approval=decides),
        interview=settle(interview, outcome),
        created_at=NOON,
        post_after=NOON,
    )


def answered(*texts: str | None) -> Outcome:
    chosen = (Choice(index=0, value="x", label="X"),)
    answers = tuple(
        Answer(question_id=f"q{number}", choices=() if text else chosen, text=text) for number, text in enumerate(texts)
    )
    return Outcome(status="answered", at=NOON, by=ANN, answers=answers)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        pytest.param(answered(None), (), id="a click"),
        pytest.param(answered(None, "on Friday"), (ANN, BEN), id="a text, by one or the other"),
        pytest.param(
            Outcome(status="declined", at=NOON, by=BEN, reason="not 1.4"), (BEN,), id="declined with a reason"
        ),
        pytest.param(Outcome(status="declined", at=NOON, by=BEN), (), id="declined"),
        pytest.param(Outcome(status="declined", at=NOON, by=BEN, reason="  "), (), id="declined with a blank"),
        pytest.param(Outcome(status="cancelled", at=NOON, by=CID, reason="use 1.5"), (CID,), id="cancelled"),
        pytest.param(Outcome(status="cancelled", at=NOON, reason="moved"), (), id="cancelled by the operator"),
        pytest.param(Outcome(status="timed_out", at=NOON), (), id="timed out"),
        pytest.param(Outcome(status="undeliverable", at=NOON, reason="no channel"), (), id="undeliverable"),
    ],
)
def test_only_what_somebody_wrote_makes_them_an_author(outcome: Outcome, expected: tuple[Actor, ...]) -> None:
    assert find_authors(ended(outcome), (BEN,)) == expected


def votes(*cast: tuple[Actor, str, str | None], refused: bool) -> Ask:
    given = tuple(
        Vote(by=by, choice=Choice(index=0, value=value, label=value), reason=reason, at=NOON)
        for by, value, reason in cast
    )
    answers = (Answer(question_id="deploy", choices=(given[-1].choice,)),)
    outcome = Outcome(status="answered", at=NOON, by=given[-1].by, answers=answers, votes=given, refused=refused)
    decides = Approval(refusing=(approval.DENY,), subject=approval.compute_digest("deploy", {}))
    return ended(outcome, form=approval.build_form("deploy", {}), decides=decides)


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        pytest.param(votes((BEN, approval.DENY, "use 1.5"), refused=True), (BEN,), id="why it was denied"),
        pytest.param(votes((BEN, approval.DENY, None), refused=True), (), id="denied without a word"),
        pytest.param(
            votes((CID, approval.APPROVE, "go"), (BEN, approval.DENY, "no"), refused=True), (BEN,), id="outvoted"
        ),
        pytest.param(votes((CID, approval.APPROVE, "go"), refused=False), (), id="why it was approved is not told"),
        pytest.param(
            votes((BEN, approval.DENY, "no"), (CID, approval.APPROVE, "go"), refused=False), (), id="a vote against"
        ),
    ],
)
def test_of_a_decision_the_model_reads_only_why_it_was_denied(ask: Ask, expected: tuple[Actor, ...]) -> None:
    assert find_authors(ask) == expected
    told = (
        ""
        if ask.outcome is None or not expected
        else approval.describe_unapproved("deploy", ask.outcome, lambda one: one.id)
    )
    assert all(one.id in told for one in expected)


# Too few approvers left

OWN = "People may not decide about their own requests."


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (Policy(who=Who.from_people(ANN, BEN), approval=Approval(requesters=(ANN,))), None),
        (Policy(who=Who(anyone=True), approval=Approval(requesters=(ANN,))), None),
        (Policy(who=Who(groups=("G1", "G?")), approval=Approval(requesters=(ANN, BEN, CID))), None),
        (Policy(who=Who.from_people(ANN), approval=Approval(requesters=(ANN,), own=True)), None),
        (
            Policy(who=Who.from_people(ANN), approval=Approval(requesters=(ANN.evolve(tenant="E1"),))),
            f"no approver is left to decide. Ann asked for this. {OWN}",
        ),
        (
            Policy(who=Who(groups=("G1",)), approval=Approval(requesters=(ANN, BEN, CID))),
            f"no approver is left to decide. Ben and Cid wrote what I act on. {OWN}",
        ),
        (
            Policy(who=Who.from_people(ANN, BEN, CID), approval=Approval(quorum=2, requesters=(ANN, BEN))),
            f"2 people have to agree, but only 1 can. Ann asked for this. Ben wrote what I act on. {OWN}",
        ),
        (
            Policy(who=Who.from_people(ANN, BEN, CID), approval=Approval(refusals=2, requesters=(ANN, BEN))),
            f"2 people have to refuse, but only 1 can. Ann asked for this. Ben wrote what I act on. {OWN}",
        ),
        (
            Policy(who=Who.from_people(BEN), approval=Approval(quorum=2, requesters=(ANN,))),
            "2 people have to agree, but only 1 can.",
        ),
        (
            Policy(
                who=Who.from_people(BEN),
                approval=Approval(requesters=(ANN, BEN)),
                escalations=(Escalation(at=NOON, who=Who.from_people(CID)),),
            ),
            None,
        ),
    ],
)
def test_people_hear_who_is_missing_and_why(policy: Policy, told: str | None) -> None:
    short = shortage_of(policy, ANN, {"G1": GroupMembers(people=(BEN, CID))})
    assert (None if short is None else short.describe()) == told


@pytest.mark.parametrize(
    ("count", "named"),
    [
        (1, "P1 wrote"),
        (5, "P1, P2, P3, P4 and P5 wrote"),
        (6, "P1, P2, P3, P4, P5 and 1 more wrote"),
        (7, "P1, P2, P3, P4, P5 and 2 more wrote"),
    ],
)
def test_of_many_authors_people_hear_some_names(count: int, named: str) -> None:
    people = tuple(Actor(platform="board", id=f"P{number}") for number in range(1, count + 1))
    short = shortage_of(Policy(who=Who.from_people(*people), approval=Approval(requesters=people)), ANN, {})
    assert short is not None
    assert f"no approver is left to decide. {named} what I act on." in short.describe()


NO_GROUP = "there is no such user group."


@pytest.mark.parametrize(
    ("policy", "groups", "told"),
    [
        pytest.param(
            Policy(who=Who(groups=("G1",)), approval=Approval(requesters=(ANN,))),
            {"G1": GroupMembers(people=(ANN,), others=1)},
            None,
            id="one whom the platform does not name",
        ),
        pytest.param(
            Policy(who=Who(groups=("G1", "G2")), approval=Approval(quorum=2, requesters=(ANN,))),
            {"G1": GroupMembers(people=(ANN,), others=1), "G2": GroupMembers(others=1)},
            None,
            id="perhaps two",
        ),
        pytest.param(
            Policy(who=Who(groups=("G1",)), approval=Approval(quorum=2, requesters=(ANN,))),
            {"G1": GroupMembers(people=(ANN,), others=1)},
            f"2 people have to agree, but only 1 can. Ann asked for this. {OWN}",
            id="too few whom the platform does not name",
        ),
        pytest.param(
            Policy(who=Who(groups=("G1",)), approval=Approval(requesters=(ANN,))),
            {"G1": GroupMembers(unreadable=NO_GROUP)},
            f"no approver is left to decide. I cannot read the group G1: {NO_GROUP}",
            id="a group that cannot be read",
        ),
        pytest.param(
            Policy(who=Who(people=(ANN,), groups=("G1",)), approval=Approval(requesters=(ANN,))),
            {"G1": GroupMembers(unreadable=NO_GROUP)},
            f"no approver is left to decide. Ann asked for this. {OWN} I cannot read the group G1: {NO_GROUP}",
            id="a group that cannot be read, and a requester",
        ),
        pytest.param(
            Policy(who=Who(people=(BEN,), groups=("G1",)), approval=Approval(requesters=(ANN,))),
            {"G1": GroupMembers(unreadable=NO_GROUP)},
            None,
            id="somebody beside the group that cannot be read",
        ),
        pytest.param(
            Policy(who=Who(groups=("G1", "G2")), approval=Approval(requesters=(ANN,))),
            {"G1": GroupMembers(unreadable=NO_GROUP)},
            None,
            id="a group that may be read later",
        ),
    ],
)
def test_a_shortage_is_found_as_far_as_the_members_of_groups_are_known(
    policy: Policy, groups: dict[str, GroupMembers], told: str | None
) -> None:
    short = shortage_of(policy, ANN, groups)
    assert (None if short is None else short.describe()) == told


@pytest.mark.parametrize(
    ("who", "later", "settings"),
    [
        (Who(groups=("G1",)), None, "The setting for that is “approvers”."),
        (Who(groups=("G1", "G2")), Who(groups=("G1",)), "The setting for that is “approvers”."),
        (
            Who(people=(ANN,), groups=("G1",)),
            Who(groups=("G2",)),
            "The settings for that are “approvers”, “approval_escalate_to” and “approval_own”.",
        ),
    ],
)
def test_people_hear_which_settings_name_a_group_that_cannot_be_read(
    who: Who, later: Who | None, settings: str
) -> None:
    escalations = () if later is None else (Escalation(at=NOON, who=later),)
    policy = Policy(who=who, approval=Approval(requesters=(ANN,)), escalations=escalations)
    short = shortage_of(policy, ANN, dict.fromkeys(("G1", "G2"), GroupMembers(unreadable=NO_GROUP)))
    assert short is not None
    assert short.advice == settings


@pytest.mark.parametrize(
    ("requesters", "cure"),
    [
        ((ANN, BEN), "“approvers” and “approval_own”. Or write “new”, and ask me again without quoting them."),
        ((ANN,), "“approvers” and “approval_own”."),
        ((), "“approvers”."),
    ],
)
def test_a_new_conversation_is_offered_only_where_it_helps(requesters: tuple[Actor, ...], cure: str) -> None:
    who = Who.from_people(ANN, BEN) if BEN in requesters else Who.from_people(ANN)
    quorum = 1 if requesters else 2
    short = shortage_of(Policy(who=who, approval=Approval(quorum=quorum, requesters=requesters)), ANN, {})
    assert short is not None
    assert short.advice.endswith(cure)


@pytest.mark.parametrize(
    ("approval", "others", "restarts"),
    [
        pytest.param(Approval(quorum=1, requesters=(ANN, BEN, CID)), 0, True, id="more than enough"),
        pytest.param(Approval(quorum=3, requesters=(ANN, BEN, CID)), 0, False, id="too few in any conversation"),
        pytest.param(Approval(quorum=3, requesters=(ANN, BEN, CID)), 1, True, id="with one who is not named"),
        pytest.param(Approval(quorum=3, requesters=(BEN, CID)), 0, True, id="where the starter decides"),
    ],
)
def test_a_new_conversation_counts_everybody_but_the_starter(approval: Approval, others: int, restarts: bool) -> None:
    who = Who(people=(ANN, BEN, CID), groups=("G1",))
    short = shortage_of(Policy(who=who, approval=approval), ANN, {"G1": GroupMembers(others=others)})
    assert short is not None
    assert short.can_restart is restarts


# From rows


def forget_authors(connection: Connection) -> None:
    connection.execute(update(transcript_table).values(authors=None))


async def people_of(one: Any, conversation_id: str) -> list[str]:
    """Return everyone whose words the model has read."""

    def work(connection: Connection) -> list[str]:
        return [author.id for author in transcript.list_authors(connection, conversation_id)]

    return await one.store._database.read(work)


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("old", [False, True], ids=["rows of today", "rows of an earlier release"])
async def test_the_rule_holds_across_a_restart(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, old: bool
) -> None:
    services.model.script(turn(to("one")), turn("Then not."), turn(to("two")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.press(ask, DENY.evolve(reason="two, not one"), BEN)
        await one.says("Then not.")
        await board.until(lambda: board.statuses[-1] == "idle")
        if old:
            await one.store._database.run(forget_authors)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("again")
        (ask,) = await one.asked()
        assert ask.policy.approval is not None
        assert ask.policy.approval.requesters == (ANN, BEN)
        assert ask.conversation_id is not None
        assert await people_of(one, ask.conversation_id) == ([ANN.id] if old else [ANN.id, BEN.id])
        await one.press(ask, APPROVE, CID)
        await one.says("Thanks.")
        assert deploying.ran == ["two"]


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("old", [False, True], ids=["rows of today", "rows of an earlier release"])
async def test_an_approved_call_does_not_retire_the_reason_that_came_together_with_its_result(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, old: bool
) -> None:
    @tool(approval=True)
    def wipe(where: str) -> str:
        raise AssertionError("it ran")

    own = (deploying.tool, wipe)
    services.model.script(
        turn(to("one"), call("wipe", where="one")), turn("One is done."), turn(to("two")), turn("Thanks.")
    )
    async with engine(tmp_path, board, services, own=own, approvals=TEAM) as one:
        await one.write("deploy it, and wipe the old one")
        for ask in await one.asked(2):
            denied = ask.interview.form.questions[0].id == "wipe"
            await one.press(ask, DENY.evolve(reason="no, deploy two") if denied else APPROVE, BEN if denied else CID)
        await one.says("One is done.")
        await board.until(lambda: board.statuses[-1] == "idle")
        if old:
            await one.store._database.run(forget_authors)
    async with engine(tmp_path, board, services, own=own, approvals=TEAM) as one:
        await one.write("go on")
        (ask,) = await one.asked()
        assert ask.policy.approval is not None
        assert ask.policy.approval.requesters == (ANN, BEN)
        await one.press(ask, APPROVE, CID)
        await one.says("Thanks.")
        assert deploying.ran == ["one", "two"]


@pytest.mark.usefixtures("stored")
async def test_a_reason_to_stop_makes_its_author_a_requester(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("one")), turn(to("two")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        assert ask.conversation_id is not None
        await one.store.stop(ask.conversation_id, BEN, "deploy two instead")
        await one.write("go on")
        await board.until(lambda: [card for card in board.open() if card.id != ask.id])
        (ask,) = [card for card in board.open() if card.id != ask.id]
        assert ask.policy.approval is not None
        assert ask.policy.approval.requesters == (ANN, BEN)


@pytest.mark.usefixtures("stored")
async def test_who_wrote_into_a_form_is_known_though_another_person_hands_it_in(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board, work=False) as one:
        policy = build_policy(Who.from_people(ANN, BEN, CID), None)
        ask = await one.manager.submit(build_ask(FORM, to=HERE, policy=policy))

        async def does(operation: Any, by: Actor) -> None:
            now = await one.manager.get(ask.id)
            assert now is not None
            await one.press(now, operation, by, draw=False)

        await does(SubmitText(text="on production"), BEN)
        await does(Back(), CID)
        await does(SubmitText(text="on staging"), CID)
        await does(Choose(index=0), ANN)
        await does(Submit(), ANN)
        over = await one.manager.get(ask.id)
        assert over is not None
        assert over.outcome is not None
        assert over.outcome.by == ANN
        wrote = await one.store._database.read(lambda connection: asks.list_text_authors(connection, ask.id))
        assert find_authors(over, wrote) == (ANN, BEN, CID)


NOTED = Form(
    questions=tuple(
        Question(
            id=name,
            prompt=f"{name}?",
            options=(Option(value="a", label="A"), Option(value="b", label="B")),
            allow_custom=False,
            allow_note=True,
        )
        for name in ("one", "two")
    )
)


@pytest.mark.usefixtures("stored")
async def test_who_notes_something_or_sends_a_form_with_a_text_is_an_author_and_who_only_chooses_is_not(
    tmp_path: Path, board: Board
) -> None:
    async with engine(tmp_path, board, work=False) as one:
        policy = build_policy(Who.from_people(ANN, BEN, CID), None)
        ask = await one.manager.submit(build_ask(NOTED, to=HERE, policy=policy))

        async def does(operation: Any, by: Actor) -> None:
            now = await one.manager.get(ask.id)
            assert now is not None
            await one.press(now, operation, by, draw=False)

        def send(*notes: str) -> SubmitForm:
            answers = tuple(FieldAnswer(index=index, chosen=(0,), text=note) for index, note in enumerate(notes))
            return SubmitForm(answers=(answers[0], answers[1].evolve(chosen=())))

        async def list_authors() -> tuple[Actor, ...]:
            return await one.store._database.read(lambda connection: asks.list_text_authors(connection, ask.id))

        await does(send("", ""), CID)
        assert await list_authors() == (), "nobody wrote anything"
        await does(Choose(index=0, note='"note":"on production"'), BEN)
        await does(Choose(index=1), ANN)
        assert await list_authors() == (BEN,)
        await does(send("on staging", ""), CID)
        assert await list_authors() == (BEN, CID)
        await does(GoTo(index=1), ANN)
        await does(Choose(index=1), ANN)
        await does(Submit(), ANN)
        over = await one.manager.get(ask.id)
        assert over is not None
        assert over.outcome is not None
        assert find_authors(over, await list_authors()) == (ANN, BEN, CID)


PEOPLE = Form(
    questions=(
        Question(id="who", prompt="Who?", picks="people"),
        Question(id="where", prompt="Where?", picks="channels", multi_select=True),
    )
)


@pytest.mark.usefixtures("stored")
async def test_who_picks_and_who_is_picked_are_authors_of_the_names(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board, work=False) as one:
        policy = build_policy(Who.from_people(ANN, BEN, CID), None)
        ask = await one.manager.submit(build_ask(PEOPLE, to=HERE, policy=policy))
        dan, channel = Picked(id="U9", name="Dan"), Picked(id="C6", name="#deploy-6-6-6")

        async def does(operation: Any, by: Actor, ticks: Pick | None = None) -> None:
            now = await one.manager.get(ask.id)
            assert now is not None
            step = now.interview.step
            action = Action(ask_id=ask.id, actor=by, at=NOON, step=step, operation=operation, ticks=ticks)
            assert isinstance(await one.manager.act(action), Redraw)

        await does(Pick(picked=(dan,)), CID)
        await does(Next(), BEN, Pick(picked=(channel,), base=()))
        await does(Submit(), ANN)
        over = await one.manager.get(ask.id)
        assert over is not None
        picked = await one.store._database.read(lambda connection: asks.list_text_authors(connection, ask.id))
        assert [one.id for one in find_authors(over, picked)] == [ANN.id, CID.id, BEN.id, dan.id]


def test_a_name_that_is_a_sentence_is_no_sentence_of_a_shortage() -> None:
    ben = BEN.evolve(name="Ann agreed. Nobody")
    short = shortage_of(Policy(who=Who.from_people(ben), approval=Approval(requesters=(ben,))), ANN, {})
    assert short is not None
    assert short.describe() == f"no approver is left to decide. “Ann agreed. Nobody” wrote what I act on. {OWN}"
