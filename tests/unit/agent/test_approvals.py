"""The rules for approvals of tool calls: who decides, what is asked, and when an earlier approval still counts."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from datetime import UTC, datetime

import pytest

from askback.agent.approvals import ApprovalRules, list_standing_approvers, request_approval
from askback.domain import approval
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Policy
from askback.domain.conversation import Conversation
from askback.domain.group import GroupMembers
from askback.domain.identity import Actor, Place
from askback.domain.interview import settle, start_interview
from askback.domain.outcome import Answer, Choice, Outcome, Vote
from askback.domain.turn import ApprovalContext, ToolCall
from askback.domain.who import Who
from askback.errors import CallerError

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ANN, BEN, CID, DAN = (
    Actor(platform="board", tenant="T1", id=f"U{number}", name=name)
    for number, name in enumerate(("Ann", "Ben", "Cid", "Dan"), 1)
)
PLACE = Place(platform="board", tenant="T1", channel="C1", thread="1")
TALK = Conversation(id="c1", place=PLACE, starter=ANN)
CALL = ToolCall(tool_use_id="t1", tool="deploy", input={"where": "two"})
OTHERS = {"board": Who.from_people(BEN, CID, DAN)}
ALWAYS = ApprovalRules(approvers=OTHERS, allow_always=True)


def policy_of(rules: ApprovalRules, *requesters: Actor) -> Policy:
    return rules.build_policy(TALK, requesters, "digest")


def approval_of(rules: ApprovalRules, *requesters: Actor) -> Approval:
    decides = policy_of(rules, *requesters).approval
    assert decides is not None
    return decides


def granted(*cast: tuple[Actor, str], name: str = "a1", tool: str = "deploy") -> Ask:
    """Return an ask about an earlier call, as it ended by these votes."""
    votes = tuple(Vote(by=by, choice=Choice(index=0, value=value, label=value), at=NOON) for by, value in cast)
    answers = (Answer(question_id=tool, choices=(votes[-1].choice,)),)
    outcome = Outcome(status="answered", at=NOON, by=votes[-1].by, answers=answers, votes=votes)
    form = approval.build_form(tool, {"where": "one"}, always=True)
    return Ask(
        id=name,
        place=PLACE,
        policy=Policy(who=OTHERS["board"], approval=Approval(subject=approval.compute_digest(tool, {"where": "one"}))),
        interview=settle(start_interview(form).evolve(votes=votes), outcome),
        created_at=NOON,
        post_after=NOON,
    )


# The policy


def test_without_settings_the_starter_decides_alone_by_one_vote_and_about_one_call() -> None:
    rules = ApprovalRules()
    assert policy_of(rules, BEN).who == Who.from_people(ANN)
    assert approval_of(rules, BEN, ANN.evolve(tenant="E1")) == Approval(
        refusing=(approval.DENY,), approving=(approval.APPROVE,), reasons="no", requesters=(BEN,), subject="digest"
    )
    call = request_approval(rules, TALK, CALL, ApprovalContext())
    assert call.ask is not None
    assert [option.value for option in call.ask.interview.form.questions[0].options] == [
        approval.APPROVE,
        approval.DENY,
    ]


def test_approvers_decide_about_everybodys_requests_but_their_own() -> None:
    assert approval_of(ApprovalRules(approvers=OTHERS), BEN).requesters == (ANN, BEN)
    assert not approval_of(ApprovalRules(approvers=OTHERS)).own
    assert approval_of(ApprovalRules(approvers=OTHERS, allow_self_approval=True)).own


def test_an_approval_for_the_conversation_is_an_option_only_where_the_rules_allow_it() -> None:
    assert approval_of(ALWAYS).approving == (approval.APPROVE, approval.ALWAYS)
    assert approval_of(ALWAYS).wider == ((approval.ALWAYS, approval.APPROVE),)
    assert approval_of(ApprovalRules(approvers=OTHERS)).wider == ()
    call = request_approval(ALWAYS, TALK, CALL, ApprovalContext())
    assert call.ask is not None
    assert approval.ALWAYS in [option.value for option in call.ask.interview.form.questions[0].options]


def test_rules_that_name_approvers_elsewhere_let_nobody_decide_here() -> None:
    rules = ApprovalRules(approvers={"elsewhere": Who.from_people(BEN)})
    with pytest.raises(CallerError, match="lists no one on board"):
        policy_of(rules)
    call = request_approval(rules, TALK, CALL, ApprovalContext())
    assert (call.ask, call.is_error, call.notice) == (None, True, None)
    assert call.result is not None
    assert call.result.startswith("deploy was not run: it needs approval, and nobody can give it.")


@pytest.mark.parametrize(
    ("after", "to", "expected"),
    [
        (60.0, {"board": Who.from_people(DAN)}, [Who.from_people(DAN)]),
        (60.0, {"elsewhere": Who.from_people(DAN)}, []),
        (60.0, {}, []),
        (None, {"board": Who.from_people(DAN)}, []),
        (None, {}, []),
    ],
)
def test_others_are_asked_later_where_both_the_delay_and_the_people_are_set(
    after: float | None, to: dict[str, Who], expected: list[Who]
) -> None:
    rules = ApprovalRules(approvers={"board": Who.from_people(BEN, CID)}, escalate_after=after, escalate_to=to)
    assert [one.who for one in policy_of(rules).escalations] == expected


def test_the_groups_that_decide_are_those_of_this_platform_now_or_later() -> None:
    rules = ApprovalRules(
        approvers={"board": Who(groups=("G1", "G2")), "elsewhere": Who(groups=("G4",))},
        escalate_to={"board": Who(people=(DAN,), groups=("G2", "G3"))},
    )
    assert rules.list_groups("board") == ("G1", "G2", "G3")
    assert rules.list_groups("elsewhere") == ("G4",)
    assert rules.list_groups("nowhere") == ()


def test_nobody_changes_the_rules_of_a_running_process() -> None:
    with pytest.raises(FrozenInstanceError):
        ALWAYS.quorum = 0  # pyright: ignore[reportAttributeAccessIssue] - the type checker refuses it, too


# The call


def test_a_call_that_too_few_can_approve_is_never_asked_about_and_people_hear_why() -> None:
    rules = ApprovalRules(approvers={"board": Who(groups=("G1",))})
    context = ApprovalContext(members={"G1": GroupMembers(people=(ANN,))}, alone=ANN)
    call = request_approval(rules, TALK, CALL, context)
    assert (call.ask, call.is_error) == (None, True)
    assert call.result is not None
    assert call.notice is not None
    assert "no approver is left to decide" in call.result
    assert "no approver is left to decide" in call.notice


@pytest.mark.parametrize("alone", [None, ANN])
def test_a_call_whose_approvers_cannot_see_the_place_is_not_asked_about_there(alone: Actor | None) -> None:
    call = request_approval(ApprovalRules(approvers=OTHERS), TALK, CALL, ApprovalContext(alone=alone))
    assert (call.ask is None, call.is_error, call.notice is not None) == ((alone is not None,) * 3)
    if alone is not None:
        assert call.result is not None
        assert "the people who decide cannot see this direct message" in call.result


# Earlier approvals


@pytest.mark.parametrize(
    ("quorum", "settled", "approved"),
    [
        pytest.param(1, (), None, id="none"),
        pytest.param(1, (granted((BEN, approval.ALWAYS)),), "a1", id="for the rest of the conversation"),
        pytest.param(1, (granted((BEN, approval.APPROVE)),), None, id="only once"),
        pytest.param(1, (granted((BEN, approval.ALWAYS), tool="wipe"),), None, id="another tool"),
        pytest.param(2, (granted((BEN, approval.ALWAYS)),), None, id="by fewer than must agree"),
        pytest.param(
            2, (granted((BEN, approval.ALWAYS), (BEN.evolve(tenant=None), approval.ALWAYS)),), None, id="by one, twice"
        ),
        pytest.param(
            2, (granted((BEN, approval.ALWAYS), (CID, approval.ALWAYS)),), "a1", id="by as many as must agree"
        ),
        pytest.param(
            1, (granted((BEN, approval.ALWAYS), (CID, approval.ALWAYS)),), "a1", id="by more than must agree now"
        ),
        pytest.param(1, (granted((ANN, approval.ALWAYS)),), None, id="by who may not decide about this call"),
        pytest.param(
            1, (granted((BEN, approval.ALWAYS), (ANN, approval.ALWAYS)),), None, id="by one who may and one who may not"
        ),
        pytest.param(
            1,
            (granted((BEN, approval.ALWAYS)), granted((CID, approval.ALWAYS), name="a2")),
            "a2",
            id="the newest of two",
        ),
        pytest.param(
            1,
            (granted((BEN, approval.ALWAYS)), granted((CID, approval.APPROVE), name="a2")),
            "a1",
            id="the older one, if the newer was for one call",
        ),
    ],
)
def test_an_approval_for_the_conversation_counts_while_as_many_as_must_agree_gave_it(
    quorum: int, settled: tuple[Ask, ...], approved: str | None
) -> None:
    rules = ApprovalRules(approvers=OTHERS, quorum=quorum, allow_always=True)
    call = request_approval(rules, TALK, CALL, ApprovalContext(settled=settled))
    assert (call.approved, call.ask is None) == (approved, approved is not None)


def test_an_approval_for_the_conversation_no_longer_counts_once_the_rules_forbid_it() -> None:
    settled = (granted((BEN, approval.ALWAYS), (CID, approval.ALWAYS), (BEN, approval.ALWAYS)),)
    assert list_standing_approvers(ALWAYS, settled) == (BEN, CID)
    rules = ApprovalRules(approvers=OTHERS)
    assert list_standing_approvers(rules, settled) == ()
    call = request_approval(rules, TALK, CALL, ApprovalContext(settled=settled))
    assert call.approved is None
    assert call.ask is not None


@pytest.mark.parametrize(
    ("groups", "approved"), [(("G1",), "a1"), ((), None), (None, None)], ids=["still in", "left", "unknown"]
)
def test_a_member_of_a_group_counts_only_while_they_are_in_it(
    groups: tuple[str, ...] | None, approved: str | None
) -> None:
    rules = ApprovalRules(approvers={"board": Who(groups=("G1",))}, allow_always=True)
    context = ApprovalContext(
        settled=(granted((BEN.evolve(groups=("G1",)), approval.ALWAYS)),),
        givers=() if groups is None else (CID.evolve(groups=("G1",)), BEN.evolve(groups=groups)),
    )
    assert request_approval(rules, TALK, CALL, context).approved == approved
