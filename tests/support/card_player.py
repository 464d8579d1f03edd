"""Forms, and a person who answers them step by step, for the tests of what a bot draws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from askback.domain.actions import Action, Choose, GoTo, Next, Operation, Pick, Review, Select, Submit, SubmitText
from askback.domain.apply_action import apply_action
from askback.domain.ask_policy import Policy
from askback.domain.card import Card, build_card
from askback.domain.choice_words import Picks
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor
from askback.domain.interview import Interview, start_interview
from askback.domain.outcome import Picked


def options(count: int, label: str = "Option {}", **more: Any) -> tuple[Option, ...]:
    return tuple(Option(value=f"v{n}", label=label.replace("{}", str(n)), **more) for n in range(1, count + 1))


def question(name: str = "q", prompt: str = "Which one?", **more: Any) -> Question:
    return Question(id=name, prompt=prompt, **more)


def interview(*questions: Question) -> Interview:
    return start_interview(Form(questions=questions))


@dataclass(frozen=True)
class Player:
    """A person who answers the questions of one ask."""

    ask_id: str
    person: Actor
    now: datetime
    policy: Policy
    ids: Mapping[Picks, str]
    """The shape of the platform's ids of people and of channels. `{}` means two digits."""

    def do(self, at: Interview, *operations: Operation) -> Interview:
        for operation in operations:
            action = Action(ask_id=self.ask_id, actor=self.person, at=self.now, step=at.step, operation=operation)
            at = apply_action(at, action)
        return at

    def card(self, at: Interview, policy: Policy | None = None) -> Card:
        return build_card(self.ask_id, at, policy or self.policy)

    def pick(self, picks: Picks, count: int, name: str = "") -> tuple[Picked, ...]:
        """Return people or channels with ids of the platform's shape."""
        return tuple(Picked(id=self.ids[picks].format(f"{number:02}"), name=name) for number in range(count))

    def walk(self, at: Interview) -> Iterator[Interview]:
        """Yield every step of a form, answered in one way or another, to the end."""
        do = self.do
        yield at
        if not at.form.is_single:
            yield do(at, Review())
        while at.phase == "asking":
            asked = at.question
            if asked.picks is not None:
                at = do(at, Pick(picked=self.pick(asked.picks, 3 if asked.multi_select else 1)))
                if asked.multi_select:
                    yield at
                    at = do(at, Submit() if at.form.is_single else Next())
            elif not asked.options:
                at = do(at, SubmitText(text="written\nby hand"))
            elif asked.multi_select:
                at = do(at, Select(chosen=tuple(range(min(len(asked.options), 3)))))
                yield at
                at = do(at, Submit()) if at.form.is_single else do(at, Review())
                if at.phase == "reviewing" and at.missing:
                    yield at
                    at = do(at, GoTo(index=at.missing[0]))
            else:
                at = do(at, Choose(index=len(asked.options) - 1))
            yield at
        if at.phase == "reviewing":
            yield do(at, Submit())
