"""Several people decide: who of them may, when, and which rules can never be met."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from askback.domain.ask_policy import OWN_CALL, OWN_REQUEST, Approval, Escalation, Policy
from askback.domain.form import Form
from askback.domain.identity import Actor
from askback.domain.who import Who
from askback.errors import CallerError, InvalidValue
from support.cases import ANN, BEN, NOON, form, question

CID = Actor(platform="local", tenant="T1", id="U3", name="Cid")
YES_OR_NO = form(question("deploy", "Yes", "No", allow_custom=False))


def deciding(**rules: Any) -> Policy:
    """Return a policy by which Ann and Ben decide, with these rules."""
    more = {name: rules.pop(name) for name in ("who", "deadline", "reminders", "escalations") if name in rules}
    return Policy(**{"who": Who.from_people(ANN, BEN), "approval": Approval(**rules), **more})


def after(minutes: float, who: Who | None = None) -> Escalation:
    return Escalation(at=NOON + timedelta(minutes=minutes), who=who or Who.from_people(CID))


def test_nobody_decides_about_their_own_request_unless_that_is_allowed():
    policy = deciding(requesters=(ANN.evolve(name="", tenant=None),))
    assert policy.explain_denial(ANN) == OWN_REQUEST
    assert policy.explain_denial(BEN) is None
    for who in (Who(anyone=True), Who(groups=("G1",))):
        assert policy.evolve(who=who).explain_denial(ANN.evolve(groups=("G1",))) == OWN_REQUEST
    assert deciding(requesters=(ANN,), own=True).explain_denial(ANN) is None


def test_only_the_refusal_about_a_tool_call_names_settings_since_only_those_approvers_come_from_settings():
    assert deciding(requesters=(ANN,), subject="digest").explain_denial(ANN) == OWN_CALL
    assert "“approvers”" in OWN_CALL
    assert "“approvers”" not in OWN_REQUEST


def test_whoever_has_not_been_asked_yet_may_not_decide_yet():
    policy = deciding(escalations=(after(5, Who(people=(CID,), groups=("G9",))),))
    assert policy.explain_denial(CID) is not None
    assert policy.explain_denial(CID.evolve(groups=("G9",))) is not None
    assert policy.groups == ("G9",), "they are known by the time that they are asked"


def test_the_next_moment_is_the_nearest_of_all():
    moments = [NOON + timedelta(minutes=minutes) for minutes in (3, 5, 9)]
    assert deciding().next_due_at is None
    assert deciding(deadline=moments[2]).next_due_at == moments[2]
    assert deciding(deadline=moments[2], reminders=moments[1:2], escalations=(after(3),)).next_due_at == moments[0]
    assert deciding(deadline=moments[2], reminders=moments[:2], escalations=(after(4),)).next_due_at == moments[0]


def test_all_times_of_a_policy_become_later_together_and_never_earlier():
    by = timedelta(minutes=2)
    policy = deciding(deadline=NOON + 9 * by, reminders=(NOON, NOON + by), escalations=(after(6),))
    later = policy.postpone(by)
    assert (later.deadline, later.reminders) == (NOON + 10 * by, (NOON + by, NOON + 2 * by))
    assert later.escalations == (after(8),)
    assert later == policy.shift(by)
    assert policy.postpone(-by) == policy
    assert policy.shift(-by).deadline == NOON + 8 * by
    assert deciding().postpone(by).deadline is None


def test_a_moment_stays_where_it_is_when_a_card_is_posted_late_or_a_clock_differs():
    times = {"deadline": NOON + timedelta(hours=2), "reminders": (NOON + timedelta(hours=1),)}
    policy = Policy(who=Who.from_people(ANN), is_deadline_fixed=True, **times)
    for moved in (policy.postpone(timedelta(minutes=5)), policy.shift(timedelta(minutes=-5))):
        assert moved.deadline == policy.deadline
        assert moved.reminders != policy.reminders
    assert "is_deadline_fixed" not in deciding(deadline=NOON).model_dump(), "an older process rejects it"


def test_those_who_decide_are_named_without_whoever_asked_for_it():
    assert deciding(requesters=(ANN,)).explain_denial(CID) == "Only Ben can answer this."
    assert deciding(requesters=(ANN,), own=True).explain_denial(CID) == "Only Ann or Ben can answer this."
    assert deciding(requesters=(ANN, BEN)).deciders == Who.from_people(ANN, BEN), "somebody has to be named"
    assert Policy(who=Who.from_people(ANN)).deciders == Who.from_people(ANN)


def test_where_one_person_alone_sees_it_an_ask_is_refused_unless_they_alone_can_decide():
    unseen = "the people who decide cannot see this direct message"
    assert Policy(who=Who.from_people(ANN)).find_sole_viewer_problem(ANN) is None
    assert Policy(who=Who.from_people(ANN)).find_sole_viewer_problem(BEN) == unseen
    assert deciding().find_sole_viewer_problem(ANN) is None
    assert deciding(requesters=(ANN,)).find_sole_viewer_problem(ANN) == unseen
    assert deciding(escalations=(after(5),)).find_sole_viewer_problem(CID) is None, "they are asked later"
    for together in ({"quorum": 2}, {"refusals": 2, "refusing": ("no",)}):
        said = deciding(**together).find_sole_viewer_problem(ANN)
        assert said == "2 people decide together, and only one sees this direct message"


def test_an_option_is_a_yes_if_that_is_said_or_if_it_is_the_only_one_beside_a_no():
    two, three = question("deploy", "Yes", "No").options, question("deploy", "Yes", "Later", "No").options
    for approval, options, approved in (
        (Approval(), two, []),
        (Approval(refusing=("no",)), two, ["yes"]),
        (Approval(refusing=("no",)), three, []),
        (Approval(refusing=("no", "later")), three, ["yes"]),
        (Approval(refusing=("no",), approving=("yes", "later")), three, ["yes", "later"]),
        (Approval(approving=("later",)), three, ["later"]),
    ):
        assert [one.value for one in options if approval.is_approving(one, options)] == approved


def test_without_a_word_about_it_one_person_decides():
    assert (Approval().quorum, Approval().refusals) == (1, 1)


BOTH = form(question("deploy", "Yes", "No", allow_custom=False), question("when", "Now", "Later", allow_custom=False))
THREE = (ANN, BEN, CID)
WRONG: dict[str, tuple[Policy, Form, str]] = {
    "several questions": (deciding(), BOTH, "This one has 2: ask them one by one."),
    "no options": (deciding(), form(question("why")), "give the question options, with multi_select=False"),
    "several answers": (
        deciding(),
        form(question("deploy", "Yes", "No", allow_custom=False, multi_select=True)),
        "by choosing one option",
    ),
    "a written answer": (deciding(), form(question("deploy", "Yes", "No")), "and allow_custom=False"),
    "an unknown refusal": (
        deciding(refusing=("nope", "no", "nah")),
        YES_OR_NO,
        "no option 'nope', 'nah': use the values of the question's options.",
    ),
    "an unknown yes": (
        deciding(approving=("go",)),
        YES_OR_NO,
        "no option 'go': use the values of the question's options.",
    ),
    "an unknown wider option": (deciding(wider=(("always", "yes"),)), YES_OR_NO, "no option 'always'"),
    "a yes that is a no": (
        deciding(refusing=("no",), approving=("yes", "no")),
        YES_OR_NO,
        "The option 'no' is in `approving` and in `refusing`: remove it from one of them.",
    ),
    "two that are both": (
        deciding(refusing=("no", "never"), approving=("no", "never")),
        form(question("deploy", "Yes", "No", "Never", allow_custom=False)),
        "The option 'no' is in `approving` and in `refusing`",
    ),
    "a no that agrees": (
        deciding(refusing=("no",), wider=(("no", "yes"),)),
        YES_OR_NO,
        "`wider` contains an option that is a refusal, which cannot include another: remove it.",
    ),
    "nothing but refusals": (deciding(refusing=("yes", "no")), YES_OR_NO, "Every option is a refusal: add one"),
    "refusals, and no option is one": (
        deciding(refusals=2),
        YES_OR_NO,
        "refusals=2 needs options that are a refusal, and there are none: put their values in `refusing`",
    ),
    "a reason for a no, and no option is one": (
        deciding(reasons="no"),
        YES_OR_NO,
        'there are none: put their values in `refusing`, or leave out reasons="no".',
    ),
    "more than are asked": (
        deciding(quorum=3),
        YES_OR_NO,
        "3 people have to agree, but only 2 are asked: ask more, or lower the number.",
    ),
    "more refusals than are asked": (deciding(refusals=3, refusing=("no",)), YES_OR_NO, "3 people have to refuse"),
    "one who is named twice": (
        deciding(quorum=2, who=Who.from_people(ANN, ANN.evolve(name="Anna", tenant=None))),
        YES_OR_NO,
        "only 1 are asked",
    ),
    "more than are left without the requester": (
        deciding(quorum=2, requesters=(BEN,)),
        YES_OR_NO,
        "only 1 are asked (requesters do not count)",
    ),
    "one's own request alone": (
        deciding(who=Who.from_people(ANN), requesters=(ANN,)),
        YES_OR_NO,
        "Nobody may decide: requesters may not decide about their own request. Add others, or set own=True.",
    ),
    "a reminder after the end": (
        deciding(deadline=NOON, reminders=(NOON,)),
        YES_OR_NO,
        "A reminder would come after the deadline: move it earlier, or extend the deadline.",
    ),
    "an escalation after the end": (
        deciding(deadline=NOON, escalations=(after(1),)),
        YES_OR_NO,
        "An escalation would come after the deadline",
    ),
    "a reminder after the end, and one decides": (
        Policy(who=Who.from_people(ANN), deadline=NOON, reminders=(NOON + timedelta(1),)),
        BOTH,
        "A reminder would come",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_can_never_be_decided_is_refused_when_it_is_asked_with_the_next_step(name: str):
    policy, asked, words = WRONG[name]
    with pytest.raises(CallerError) as refusal:
        policy.check(asked)
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    "policy",
    [
        deciding(quorum=2, refusing=("no",), refusals=2),
        deciding(quorum=3, who=Who.from_people(*THREE)),
        deciding(wider=(("no", "yes"),)),
        deciding(reasons="both"),
        deciding(quorum=3, escalations=(after(5),)),
        deciding(quorum=2, requesters=(BEN,), own=True),
        deciding(quorum=2, requesters=(CID,)),
        deciding(quorum=50, who=Who(groups=("G1",))),
        deciding(quorum=50, who=Who(anyone=True), requesters=(ANN,)),
        deciding(quorum=50, who=Who(people=(ANN,), open_to="participants")),
        deciding(quorum=50, escalations=(after(5, Who(groups=("G1",))),)),
        deciding(deadline=NOON + timedelta(minutes=9), reminders=(NOON,), escalations=(after(5),)),
        Policy(who=Who.from_people(ANN), deadline=NOON),
    ],
)
def test_what_can_be_decided_is_asked(policy: Policy):
    policy.check(YES_OR_NO)


def test_a_form_of_several_questions_is_asked_where_one_decides():
    Policy(who=Who.from_people(ANN)).check(BOTH)


def test_rules_that_are_none_cannot_be_built():
    for wrong in ({"quorum": 0}, {"refusals": 0}, {"quorum": -1}, {"reasons": "maybe"}, {"quorum": 1.5}):
        with pytest.raises(InvalidValue):
            Approval(**wrong)


def test_a_policy_with_everything_survives_a_round_trip_and_one_of_before_there_was_any_still_loads():
    policy = deciding(
        quorum=2, refusing=("no",), requesters=(CID,), subject="sha256:x", reasons="both",
        reminders=(NOON,), escalations=(after(1),), deadline=NOON + timedelta(1),
    ).evolve(within=Who(people=(ANN,), open_to="participants"))  # fmt: skip
    assert Policy.model_validate_json(policy.model_dump_json()) == policy
    old = Policy(who=Who.from_people(ANN)).model_dump(mode="json")
    assert Policy.parse({"who": old["who"], "deadline": None}) == Policy(who=Who.from_people(ANN))
