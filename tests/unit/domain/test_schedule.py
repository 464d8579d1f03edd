"""Time-based events of an ask: reminders, escalations and its end. Each happens once, even if the check is late."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.domain.actions import Action, Back, Choose, Next, Operation, Review, Select, SubmitText
from askback.domain.apply_action import apply_action
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Escalation, Policy
from askback.domain.form import Form
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.interview import settle, start_interview
from askback.domain.outcome import Choice, Outcome, Vote
from askback.domain.schedule import apply_due, find_groups_to_resolve
from askback.domain.who import Who
from askback.errors import PersonError
from askback.tools import TOOLS
from support.cases import ANN, BEN, HOSTILE, NOON, ended, form, question
from support.forms import forms

CID = Actor(platform="local", tenant="T1", id="U3", name="Cid")
DEE = Actor(platform="local", tenant="T1", id="U4", name="Dee")
CARD = MessageRef(channel="C1", id="1")
APPROVAL = Approval(quorum=2, refusing=("no",))


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def later(minutes: float, *people: Actor, groups: tuple[str, ...] = ()) -> Escalation:
    return Escalation(at=at(minutes), who=Who(people=people, groups=groups))


def asked(*voted: Actor, posted: bool = True, prompt: str | None = None, **policy: Any) -> Ask:
    """Return an ask from noon, with the votes of these people."""
    one = question("deploy", "Yes", "No", allow_custom=False)
    interview = start_interview(form(one if prompt is None else one.evolve(prompt=prompt)))
    choice = Choice(index=0, value="yes", label="Yes")
    return Ask(
        id="ask",
        place=Place(platform="local", channel="C1"),
        policy=Policy(**{"who": Who.from_people(ANN, BEN, CID), "approval": APPROVAL, **policy}),
        interview=interview.evolve(votes=tuple(Vote(by=by, choice=choice, at=NOON) for by in voted)),
        created_at=NOON,
        post_after=NOON,
        messages=(CARD,) if posted else (),
    )


def test_before_its_time_there_is_nothing_to_do():
    for ask in (asked(), asked(reminders=(at(5),), escalations=(later(6, DEE),), deadline=at(7))):
        assert apply_due(ask, at(4.99)) == (None, None)


def test_those_who_are_missing_are_reminded_below_the_card_and_nobody_else():
    ask = asked(ANN, reminders=(at(5), at(8)), deadline=at(60))
    after, say = apply_due(ask, at(5))
    assert after is not None
    assert say is not None
    assert say.mention == Who.from_people(BEN, CID)
    assert (say.text, say.markdown) == ("Reminder: “What about deploy?” still waits for you.", False)
    assert (say.reply_to, say.until) == (CARD, at(60))
    assert after.policy.reminders == (at(8),)
    assert after.interview == ask.interview, "a reminder changes no card"
    assert apply_due(after, at(5)) == (None, None)


def test_a_requester_is_not_reminded_of_what_others_decide():
    approval = APPROVAL.evolve(requesters=(CID,))
    _, say = apply_due(asked(ANN, reminders=(at(5),), approval=approval), at(5))
    assert say is not None
    assert say.mention == Who.from_people(BEN)
    _, say = apply_due(asked(ANN, reminders=(at(5),), approval=approval.evolve(own=True)), at(5))
    assert say is not None
    assert say.mention == Who.from_people(BEN, CID)


def test_of_a_group_in_which_some_have_voted_the_others_are_called_where_these_are_known():
    ask = asked(ANN, reminders=(at(5),), who=Who(people=(DEE,), groups=("team", "leads")))
    assert find_groups_to_resolve(ask, at(5)) == ("team", "leads")
    _, say = apply_due(ask, at(5), {"team": (ANN, BEN, CID), "leads": (BEN,)})
    assert say is not None
    assert say.mention == Who(people=(DEE, BEN, CID), groups=("leads",)), "nobody of the leads has voted"
    _, say = apply_due(ask, at(5), {"leads": (BEN, ANN)})
    assert say is not None
    assert say.mention == Who(people=(DEE, BEN), groups=("team",)), "nobody knows who is in the team"
    _, say = apply_due(ask, at(5))
    assert say is not None
    assert say.mention == Who(people=(DEE,), groups=("team", "leads"))


def test_a_requester_in_the_group_is_not_called_and_the_group_is_where_they_decide():
    approval = APPROVAL.evolve(requesters=(CID,))
    ask = asked(reminders=(at(5),), who=Who(groups=("team",)), approval=approval)
    _, say = apply_due(ask, at(5), {"team": (ANN, BEN, CID)})
    assert say is not None
    assert say.mention == Who.from_people(ANN, BEN)
    own = asked(reminders=(at(5),), who=Who(groups=("team",)), approval=approval.evolve(own=True))
    assert find_groups_to_resolve(own, at(5)) == (), "nobody has voted: the whole group is missing"
    _, say = apply_due(own, at(5), {"team": (ANN, BEN, CID)})
    assert say is not None
    assert say.mention == Who(groups=("team",))


@pytest.mark.parametrize("more", [0, 1])
def test_of_more_than_ten_who_are_missing_the_group_is_called(more: int):
    crowd = tuple(ANN.evolve(id=f"C{number}") for number in range(10 + more))
    ask = asked(ANN, reminders=(at(5),), who=Who(groups=("team",)))
    _, say = apply_due(ask, at(5), {"team": (ANN, *crowd)})
    assert say is not None
    assert say.mention == (Who(groups=("team",)) if more else Who.from_people(*crowd))


def test_where_all_of_a_group_have_voted_nobody_is_reminded():
    ask = asked(ANN, BEN, reminders=(at(5),), who=Who(groups=("team",)), approval=Approval(quorum=3))
    after, say = apply_due(ask, at(5), {"team": (ANN, BEN)})
    assert after is not None
    assert after.policy.reminders == ()
    assert say is None


def test_nobody_is_looked_up_before_its_time_or_without_need():
    who = Who(groups=("team",))
    assert find_groups_to_resolve(asked(ANN, reminders=(at(5),), who=who), at(4.99)) == ()
    assert find_groups_to_resolve(asked(ANN, reminders=(at(5),), who=who, posted=False), at(5)) == ()
    escalating = asked(ANN, escalations=(later(5, DEE),), who=who, posted=False)
    assert find_groups_to_resolve(escalating, at(5)) == (), "nobody is told of a card that does not stand"
    over = asked(ANN, reminders=(at(5),), who=who)
    assert find_groups_to_resolve(over.evolve(interview=settle(over.interview, ended("cancelled"))), at(5)) == ()
    assert find_groups_to_resolve(asked(reminders=(at(5),), who=who), at(5)) == ()
    assert find_groups_to_resolve(asked(ANN, reminders=(at(5),)), at(5)) == (), "people alone"


def test_the_members_are_looked_up_also_when_the_time_has_long_passed():
    assert find_groups_to_resolve(asked(ANN, reminders=(at(5),), who=Who(groups=("team",))), at(50)) == ("team",)


@pytest.mark.parametrize("anybody", [Who(anyone=True), Who(open_to="allowed"), Who(open_to="participants")])
def test_what_anybody_may_answer_reminds_without_a_name(anybody: Who):
    _, say = apply_due(asked(reminders=(at(5),), who=anybody, approval=None), at(5))
    assert say is not None
    assert say.mention == anybody


def test_where_nobody_is_missing_nobody_is_reminded():
    after, say = apply_due(asked(ANN, BEN, CID, reminders=(at(5),), approval=Approval(quorum=3)), at(5))
    assert after is not None
    assert (after.policy.reminders, say) == ((), None)


def test_an_ask_that_is_decided_by_one_reminds_everybody():
    _, say = apply_due(asked(reminders=(at(5),), approval=None), at(5))
    assert say is not None
    assert say.mention == Who.from_people(ANN, BEN, CID)


def test_a_reminder_of_several_questions_names_the_one_on_the_card():
    ask = asked(reminders=(at(5),), approval=None)
    several = start_interview(form(question("first", "Yes"), question("second", "Yes"), question("third", "Yes")))
    first = Action(ask_id="ask", actor=ANN, at=NOON, step=0, operation=Choose(index=0))
    _, say = apply_due(ask.evolve(interview=apply_action(several, first)), at(5))
    assert say is not None
    assert "What about second?" in say.text


def test_a_reminder_replies_to_the_card_and_not_to_what_stands_below_it():
    below = MessageRef(channel="C1", id="2")
    _, say = apply_due(asked(reminders=(at(5),)).evolve(messages=(CARD, below)), at(5))
    assert say is not None
    assert say.reply_to == CARD


def test_a_reminder_names_a_hundred_characters_of_the_question_and_tells_that_there_is_more():
    for prompt, named in (("y" * 100, "y" * 100), ("y" * 101, "y" * 99 + "…")):
        _, say = apply_due(asked(prompt=prompt, reminders=(at(5),)), at(5))
        assert say is not None
        assert f"“{named}”" in say.text


def test_reminders_that_passed_while_nothing_ran_are_one():
    after, say = apply_due(asked(reminders=(at(5), at(6), at(7), at(60))), at(50))
    assert after is not None
    assert say is not None
    assert after.policy.reminders == (at(60),)
    assert apply_due(after, at(50)) == (None, None)


def test_an_escalation_lets_further_people_in_and_tells_these_alone():
    ask = asked(ANN, who=Who(people=(ANN, BEN), groups=("G1",)), escalations=(later(5, DEE, BEN, groups=("G1", "G2")),))
    assert ask.policy.explain_denial(DEE) is not None
    after, say = apply_due(ask, at(5))
    assert after is not None
    assert say is not None
    assert after.policy.who == Who(people=(ANN, BEN, DEE), groups=("G1", "G2"))
    assert after.policy.explain_denial(DEE) is None
    assert after.policy.escalations == ()
    assert after.interview.revision == ask.interview.revision + 1, "the card says who is asked"
    assert after.interview.step == ask.interview.step, "a click on the card of before still counts"
    assert say.mention == Who(people=(DEE,), groups=("G2",))
    assert say.text == "This now waits for you, too: “What about deploy?”"


def test_an_escalation_to_whoever_has_asked_for_it_tells_nobody():
    _, say = apply_due(asked(escalations=(later(5, DEE),), approval=APPROVAL.evolve(requesters=(DEE,))), at(5))
    assert say is None


def test_an_escalation_to_those_who_are_asked_already_tells_nobody():
    after, say = apply_due(asked(escalations=(later(5, BEN),)), at(5))
    assert after is not None
    assert (after.policy.who, say) == (Who.from_people(ANN, BEN, CID), None)


def test_a_reminder_and_an_escalation_that_passed_together_are_one_sentence_for_all_who_are_missing():
    after, say = apply_due(asked(ANN, reminders=(at(5),), escalations=(later(4, DEE),)), at(6))
    assert after is not None
    assert say is not None
    assert say.mention == Who.from_people(BEN, CID, DEE)
    assert say.text.startswith("Reminder:")


def test_escalations_in_any_order_let_in_whom_the_time_has_come_for():
    after, _ = apply_due(asked(escalations=(later(9, DEE), later(5, groups=("G1",)))), at(6))
    assert after is not None
    assert after.policy.who == Who(people=(ANN, BEN, CID), groups=("G1",))
    assert after.policy.escalations == (later(9, DEE),)


def test_at_the_deadline_it_ends_with_the_votes_so_far_and_nobody_is_reminded():
    ask = asked(ANN, reminders=(at(5),), escalations=(later(6, DEE),), deadline=at(7))
    after, say = apply_due(ask, at(8))
    assert after is not None
    assert after.outcome is not None
    assert (after.outcome.status, after.outcome.at, say) == ("timed_out", at(8), None)
    assert [vote.by for vote in after.outcome.votes] == [ANN]
    assert apply_due(after, at(99)) == (None, None)


def test_an_ask_that_is_over_is_left_alone():
    ask = asked(reminders=(at(5),), deadline=at(7))
    over = ask.evolve(interview=settle(ask.interview, ended("cancelled")))
    assert apply_due(over, at(99)) == (None, None)


def test_nobody_is_told_of_a_card_that_does_not_stand_anywhere_and_reminded_of_it_once_it_stands():
    unposted = asked(posted=False, reminders=(at(5), at(6), at(60)), escalations=(later(5, DEE),))
    after, say = apply_due(unposted, at(7))
    assert after is not None
    assert say is None
    assert after.policy.explain_denial(DEE) is None
    assert (after.next_due_at, apply_due(after, at(8))) == (None, (None, None)), "until it stands"
    after, say = apply_due(after.evolve(messages=(CARD,)), at(8))
    assert after is not None
    assert say is not None
    assert say.text.startswith("Reminder:")
    assert after.policy.reminders == (at(60),)


def test_of_a_card_that_does_not_stand_before_the_end_nobody_is_reminded():
    ask = asked(posted=False, reminders=(at(5),), deadline=at(7))
    assert ask.next_due_at == at(7)
    after, say = apply_due(ask, at(7))
    assert after is not None
    assert (after.status, say) == ("timed_out", None)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_prompt_in_a_reminder_is_the_bots_plain_words(text: str):
    _, say = apply_due(asked(prompt=text * 50, reminders=(at(5),)), at(5))
    assert say is not None
    assert not say.markdown
    assert len(say.text) < 160


@given(
    reminders=st.lists(st.integers(1, 40), max_size=5),
    escalations=st.lists(st.integers(1, 40), max_size=4),
    deadline=st.none() | st.integers(1, 50),
    looks=st.lists(st.integers(0, 60), max_size=12).map(sorted),
)
def test_however_often_the_time_is_looked_at_everything_comes_once_and_nothing_is_left(
    reminders: list[int], escalations: list[int], deadline: int | None, looks: list[int]
):
    ask = asked(
        reminders=tuple(map(at, sorted(reminders))),
        escalations=tuple(later(minute, groups=(f"G{number}",)) for number, minute in enumerate(escalations)),
        deadline=None if deadline is None else at(deadline),
    )
    said: list[str] = []
    for minute in (*looks, 61):
        after, say = apply_due(ask, at(minute))
        if say is not None:
            said.append(say.target)
        if after is None:
            assert ask.outcome is not None or ask.next_due_at is None or ask.next_due_at > at(minute)
            continue
        ask = after
        assert apply_due(ask, at(minute)) == (None, None), "what was done once is not due any more"
        if ask.outcome is None:
            here = {f"G{number}" for number, when in enumerate(escalations) if when <= minute}
            assert set(ask.policy.who.groups) == here
    assert len(said) == len(set(said)), "each has a name of its own"
    assert len(said) <= len(reminders) + len(escalations)
    assert (ask.outcome is None) == (deadline is None)
    assert ask.policy.next_due_at is None or ask.outcome is not None


# A timeout does not answer

OPERATIONS: dict[str, st.SearchStrategy[Operation]] = {
    "choose": st.builds(Choose, index=st.integers(0, 3)),
    "select": st.builds(Select, chosen=st.just((0,)) | st.just((0, 1)), base=st.just(())),
    "write": st.builds(SubmitText, text=st.sampled_from(["7", "words", " ", "x" * 1001])),
    "next": st.just(Next()),
    "back": st.just(Back()),
    "review": st.just(Review()),
}


@given(
    asked_for=forms(),
    operations=st.lists(st.tuples(st.sampled_from([ANN, BEN, CID]), st.one_of(*OPERATIONS.values())), max_size=8),
    late=st.floats(0, 10_000),
)
def test_whatever_people_chose_before_a_deadline_its_end_is_no_answer(
    asked_for: Form, operations: list[tuple[Actor, Operation]], late: float
) -> None:
    """Preselected and half-filled answers count for no one until a person sends them."""
    ask = asked(deadline=at(5), approval=None).evolve(interview=start_interview(asked_for))
    for number, (by, operation) in enumerate(operations):
        action = Action(ask_id="ask", actor=by, at=at(number / 10), step=ask.interview.step, operation=operation)
        with suppress(PersonError):
            ask = ask.evolve(interview=apply_action(ask.interview, action))
    if ask.outcome is not None:
        assert apply_due(ask, at(5 + late)) == (None, None)
        return
    after, say = apply_due(ask, at(5 + late))
    assert say is None
    assert after is not None
    assert after.outcome == Outcome(status="timed_out", at=at(5 + late)), "no answer, no vote, nobody's name"
    assert after.interview.phase == "closed"
    assert apply_due(after, at(6 + late)) == (None, None)
    for tool in TOOLS.values():
        told = tool.render_result(tool.parse_input(json.loads(tool.example)), after.outcome)
        assert "timeout" in told.text or "Nobody answered in time" in told.text


@pytest.mark.parametrize("voted", [(), (ANN,), (ANN, BEN, CID)])
def test_votes_that_are_not_enough_before_a_deadline_decide_nothing(voted: tuple[Actor, ...]) -> None:
    after, _ = apply_due(asked(*voted, deadline=at(5), approval=Approval(quorum=9)), at(5))
    assert after is not None
    assert after.outcome is not None
    assert (after.outcome.status, after.outcome.answers, after.outcome.by) == ("timed_out", (), None)
    assert tuple(vote.by for vote in after.outcome.votes) == voted, "what was voted is kept"
