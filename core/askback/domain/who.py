"""The people who are asked, or who may answer. No I/O."""

from __future__ import annotations

__all__ = ["OpenTo", "Who"]

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import Field, model_validator

from askback.domain.identity import Actor, Id, deduplicate_accounts, is_account_among, is_person_among
from askback.internal.values import Value

OpenTo = Literal["participants", "allowed"]
"""Further people who may answer: everyone who has written in the thread, or everyone who may talk to the bot."""


class Who(Value):
    """The people who are asked: people by name, members of groups, or explicitly anyone."""

    people: tuple[Actor, ...] = ()
    groups: tuple[Id, ...] = ()
    """Ids of user groups or roles."""
    anyone: bool = False
    # Excluded if None, because an older process rejects a field that it does not know.
    open_to: OpenTo | None = Field(default=None, exclude_if=lambda value: value is None)
    """Further people who may answer. The bot's access rules then apply to everyone, including `people`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not (self.people or self.groups or self.anyone or self.open_to):
            raise ValueError("is empty: give people or groups, or set anyone=True to let everybody answer")
        return self

    @classmethod
    def from_people(cls, *people: Actor) -> Self:
        """Return a value with only these people."""
        return cls(people=people)

    def contains(self, actor: Actor, participants: Iterable[Actor] = (), *, admitted: bool = False) -> bool:
        """Return True if this person is among them. A group counts only if `actor.groups` contains it.

        `participants` are all who have written in the thread. `admitted` says that the access rules let this person
        talk to the bot.
        """
        if self.anyone:
            return True
        if self.open_to is not None and not admitted:
            return False
        if self.open_to == "allowed" or (self.open_to == "participants" and is_person_among(actor, participants)):
            return True
        return self.is_asked(actor)

    def is_asked(self, actor: Actor) -> bool:
        """Return True if this person is asked by name, through a group, or as anyone; `open_to` does not count."""
        if self.anyone:
            return True
        if is_person_among(actor, self.people):
            return True
        return bool(set(self.groups) & set(actor.groups))

    @property
    def distinct(self) -> tuple[Actor, ...]:
        """The named people, each account once."""
        return deduplicate_accounts(self.people)

    def merge(self, others: Who) -> Who:
        """Return these people and the others together."""
        return Who(
            people=(*self.people, *(person for person in others.people if not is_person_among(person, self.people))),
            groups=tuple(dict.fromkeys((*self.groups, *others.groups))),
            anyone=self.anyone or others.anyone,
            open_to=_get_wider(self.open_to, others.open_to),
        )

    def remove_accounts(self, people: tuple[Actor, ...]) -> Who | None:
        """Return these without some accounts; groups stay whole. None if that leaves nothing."""
        left = tuple(person for person in self.people if not is_account_among(person, people))
        if not (left or self.groups or self.anyone or self.open_to):
            return None
        return self.evolve(people=left)

    def subtract(self, others: Who) -> Who | None:
        """Return these without the people and groups that `others` names too. None if that leaves nothing."""
        people = tuple(person for person in self.people if not is_person_among(person, others.people))
        groups = tuple(group for group in self.groups if group not in others.groups)
        anyone = self.anyone and not others.anyone
        open_to = None if self.open_to == others.open_to else self.open_to
        if not (people or groups or anyone or open_to):
            return None
        return Who(people=people, groups=groups, anyone=anyone, open_to=open_to)


def _get_wider(one: OpenTo | None, other: OpenTo | None) -> OpenTo | None:
    return "allowed" if "allowed" in (one, other) else one or other
