"""Several people decide: the votes, the ones that count, and the point of decision."""

from __future__ import annotations

import pytest

from askback.domain.actions import (
    Back,
    Cancel,
    Decline,
    Next,
    OpenDecline,
    Operation,
    ShowDetails,
    Submit,
    SubmitText,
    UndoVote,
)
from askback.domain.apply_action import REASON_RULES, Closed, NotPossible, Stale
from askback.domain.ask_policy import Policy
from askback.domain.interview import Interview, start_interview
from askback.domain.outcome import Outcome
from askback.domain.voting import ReasonRequired, count_votes
from askback.domain.who import Who
from support.cases import ANN, BEN, HOSTILE, NOON
from unit.domain.ballot import CID, DEE, LABELS, LATER, NEVER, NO, PEOPLE, WORKED, YES, Ballot


def test_as_many_as_the_quorum_decide_and_one_fewer_does_not():
    ballot = Ballot(quorum=3)
    for person in (ANN, BEN):
        ballot.votes(person, YES)
        assert ballot.outcome is None
    ballot.votes(CID, YES)
    outcome = ballot.ended
    assert (outcome.status, outcome.refused, outcome.by, outcome.reason) == ("answered", False, CID, None)
    assert outcome["deploy"].labels == ("Yes",)
    assert [(one.by, one.choice.label) for one in outcome.votes] == [(ANN, "Yes"), (BEN, "Yes"), (CID, "Yes")]


def test_a_vote_that_is_delivered_again_after_many_others_undoes_no_change_of_mind():
    ballot = Ballot(quorum=90)
    ballot.votes(ANN, YES, delivery="first")
    ballot.votes(ANN, LATER, delivery="changed")
    for number in range(60):
        ballot.votes(ANN.evolve(id=f"U{number}0"), YES, delivery=f"other-{number}")
    assert ballot.votes(ANN, YES, delivery="first").votes[0].choice.label == "Later"


def test_votes_for_different_options_do_not_add_up():
    ballot = Ballot(quorum=2)
    ballot.votes(ANN, YES)
    ballot.votes(BEN, LATER)
    assert ballot.outcome is None
    ballot.votes(CID, LATER)
    assert ballot.ended["deploy"].labels == ("Later",)


@pytest.mark.parametrize(
    ("quorum", "votes", "answer"),
    [
        (2, (YES, LATER), "Yes"),
        (2, (LATER, YES), "Yes"),
        (2, (LATER, LATER), "Later"),
        (1, (LATER,), "Later"),
        (3, (LATER, YES, LATER), "Yes"),
        (3, (LATER, YES), None),
    ],
)
def test_a_vote_for_the_wider_option_counts_for_the_narrower_one_and_not_the_other_way(
    quorum: int, votes: tuple[int, ...], answer: str | None
):
    ballot = Ballot(quorum=quorum, approving=("yes", "later"), wider=(("later", "yes"),))
    for person, index in zip(PEOPLE, votes, strict=False):
        assert ballot.outcome is None
        ballot.votes(person, index)
    assert (None if answer is None else (answer,)) == (ballot.outcome and ballot.outcome["deploy"].labels)
    assert [LABELS[index] for index in votes] == [one.choice.label for one in ballot.now.votes]


def test_whoever_chose_the_wider_option_is_told_how_many_more_it_takes():
    ballot = Ballot(quorum=3, approving=("yes", "later"), wider=(("later", "yes"),))
    ballot.votes(ANN, LATER)
    ballot.votes(BEN, YES)
    with pytest.raises(NotPossible, match="1 more is needed"):
        ballot.votes(ANN, LATER)


def test_one_no_ends_it_and_it_is_the_answer():
    ballot = Ballot(quorum=2)
    ballot.votes(ANN, YES)
    ballot.votes(BEN, NO, why=" not on a Friday ")
    outcome = ballot.ended
    assert (outcome.status, outcome.refused, outcome.by, outcome.reason) == ("answered", True, BEN, "not on a Friday")
    assert outcome["deploy"].choices[0].value == "no"


def test_a_set_number_of_noes_ends_it_whichever_noes_they_are():
    ballot = Ballot(quorum=3, refusals=2)
    ballot.votes(ANN, NO)
    ballot.votes(BEN, YES)
    assert ballot.outcome is None
    ballot.votes(CID, NEVER)
    assert (ballot.ended.refused, ballot.ended["deploy"].labels) == (True, ("Never",))


def test_without_an_option_that_refuses_every_option_needs_the_quorum():
    ballot = Ballot(quorum=2, refusing=())
    ballot.votes(ANN, NO)
    ballot.votes(BEN, NO)
    assert (ballot.ended.refused, ballot.ended["deploy"].labels) == (False, ("No",))


def test_one_person_has_one_vote_however_often_they_give_it():
    ballot = Ballot(quorum=2)
    ballot.votes(ANN, YES)
    before = ballot.now
    with pytest.raises(NotPossible, match=r"Your vote is already “Yes”\. 1 more is needed\."):
        ballot.votes(ANN, YES)
    assert ballot.now == before
    # The same person, in one payload without the tenant, and with another name.
    with pytest.raises(NotPossible):
        ballot.votes(ANN.evolve(tenant=None, name="Anna"), YES)
    assert ballot.outcome is None


def test_whoever_changes_their_mind_takes_the_first_vote_back():
    ballot = Ballot(quorum=2)
    ballot.votes(ANN, YES)
    ballot.votes(ANN, LATER)
    ballot.votes(BEN, YES)
    assert ballot.outcome is None
    assert [(one.by, one.choice.label) for one in ballot.now.votes] == [(ANN, "Later"), (BEN, "Yes")]
    ballot.votes(ANN, YES)
    assert [one.by for one in ballot.ended.votes] == [BEN, ANN]


def test_whoever_undoes_their_vote_has_none_and_the_others_keep_theirs():
    ballot = Ballot(quorum=2)
    ballot.votes(ANN, YES, delivery="yes")
    ballot.votes(BEN, LATER)
    revision = ballot.now.revision
    ballot.votes(ANN, UndoVote(), delivery="undo")
    assert [one.by for one in ballot.now.votes] == [BEN]
    assert ballot.now.revision > revision, "the card is drawn again"
    assert ballot.votes(ANN, YES, delivery="yes").votes == ballot.now.votes, "the click of before comes late"
    ballot.votes(CID, YES)
    assert ballot.outcome is None
    ballot.votes(ANN, YES)
    assert [one.by for one in ballot.ended.votes] == [BEN, CID, ANN]
    with pytest.raises(Closed):
        ballot.votes(ANN, UndoVote())


def test_who_has_not_voted_has_nothing_to_undo():
    ballot = Ballot(quorum=2)
    before = ballot.votes(ANN, YES)
    with pytest.raises(NotPossible, match="You have not voted"):
        ballot.votes(BEN, UndoVote())
    assert ballot.now == before


def test_one_account_has_one_vote_whatever_tenants_it_appears_with():
    ballot = Ballot(quorum=2)
    ballot.votes(ANN, YES)
    ballot.votes(ANN.evolve(tenant="E1"), LATER)
    ballot.votes(ANN.evolve(tenant=None), YES)
    assert [one.choice.label for one in ballot.now.votes] == ["Yes"]
    ballot.votes(BEN, YES)
    assert ballot.ended.status == "answered"


def test_what_is_delivered_twice_counts_once_also_after_the_decision_and_after_a_change_of_mind():
    ballot = Ballot(quorum=2)
    ballot.votes(ANN, YES, delivery="d1")
    once = ballot.now
    assert ballot.votes(ANN, YES, delivery="d1") == once
    ballot.votes(ANN, LATER, delivery="d2")
    changed = ballot.now
    assert ballot.votes(ANN, YES, delivery="d1") == changed
    ballot.votes(BEN, LATER, delivery="d3")
    over = ballot.now
    assert over.outcome is not None
    assert ballot.votes(BEN, LATER, delivery="d3") == over


def test_a_vote_on_a_card_that_others_have_voted_on_since_still_counts():
    ballot = Ballot(quorum=3)
    for person in (ANN, BEN, CID):
        ballot.votes(person, YES, step=0)
    assert ballot.ended.status == "answered"


def test_a_vote_after_the_decision_changes_nothing():
    ballot = Ballot()
    ballot.votes(ANN, NO)
    over = ballot.now
    for operation in (YES, NO, Cancel(), ShowDetails(), SubmitText(text="x")):
        with pytest.raises(Closed, match="Your click changed nothing"):
            ballot.votes(BEN, operation)
    assert ballot.now == over


def test_a_vote_from_another_step_is_stale():
    with pytest.raises(Stale):
        Ballot(quorum=2).votes(ANN, YES, step=1)


@pytest.mark.parametrize("operation", [SubmitText(text="Yes"), Next(), Back(), Submit(), Decline()])
def test_nothing_but_a_choice_is_a_vote(operation: Operation):
    ballot = Ballot(quorum=2)
    with pytest.raises(NotPossible, match="by choosing one of the options"):
        ballot.votes(ANN, operation)


def test_asking_for_a_reminder_is_no_vote():
    ballot = Ballot(quorum=2)
    before = ballot.now
    ballot.votes(ANN, OpenDecline())
    assert ballot.now == before


@pytest.mark.parametrize("index", [-1, 4, 10**6])
def test_an_option_that_there_is_not_is_no_vote(index: int):
    with pytest.raises(NotPossible, match="no such option"):
        Ballot().votes(ANN, index)


def test_to_look_changes_nothing():
    ballot = Ballot(quorum=2)
    ballot.votes(ANN, YES)
    before = ballot.now
    assert ballot.votes(BEN, ShowDetails(), delivery="d") == before


def test_a_cancel_ends_it_with_the_votes_so_far():
    ballot = Ballot(quorum=2)
    ballot.votes(ANN, YES)
    ballot.votes(BEN, Cancel())
    outcome = ballot.ended
    assert (outcome.status, outcome.by, outcome.answers, outcome.refused) == ("cancelled", BEN, (), False)
    assert [one.by for one in outcome.votes] == [ANN]


@pytest.mark.parametrize(
    ("reasons", "wanting"),
    [("none", ()), ("no", (NO, NEVER)), ("yes", (YES, LATER)), ("both", (YES, LATER, NO, NEVER))],
)
def test_a_reason_is_asked_for_where_one_is_wanted_and_nowhere_else(reasons: str, wanting: tuple[int, ...]):
    for index in range(len(LABELS)):
        ballot = Ballot(quorum=2, refusals=2, reasons=reasons)
        if index not in wanting:
            assert ballot.votes(ANN, index).votes[0].reason is None
            continue
        with pytest.raises(ReasonRequired) as missing:
            ballot.votes(ANN, index)
        assert (missing.value.index, str(missing.value), missing.value.reason) == (index, "", "")
        assert ballot.now.votes == ()
        assert ballot.votes(ANN, index, why="  since it is so\n").votes[0].reason == "since it is so"


@pytest.mark.parametrize("blank", ["", " ", "\n\t\u2003"])
def test_a_blank_reason_is_none(blank: str):
    ballot = Ballot(reasons="no")
    with pytest.raises(ReasonRequired, match="Please say why: this decision needs a reason"):
        ballot.votes(ANN, NO, why=blank)
    assert ballot.votes(ANN, YES, why=blank).votes[0].reason is None


def test_a_reason_that_is_too_long_is_given_back_to_be_shortened():
    ballot = Ballot(reasons="no")
    with pytest.raises(ReasonRequired, match=r"Please shorten it to 1,000 characters; it has 1,001\.") as refusal:
        ballot.votes(ANN, NO, why="x" * (REASON_RULES.max_length + 1))
    assert refusal.value.reason == "x" * (REASON_RULES.max_length + 1)
    ballot.votes(ANN, NO, why=" " + "x" * REASON_RULES.max_length + " ")
    assert ballot.ended.reason == "x" * REASON_RULES.max_length


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_reason_arrives_as_it_was_written(text: str):
    ballot = Ballot()
    ballot.votes(ANN, NO, why=text)
    assert ballot.ended.reason == text.strip()
    assert Outcome.model_validate_json(ballot.ended.model_dump_json()) == ballot.ended


def test_the_reason_can_be_mended_by_the_same_vote_with_another_one():
    ballot = Ballot(quorum=2, reasons="yes")
    ballot.votes(ANN, YES, why="tested")
    ballot.votes(ANN, YES, why="tested twice")
    assert [one.reason for one in ballot.now.votes] == ["tested twice"]


def test_the_reason_of_a_yes_is_no_reason_of_the_outcome():
    ballot = Ballot(reasons="both")
    ballot.votes(ANN, YES, why="tested")
    assert ballot.ended.reason is None
    assert ballot.ended.votes[0].reason == "tested"


def test_the_tally_says_who_has_spoken_and_who_is_missing():
    ballot = Ballot(quorum=2, refusals=2, reasons="no", requesters=(CID,))
    ballot.votes(BEN, NO, why="no")
    policy = Policy(who=Who(people=PEOPLE, groups=("G1",)), approval=ballot.approval)
    found = count_votes(ballot.now, policy, ballot.approval)
    assert (found.quorum, found.refusals, found.refusing, found.reasons) == (2, 2, (NO, NEVER), (NO, NEVER))
    assert found.missing == Who(people=(ANN, DEE), groups=("G1",))
    assert (found.requesters, found.decided) == ((CID,), False)
    assert (found.list_votes_for(NO), found.list_votes_for(NO, NEVER), found.list_votes_for(YES)) == (1, 1, 0)
    ballot.votes(ANN, NEVER, why="no")
    assert count_votes(ballot.now, policy, ballot.approval).decided
    own = ballot.approval.evolve(own=True)
    assert count_votes(ballot.now, policy, own).requesters == ()
    assert count_votes(ballot.now, Policy(who=Who.from_people(ANN, BEN, CID)), own).missing == Who.from_people(CID)
    assert count_votes(ballot.now, Policy(who=Who.from_people(ANN, BEN, CID)), ballot.approval).missing is None


def test_an_interview_of_before_there_were_votes_still_loads():
    old = start_interview(WORKED).model_dump(mode="json")
    del old["votes"]
    assert Interview.model_validate(old) == start_interview(WORKED)
    outcome = Outcome(status="timed_out", at=NOON).model_dump(mode="json")
    del outcome["votes"], outcome["refused"]
    assert Outcome.model_validate(outcome) == Outcome(status="timed_out", at=NOON)
