"""Answers to a form, votes, and the outcome of an ask."""

from __future__ import annotations

__all__ = ["Answer", "Choice", "Outcome", "OutcomeState", "OutcomeStatus", "Picked", "Vote"]

from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, Field, ValidationInfo, field_validator, model_validator

from askback.domain.answer_file import AnswerFile
from askback.domain.form_limits import MAX_NOTE, MAX_PICKED_ID, MAX_PICKED_NAME
from askback.domain.identity import Actor
from askback.internal.values import PersonText, Value, find_repeats
from askback.text.literal import to_single_line


class Choice(Value):
    """A chosen option. `index` counts from 0."""

    index: int = Field(ge=0)
    value: str
    label: str


class Picked(Value):
    """A person or a channel that somebody picked, as the platform identifies it. It grants no rights."""

    id: str = Field(min_length=1, max_length=MAX_PICKED_ID)
    name: PersonText = ""
    """The name that people see, on one line; empty if the platform has not told it. Anyone can choose a name."""

    @field_validator("name")
    @classmethod
    def _fit(cls, value: str) -> str:
        return to_single_line(value)[:MAX_PICKED_NAME].strip()

    @property
    def label(self) -> str:
        """The name, or else the id."""
        return self.name or self.id


class Answer(Value):
    """The answer to one question: options, people, channels, files, a written text, or several of these with a text."""

    question_id: str
    choices: tuple[Choice, ...] = ()
    # Excluded by default, because an older process rejects a field that it does not know.
    picked: tuple[Picked, ...] = Field(default=(), exclude_if=lambda value: not value)
    """The people or channels, if the question asks for these."""
    files: tuple[AnswerFile, ...] = Field(default=(), exclude_if=lambda value: not value)
    """The files, if the question asks for these."""
    text: PersonText | None = None
    # Excluded by default, because an older process rejects a field that it does not know.
    note: Annotated[PersonText, Field(max_length=MAX_NOTE)] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    """The note that a person wrote to their choice. It never counts as the answer."""

    @field_validator("text", "note")
    @classmethod
    def _check_not_blank(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and not value.strip():
            raise ValueError(f"is blank: write {'an answer' if info.field_name == 'text' else 'a note'}")
        return value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not (self.choices or self.picked or self.files) and self.text is None:
            raise ValueError("is empty: give choices or a text")
        if self.note is not None and not self.choices:
            raise ValueError("has a note without a choice: give the choice")
        return self

    @property
    def is_custom(self) -> bool:
        """True if the person wrote a text instead of choosing."""
        return self.text is not None and not (self.choices or self.picked or self.files)

    @property
    def labels(self) -> tuple[str, ...]:
        """The answer in the words that people saw, with the written text last. A note is not part of it."""
        written = () if self.text is None else (self.text,)
        return (
            *(choice.label for choice in self.choices),
            *(one.label for one in self.picked),
            *(file.label for file in self.files),
            *written,
        )


class Vote(Value):
    """The decision of one of several people."""

    by: Actor
    choice: Choice
    reason: PersonText | None = None
    at: AwareDatetime


OutcomeStatus = Literal["answered", "cancelled", "declined", "timed_out", "undeliverable"]
OutcomeState = Literal["answered", "refused", "declined", "cancelled", "timed_out", "undeliverable"]
"""`OutcomeStatus`, and "refused", in the order of lists and statistics."""


class Revocation(Value):
    """The end of an approval of later calls, by the operator."""

    at: AwareDatetime
    reason: PersonText | None = None
    by: PersonText | None = None
    """The operator's own name, which nothing proves."""


class Outcome(Value):
    """The end of an ask. The agent receives nothing else."""

    status: OutcomeStatus
    at: AwareDatetime
    answers: tuple[Answer, ...] = Field(default=(), validate_default=True)
    by: Actor | None = None
    reason: PersonText | None = None
    """A person's sentence for a decline, a cancel or a refusal; for an undeliverable ask, the platform's error.

    For a timeout, a note if perhaps nobody saw the question.
    """
    votes: tuple[Vote, ...] = ()
    """The votes in the order given if several people decided, however the ask ended."""
    refused: bool = False
    """True if the answer is a "no"."""
    # Excluded by default, because an older process rejects a field that it does not know.
    discuss: bool = Field(default=False, exclude_if=lambda value: not value)
    """True if it is `declined` by a person who wants to discuss the question first."""
    fallback: tuple[Answer, ...] = Field(default=(), exclude_if=lambda value: not value)
    """The defaults that apply because nobody answered in time, as the card announced. Nobody chose them."""
    halted: bool = Field(default=False, exclude_if=lambda value: not value)
    """True if nobody answered in time, and the agent must therefore stop until a person writes."""
    revoked: Revocation | None = Field(default=None, exclude_if=lambda value: value is None)
    """The end of what it allowed for later calls. None if that holds, or if it allowed none."""

    @field_validator("answers")
    @classmethod
    def _check_answers(cls, value: tuple[Answer, ...], info: ValidationInfo) -> tuple[Answer, ...]:
        if "status" in info.data and (info.data["status"] == "answered") != bool(value):
            raise ValueError("must be given if the status is 'answered', and only then")
        repeated = find_repeats("the question", [answer.question_id for answer in value])
        if repeated is not None:
            raise ValueError(repeated)
        return value

    @model_validator(mode="after")
    def _check_timeout(self) -> Self:
        if (self.fallback or self.halted) and self.status != "timed_out":
            raise ValueError("has `fallback` or `halted`, which only the status 'timed_out' can have")
        return self

    @property
    def state(self) -> OutcomeState:
        """The status, or "refused" if the answer is a "no"."""
        return "refused" if self.refused else self.status

    @property
    def files(self) -> tuple[AnswerFile, ...]:
        """The files of all answers."""
        return tuple(file for answer in self.answers for file in answer.files)

    def __getitem__(self, question_id: str) -> Answer:
        for answer in self.answers:
            if answer.question_id == question_id:
                return answer
        raise KeyError(question_id)

    def get(self, question_id: str) -> Answer | None:
        """Return the answer to one question, or None if it has none."""
        return next((answer for answer in self.answers if answer.question_id == question_id), None)
