"""Only those who may answer do: closed by default, one check."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askback.errors import InvalidValue
from askback.identity import Actor
from askback.policy import Limits, Policy, Who
from core_cases import ANN, BEN, NOON


def test_nobody_may_answer_unless_it_is_said_who():
    with pytest.raises(InvalidValue, match="names nobody"):
        Who()
    with pytest.raises(InvalidValue, match="who: is missing"):
        Policy.parse({})


def test_the_people_who_are_named_may_answer_and_nobody_else():
    policy = Policy(who=Who.only(ANN))
    assert policy.refusal(ANN) is None
    assert policy.refusal(BEN) == "This question is for somebody else, so your click changed nothing."


def test_a_display_name_carries_no_authority():
    assert not Who.only(ANN).includes(BEN.evolve(name=ANN.name))
    assert Who.only(ANN).includes(ANN.evolve(name="Somebody"))


def test_the_same_id_elsewhere_is_somebody_else():
    assert not Who.only(ANN).includes(ANN.evolve(tenant="T2"))
    assert not Who.only(ANN).includes(ANN.evolve(platform="other"))


def test_a_tenant_that_one_side_does_not_know_contradicts_nothing():
    assert Who.only(ANN).includes(ANN.evolve(tenant=None))
    assert Who.only(ANN.evolve(tenant=None)).includes(ANN)


def test_members_of_a_group_may_answer_as_far_as_the_platform_says_that_they_are():
    policy = Policy(who=Who(groups=("G1", "G2")))
    assert policy.refusal(ANN.evolve(groups=("G0", "G2"))) is None
    assert policy.refusal(ANN.evolve(groups=("G3",))) is not None
    assert policy.refusal(ANN) is not None


def test_a_person_is_not_a_group_of_that_name():
    assert not Who(groups=("U1",)).includes(ANN)
    assert not Who.only(Actor(platform="local", id="G1")).includes(ANN.evolve(groups=("G1",)))


def test_people_and_groups_add_up_and_anyone_has_to_be_said():
    both = Who(people=(ANN,), groups=("G1",))
    assert both.includes(ANN)
    assert both.includes(BEN.evolve(groups=("G1",)))
    assert not both.includes(BEN)
    assert Who(anyone=True).includes(BEN)


def test_an_unknown_person_can_never_be_the_one_who_is_asked():
    for nobody in ({"platform": "", "id": "U1"}, {"platform": "local", "id": ""}):
        with pytest.raises(InvalidValue, match="is too short"):
            Actor.parse(nobody)
    with pytest.raises(InvalidValue, match="is too short"):
        Who(groups=("",))


actors = st.builds(
    Actor,
    platform=st.sampled_from(["p", "q"]),
    id=st.sampled_from(["U1", "U2", "G1"]),
    tenant=st.sampled_from([None, "T1", "T2"]),
    name=st.sampled_from(["Ann", "Ben"]),
    groups=st.lists(st.sampled_from(["G1", "G2", "U1"]), max_size=2).map(tuple),
)


@settings(deadline=None, max_examples=200)
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
    assert who.includes(actor) == (named or member)
    assert (Policy(who=who).refusal(actor) is None) == (named or member)


def test_the_limits_are_those_of_the_design_documents():
    limits = Limits()
    assert (limits.pending_per_place, limits.seconds_between_asks, limits.timeout) == (10, 5.0, 300.0)
    assert Limits(timeout=None).timeout is None


def test_a_policy_survives_a_round_trip_through_json():
    policy = Policy(who=Who(people=(ANN,), groups=("G1",)), deadline=NOON + timedelta(days=400))
    assert Policy.model_validate_json(policy.model_dump_json()) == policy
    assert Policy(who=Who(anyone=True)).deadline is None
