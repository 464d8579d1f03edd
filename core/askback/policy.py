"""Who may answer, until when, and how much may be asked. Pure; closed by default."""

from __future__ import annotations

__all__ = ["Limits", "Policy", "Who"]

from typing import Self

from pydantic import AwareDatetime, Field, model_validator

from askback.identity import Actor, Id
from askback.values import Value


class Who(Value):
    """The people who are asked: named ones, members of groups, or, said openly, anyone."""

    people: tuple[Actor, ...] = ()
    groups: tuple[Id, ...] = ()
    """Ids of user groups or roles."""
    anyone: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not (self.people or self.groups or self.anyone):
            raise ValueError("names nobody: give people or groups, or set anyone=True to let everybody answer")
        return self

    @classmethod
    def only(cls, *people: Actor) -> Self:
        """These people and nobody else."""
        return cls(people=people)

    def includes(self, actor: Actor) -> bool:
        """Whether this person is among them. Groups that are not known to contain them do not."""
        if self.anyone:
            return True
        if any(person.is_same_person(actor) for person in self.people):
            return True
        return bool(set(self.groups) & set(actor.groups))


class Policy(Value):
    """The rules of one ask."""

    who: Who
    deadline: AwareDatetime | None = None
    """When nobody's answer is waited for any longer. None: for ever."""

    def refusal(self, actor: Actor) -> str | None:
        """Why this person may not act on the ask, in words for them; None if they may.

        The only such check there is: every way in passes through it.
        """
        if self.who.includes(actor):
            return None
        return "This question is for somebody else, so your click changed nothing."


class Limits(Value):
    """How much may be asked. The figures are those of the tools' own design documents."""

    pending_per_place: int = Field(default=10, ge=1)
    """Asks open in one conversation at the same time."""
    seconds_between_asks: float = Field(default=5.0, ge=0, allow_inf_nan=False)
    """A new card waits this long after the one before it. Only its posting waits: it is stored at once."""
    timeout: float | None = Field(default=300.0, gt=0, allow_inf_nan=False)
    """Seconds until `QuestionManager.ask` gives up where the caller says nothing. None: never."""
