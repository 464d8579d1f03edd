"""Only the permitted people may answer: closed by default, one check."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askback.domain.ask_policy import LONGEST_WAIT, NOT_ADMITTED, NOT_ASKED, NOT_TAKING_PART, Denied, Policy
from askback.domain.identity import Actor
from askback.domain.open_ask_limits import Limits
from askback.domain.who import OpenTo, Who
from askback.errors import InvalidValue
from support.cases import ANN, BEN, NOON, form, question

CID = Actor(platform="local", tenant="T1", id="U3", name="Cid")
DEE = Actor(platform="local", tenant="T1", id="U4", name="Dee")
YES_OR_NO = form(question("deploy", "Yes", "No", allow_custom=False))


def test_nobody_may_answer_unless_it_is_said_who():
    with pytest.raises(InvalidValue, match="is empty: give people or groups"):
        Who()
    with pytest.raises(InvalidValue, match="who: is missing"):
        Policy.parse({})


def test_the_people_who_are_named_may_answer_and_nobody_else():
    policy = Policy(who=Who.from_people(ANN))
    assert policy.explain_denial(ANN) is None
    assert policy.explain_denial(BEN) == "Only Ann can answer this."


def test_a_display_name_carries_no_authority():
    assert not Who.from_people(ANN).contains(BEN.evolve(name=ANN.name))
    assert Who.from_people(ANN).contains(ANN.evolve(name="Somebody"))


def test_the_same_id_elsewhere_is_somebody_else():
    assert not Who.from_people(ANN).contains(ANN.evolve(tenant="T2"))
    assert not Who.from_people(ANN).contains(ANN.evolve(platform="other"))


def test_a_tenant_that_one_side_does_not_know_contradicts_nothing():
    assert Who.from_people(ANN).contains(ANN.evolve(tenant=None))
    assert Who.from_people(ANN.evolve(tenant=None)).contains(ANN)


def test_members_of_a_group_may_answer_as_far_as_the_platform_says_that_they_are():
    policy = Policy(who=Who(groups=("G1", "G2")))
    assert policy.explain_denial(ANN.evolve(groups=("G0", "G2"))) is None
    assert policy.explain_denial(ANN.evolve(groups=("G3",))) is not None
    assert policy.explain_denial(ANN) is not None


def test_a_person_is_not_a_group_of_that_name():
    assert not Who(groups=("U1",)).contains(ANN)
    assert not Who.from_people(Actor(platform="local", id="G1")).contains(ANN.evolve(groups=("G1",)))


def test_people_and_groups_add_up_and_anyone_has_to_be_said():
    both = Who(people=(ANN,), groups=("G1",))
    assert both.contains(ANN)
    assert both.contains(BEN.evolve(groups=("G1",)))
    assert not both.contains(BEN)
    assert Who(anyone=True).contains(BEN)


def test_an_unknown_person_can_never_be_the_one_who_is_asked():
    for nobody in ({"platform": "", "id": "U1"}, {"platform": "local", "id": ""}):
        with pytest.raises(InvalidValue, match="is too short"):
            Actor.parse(nobody)
    with pytest.raises(InvalidValue, match="is too short"):
        Who(groups=("",))


@pytest.mark.parametrize(
    ("open_to", "actor", "admitted", "denied"),
    [
        ("participants", ANN, True, None),
        ("participants", BEN, True, None),
        ("participants", CID, True, "not_taking_part"),
        ("participants", ANN, False, "not_admitted"),
        ("participants", BEN, False, "not_admitted"),
        ("allowed", ANN, True, None),
        ("allowed", CID, True, None),
        ("allowed", ANN, False, "not_admitted"),
        ("allowed", CID, False, "not_admitted"),
        (None, ANN, False, None),
        (None, BEN, True, "not_asked"),
    ],
)
def test_a_question_that_is_open_to_more_people_is_answered_by_those_who_may_talk_to_the_bot(
    open_to: OpenTo | None, actor: Actor, admitted: bool, denied: Denied | None
):
    """Ann is named, and Ben has written in the thread."""
    policy = Policy(who=Who(people=(ANN,), open_to=open_to))
    assert policy.who.contains(actor, (BEN,), admitted=admitted) == (denied is None)
    assert policy.find_denial(actor, (BEN,), admitted=admitted) == denied
    words = {
        "not_admitted": NOT_ADMITTED,
        "not_taking_part": NOT_TAKING_PART,
        "not_asked": "Only Ann can answer this.",
    }
    assert policy.explain_denial(actor, (BEN,), admitted=admitted) == (denied and words[denied])


def test_nobody_may_talk_to_the_bot_unless_it_is_said_that_they_may():
    policy = Policy(who=Who(people=(ANN,), open_to="allowed"))
    assert not policy.who.contains(ANN)
    assert policy.find_denial(ANN) == "not_admitted"
    assert policy.explain_denial(ANN) == NOT_ADMITTED


def test_whoever_is_asked_acts_only_within_the_bounds_of_the_setting():
    policy = Policy(who=Who.from_people(ANN, BEN), within=Who(people=(BEN,), groups=("G1",)))
    assert policy.find_denial(ANN) == "not_asked"
    assert policy.find_denial(BEN) is None
    assert policy.find_denial(ANN.evolve(groups=("G1",))) is None
    assert policy.find_denial(CID.evolve(groups=("G1",))) == "not_asked", "the bounds let nobody in"
    assert policy.evolve(who=Who(people=(ANN,), groups=("G2",))).groups == ("G2", "G1")
    assert Policy(who=Who(groups=("G2",))).groups == ("G2",)


@pytest.mark.parametrize(("open_to", "admission", "taking_part"), [
    (None, False, False), ("allowed", True, False), ("participants", True, True),
])  # fmt: skip
def test_who_wrote_and_who_may_talk_to_the_bot_is_looked_up_where_the_policy_asks_for_it(
    open_to: OpenTo | None, admission: bool, taking_part: bool
):
    who = Who(people=(ANN,), open_to=open_to)
    for policy in (Policy(who=who), Policy(who=Who.from_people(ANN), within=who)):
        assert (policy.is_admission_needed, policy.is_for_participants) == (admission, taking_part)


def test_whoever_may_answer_as_one_of_many_is_not_asked_by_name():
    assert Who(people=(ANN,), groups=("G1",), open_to="allowed").is_asked(ANN)
    assert Who(people=(ANN,), groups=("G1",)).is_asked(BEN.evolve(groups=("G1",)))
    assert not Who(people=(ANN,), open_to="allowed").is_asked(BEN)
    assert Who(anyone=True).is_asked(BEN)


def test_a_refusal_names_few_people_whose_names_are_known_and_nobody_else():
    some = (ANN, BEN, CID)
    assert Policy(who=Who.from_people(*some)).explain_denial(DEE) == "Only Ann or Ben or Cid can answer this."
    assert Policy(who=Who.from_people(*some, DEE)).explain_denial(DEE.evolve(id="U5")) == NOT_ASKED
    assert Policy(who=Who.from_people(ANN, BEN.evolve(name=" "))).explain_denial(DEE) == NOT_ASKED
    assert Policy(who=Who.from_people(ANN.evolve(name=""))).explain_denial(DEE) == NOT_ASKED
    assert Policy(who=Who(people=(ANN,), groups=("G1",))).explain_denial(DEE) == NOT_ASKED
    assert Policy(who=Who(anyone=True), within=Who.from_people(ANN)).explain_denial(DEE) == NOT_ASKED


actors = st.builds(
    Actor,
    platform=st.sampled_from(["p", "q"]),
    id=st.sampled_from(["U1", "U2", "G1"]),
    tenant=st.sampled_from([None, "T1", "T2"]),
    name=st.sampled_from(["Ann", "Ben"]),
    groups=st.lists(st.sampled_from(["G1", "G2", "U1"]), max_size=2).map(tuple),
)


@settings(deadline=None, max_examples=100)
@given(st.lists(actors, max_size=2), st.lists(st.sampled_from(["G1", "G2"]), max_size=2), actors)
def test_whoever_is_let_in_is_named_or_in_a_named_group(people: list[Actor], groups: list[str], actor: Actor):
    if not people and not groups:
        return
    who = Who(people=tuple(people), groups=tuple(groups))
    named = any(
        (one.platform, one.id) == (actor.platform, actor.id) and len({one.tenant, actor.tenant} - {None}) < 2
        for one in people
    )
    member = any(group in groups for group in actor.groups)
    assert who.contains(actor) == (named or member)
    assert (Policy(who=who).explain_denial(actor) is None) == (named or member)


def test_the_limits_are_those_of_the_design_documents():
    limits = Limits()
    assert (limits.pending_per_place, limits.pause(agent=True).total_seconds(), limits.timeout) == (10, 5.0, 300.0)
    assert Limits(timeout=None).timeout is None
    assert Limits().pause(agent=False) == timedelta()


def test_a_pace_that_is_set_holds_for_agents_and_for_programs():
    for agent in (True, False):
        assert Limits(seconds_between_asks=0.5).pause(agent=agent) == timedelta(seconds=0.5)
        assert Limits(seconds_between_asks=0).pause(agent=agent) == timedelta()


def test_limits_under_which_nothing_could_be_asked_cannot_be_set():
    never: tuple[dict[str, Any], ...] = (
        {"pending_per_place": 0},
        {"seconds_between_asks": -0.5},
        {"seconds_between_asks": float("inf")},
        {"timeout": 0},
        {"timeout": float("inf")},
    )
    for wrong in never:
        with pytest.raises(InvalidValue):
            Limits(**wrong)
    assert Limits(pending_per_place=1, timeout=0.5).timeout == 0.5


def test_nobody_is_waited_for_longer_than_ten_years():
    assert timedelta(seconds=LONGEST_WAIT) == timedelta(days=10 * 366)


def test_a_policy_survives_a_round_trip_through_json():
    policy = Policy(who=Who(people=(ANN,), groups=("G1",)), deadline=NOON + timedelta(days=400))
    assert Policy.model_validate_json(policy.model_dump_json()) == policy
    assert Policy(who=Who(anyone=True)).deadline is None


def test_people_are_put_together_and_taken_out_by_who_they_are():
    some = Who(people=(ANN, BEN), groups=("G1",))
    assert some.merge(Who(people=(BEN.evolve(name="B"), CID), groups=("G1", "G2"))) == Who(
        people=(ANN, BEN, CID), groups=("G1", "G2")
    )
    assert some.remove_accounts((ANN.evolve(tenant=None),)) == Who(people=(BEN,), groups=("G1",))
    assert Who.from_people(ANN).remove_accounts((ANN,)) is None
    assert some.subtract(Who(people=(ANN,), groups=("G1",))) == Who.from_people(BEN)
    assert some.subtract(some) is None
    assert Who(anyone=True).subtract(some) == Who(anyone=True)
    assert Who(anyone=True).subtract(Who(anyone=True)) is None
    assert Who.from_people(ANN, ANN, BEN).distinct == (ANN, BEN)


def test_whoever_else_it_is_open_to_is_put_together_and_taken_out_as_well():
    some, taking_part, allowed = Who.from_people(ANN), Who(open_to="participants"), Who(open_to="allowed")
    assert some.merge(Who(anyone=True)) == Who(people=(ANN,), anyone=True)
    assert some.merge(taking_part) == Who(people=(ANN,), open_to="participants")
    assert taking_part.merge(some).open_to == "participants"
    assert taking_part.merge(allowed).open_to == allowed.merge(taking_part).open_to == "allowed"
    assert taking_part.remove_accounts((ANN,)) == taking_part
    assert allowed.subtract(some) == allowed
    assert allowed.subtract(allowed) is None
    assert Who(people=(ANN,), open_to="allowed").subtract(allowed) == some
