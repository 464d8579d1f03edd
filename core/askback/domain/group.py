"""The members of user groups and roles, as far as a platform tells them. No I/O."""

from __future__ import annotations

__all__ = ["GroupMembers", "name_members"]

from collections.abc import Iterable, Mapping

from askback.domain.identity import Actor
from askback.internal.values import Value


class GroupMembers(Value):
    """The members of one group."""

    people: tuple[Actor, ...] = ()
    others: int = 0
    """The number of further members, whom the platform does not name."""
    unreadable: str | None = None
    """The reason why the platform tells nothing about the group, and will not later. None if it tells something."""

    @property
    def is_complete(self) -> bool:
        """True if `people` are all members."""
        return self.unreadable is None and not self.others


def name_members(groups: Mapping[str, GroupMembers], people: Iterable[Actor]) -> dict[str, GroupMembers]:
    """Return the groups with those of these people among their unnamed members. Their `Actor.groups` are current."""
    known = tuple(people)
    return {
        name: _name_members(group, tuple(person for person in known if name in person.groups))
        for name, group in groups.items()
    }


def _name_members(group: GroupMembers, found: tuple[Actor, ...]) -> GroupMembers:
    if not group.others:
        return group
    return group.evolve(people=(*group.people, *found), others=max(0, group.others - len(found)))
