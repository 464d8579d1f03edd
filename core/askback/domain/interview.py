"""The progress of a form. `apply_action` changes it.

Two counters show what state a click saw. `step` increases when the interview moves to another position. An action
from an earlier step changes nothing, unless it ends the whole ask. `revision` increases with every change that
people can see, and orders the renderings of the card.
"""

from __future__ import annotations

__all__ = ["Draft", "Interview", "Phase", "SelectionSnapshot", "move", "settle", "start_interview"]

from collections.abc import Collection
from typing import Literal

from pydantic import Field

from askback.domain.answer_file import AnswerFile
from askback.domain.argument_change import ArgumentChange
from askback.domain.form import Condition, Form, Question
from askback.domain.outcome import Answer, Choice, Outcome, Picked, Vote
from askback.internal.values import Value
from askback.text.unseen import strip_text

Phase = Literal["asking", "reviewing", "closed"]


class SelectionSnapshot(Value):
    """The choices that one person's screen last showed as ticked on one rendering.

    Kept until the interview moves, to recognise clicks that are delivered twice or late.
    """

    who: str
    revision: int
    order: float | None
    chosen: tuple[int, ...] = ()
    # Excluded by default, because an older process rejects a field that it does not know.
    picked: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)
    """The ids of the people or channels, if the question asks for these."""


class Draft(Value):
    """The answer to one question so far."""

    chosen: tuple[int, ...] = ()
    # Excluded by default, because an older process rejects a field that it does not know.
    picked: tuple[Picked, ...] = Field(default=(), exclude_if=lambda value: not value)
    """The people or channels, if the question asks for these."""
    files: tuple[AnswerFile, ...] = Field(default=(), exclude_if=lambda value: not value)
    """The files, if the question asks for these."""
    text: str | None = None
    """A written answer that keeps the rules."""
    unsent: str | None = None
    """A written answer or a note that breaks the rules, kept so that the person can correct it."""
    # Excluded by default, because an older process rejects a field that it does not know.
    note: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """A note to the choice, which keeps the rules of notes."""
    marks: tuple[SelectionSnapshot, ...] = ()
    seen: bool
    """True if the question has been shown to people."""
    # Excluded by default, because an older process rejects a field that it does not know.
    sender: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The person and the modal that sent this answer with those to all questions. None if it has another origin."""

    @property
    def is_answer(self) -> bool:
        return bool(self.chosen or self.picked or self.files) or self.text is not None

    @property
    def shown_text(self) -> str:
        """The text in its field when that opens: the rejected text, or else the written answer or the note."""
        return self.unsent if self.unsent and strip_text(self.unsent) else self.text or self.note or ""


class Interview(Value):
    """A form in progress. `drafts` has one entry for each question of the form."""

    form: Form
    drafts: tuple[Draft, ...]
    current: int = 0
    phase: Phase = "asking"
    step: int = Field(default=0, serialization_alias="turn")
    """The number of the position. Databases store it as `turn`."""
    revision: int = 0
    outcome: Outcome | None = None
    votes: tuple[Vote, ...] = ()
    """The votes if several people decide: one for each voter, in voting order."""
    # Excluded by default, because an older process rejects a field that it does not know.
    changes: tuple[ArgumentChange, ...] = Field(default=(), exclude_if=lambda value: not value)
    """The arguments of the tool call that people changed. The form asks about the call with these changes."""
    deliveries: tuple[str, ...] = ()
    """The platform's ids of the last clicks that counted. A platform may deliver one again, even to another process."""

    @property
    def question(self) -> Question:
        """The current question; in the review, the last one visited."""
        return self.form.questions[self.current]

    @property
    def draft(self) -> Draft:
        return self.drafts[self.current]

    @property
    def visible(self) -> tuple[int, ...]:
        """The indexes of the questions that the answers so far call for."""
        shown: list[int] = []
        for index, question in enumerate(self.form.questions):
            condition = question.show_if
            if condition is None or self._is_met(condition, shown):
                shown.append(index)
        return tuple(shown)

    @property
    def missing(self) -> tuple[int, ...]:
        """The indexes of the visible questions without an answer."""
        return tuple(index for index in self.visible if not self.is_answered(index))

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers so far, of visible questions only."""
        return tuple(self.answer(index) for index in self.visible if self.drafts[index].is_answer)

    def is_answered(self, index: int) -> bool:
        """Return True if a question has an answer, with as many chosen options as it asks for."""
        return self.drafts[index].is_answer and self.find_count_problem(index) is None

    def find_count_problem(self, index: int) -> str | None:
        """Return what to do if the number of choices is too small or too large. A written answer is enough."""
        draft = self.drafts[index]
        count = len(draft.chosen) + len(draft.picked) + len(draft.files)
        return None if draft.text is not None else self.form.questions[index].find_count_problem(count)

    def answer(self, index: int) -> Answer:
        """Return the answer to one question so far. Raises `InvalidValue` if there is none."""
        question, draft = self.form.questions[index], self.drafts[index]
        choices = tuple(
            Choice(index=i, value=question.options[i].value, label=question.options[i].label) for i in draft.chosen
        )
        note = draft.note if choices else None
        return Answer(
            question_id=question.id,
            choices=choices,
            picked=draft.picked,
            files=draft.files,
            text=draft.text,
            note=note,
        )

    def _is_met(self, condition: Condition, shown: Collection[int]) -> bool:
        earlier = self.form.find_index(condition.question)
        if earlier is None:
            return False
        draft, options = self.drafts[earlier], self.form.questions[earlier].options
        chosen = {options[i].value for i in draft.chosen}
        return condition.is_met(shown=earlier in shown, answered=draft.is_answer, chosen=chosen)


def start_interview(form: Form) -> Interview:
    """Return the interview of a form at the start, with the defaults chosen."""
    drafts = tuple(
        Draft(
            chosen=tuple(i for i, option in enumerate(question.options) if option.value in question.default),
            seen=index == 0,
        )
        for index, question in enumerate(form.questions)
    )
    return Interview(form=form, drafts=drafts)


def move(interview: Interview, current: int, phase: Phase) -> Interview:
    """Return the interview at another position. Its question counts as seen from now on."""
    drafts = list(interview.drafts)
    drafts[interview.current] = drafts[interview.current].evolve(marks=())
    drafts[current] = drafts[current].evolve(seen=True)
    return interview.evolve(
        drafts=tuple(drafts),
        current=current,
        phase=phase,
        step=interview.step + 1,
        revision=interview.revision + 1,
    )


def settle(interview: Interview, outcome: Outcome) -> Interview:
    """Return the interview closed with this outcome. A closed one keeps its outcome; the drafts stay in any case."""
    if interview.phase == "closed":
        return interview
    return interview.evolve(
        phase="closed",
        outcome=outcome.evolve(votes=interview.votes) if interview.votes else outcome,
        step=interview.step + 1,
        revision=interview.revision + 1,
    )
