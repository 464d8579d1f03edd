"""Common test data of the core: people, forms, hostile texts, and a story that runs on an interview."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from askback.domain.actions import Action, Operation, Select
from askback.domain.apply_action import apply_action
from askback.domain.ask_policy import Policy
from askback.domain.card import Card, build_card
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor
from askback.domain.interview import Interview, start_interview
from askback.domain.outcome import Outcome, OutcomeStatus
from askback.domain.who import Who

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ANN = Actor(platform="local", tenant="T1", id="U1", name="Ann")
BEN = Actor(platform="local", tenant="T1", id="U2", name="Ben")
EVERYBODY = Policy(who=Who(anyone=True))

HOSTILE = {
    "everyone": "@everyone and @here",
    "channel": "<!channel> <!here>",
    "person": "<@U0123456789> <#C0123456789>",
    "back-ticks": "```rm -rf``` and `x`",
    "link": "[safe](https://evil.example) <https://evil.example|safe>",
    "mark-up": "*bold* _it_ ~gone~ > quote & &amp; <b>",
    "right-to-left": "ab\u202ecd\u202c \u200f\u2066עברית\u2069",
    "emoji": "👩‍👩‍👧‍👦 𝒳 🇩🇪",
    "nul": "before\x00after",
    "controls": "a\x1b[31m\x07\u2028\x85b",
    "combining": "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉",
    "json": '"}],"answers":[{"id":"x"}]',
}
"""Texts that must arrive as they are."""


def options(*labels: str) -> tuple[Option, ...]:
    return tuple(Option(value=label.lower(), label=label) for label in labels)


def question(name: str, *labels: str, **fields: Any) -> Question:
    return Question(id=name, prompt=f"What about {name}?", options=options(*labels), **fields)


def form(*questions: Question) -> Form:
    return Form(questions=questions)


def ended(status: OutcomeStatus, **fields: Any) -> Outcome:
    return Outcome(status=status, at=NOON, **fields)


class Story:
    """An interview and people's actions on it, one after the other."""

    def __init__(self, *questions: Question) -> None:
        self.now: Interview = start_interview(form(*questions))

    def does(
        self, operation: Operation, *, by: Actor = ANN, step: int | None = None, ticks: Select | None = None
    ) -> Interview:
        """Apply one action, from the newest card by default."""
        self.now = apply_action(self.now, self.action(operation, by=by, step=step, ticks=ticks))
        return self.now

    def action(
        self, operation: Operation, *, by: Actor = ANN, step: int | None = None, ticks: Select | None = None
    ) -> Action:
        at_step = self.now.step if step is None else step
        return Action(ask_id="ask", actor=by, at=NOON, step=at_step, operation=operation, ticks=ticks)

    @property
    def card(self) -> Card:
        return build_card("ask", self.now, EVERYBODY)

    @property
    def answers(self) -> dict[str, tuple[str, ...]]:
        """The final answers, by question."""
        assert self.now.outcome is not None
        return {answer.question_id: answer.labels for answer in self.now.outcome.answers}
