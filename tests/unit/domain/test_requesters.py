"""The requesters of a call: everybody whose words led to it, until a decision retires them."""

from __future__ import annotations

import pytest

from askback.domain import approval
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Policy
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor, Place
from askback.domain.interview import settle, start_interview
from askback.domain.outcome import Answer, Choice, Outcome, Vote
from askback.domain.requesters import PastCall, ReadMessage, find_authors, find_requesters
from askback.domain.who import Who
from support.cases import ANN, BEN, NOON

CID = Actor(platform="local", tenant="T1", id="U3", name="Cid")
DAN = Actor(platform="local", tenant="T1", id="U4", name="Dan")
HERE = Place(platform="local", tenant="T1", channel="C1", thread="1")


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
