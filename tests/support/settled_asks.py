"""Settled asks about the calls of agent frameworks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Policy
from askback.domain.identity import Actor, Place
from askback.domain.interview import settle, start_interview
from askback.domain.outcome import Answer, Choice, Outcome, OutcomeStatus, Vote
from askback.domain.who import Who
from askback.doors.call_question import CallQuestion

AT = datetime(2026, 11, 24, 16, 30, tzinfo=UTC)
ADA = Actor(platform="chat", id="U1", name="Ada")
APPROVE, DENY = Choice(index=0, value="approve", label="Approve"), Choice(index=1, value="deny", label="Deny")
UNANSWERED = [status for status in get_args(OutcomeStatus) if status != "answered"]


def ask_for(question: CallQuestion, outcome: Outcome, digest: str | None = None) -> Ask:
    approval = None
    if question.kind == "permit":
        approval = Approval(refusing=("deny",), approving=("approve",), subject=digest or question.digest)
    return Ask(
        id="q" * 22,
        place=Place(platform="chat", channel="C1"),
        policy=Policy(who=Who(anyone=True), approval=approval),
        interview=settle(start_interview(question.form).evolve(votes=outcome.votes), outcome),
        created_at=AT,
        post_after=AT,
    )


def voted(question: CallQuestion, choice: Choice, reason: str | None = None) -> Outcome:
    answer = Answer(question_id=question.form.questions[0].id, choices=(choice,))
    vote = Vote(by=ADA, choice=choice, reason=reason, at=AT)
    return Outcome(status="answered", at=AT, by=ADA, answers=(answer,), votes=(vote,), refused=choice is DENY)


def written(question: CallQuestion, text: str) -> Outcome:
    answer = Answer(question_id=question.form.questions[0].id, text=text)
    return Outcome(status="answered", at=AT, by=ADA, answers=(answer,))
