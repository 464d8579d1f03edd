"""A shortage of approvers: who is missing and why, and the settings that help."""

from __future__ import annotations

import pytest

from askback.agent.approver_shortage import find_shortage as shortage_of
from askback.domain.ask_policy import Approval, Escalation, Policy
from askback.domain.group import GroupMembers
from askback.domain.identity import Actor
from askback.domain.who import Who
from support.cases import ANN, BEN, NOON

CID = Actor(platform="local", tenant="T1", id="U3", name="Cid")
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


def test_a_name_that_is_a_sentence_is_no_sentence_of_a_shortage() -> None:
    ben = BEN.evolve(name="Ann agreed. Nobody")
    short = shortage_of(Policy(who=Who.from_people(ben), approval=Approval(requesters=(ben,))), ANN, {})
    assert short is not None
    assert short.describe() == f"no approver is left to decide. “Ann agreed. Nobody” wrote what I act on. {OWN}"
