"""The interface for a platform's groups of people: Slack's user groups, Discord's roles."""

from __future__ import annotations

__all__ = ["MembersUnknown", "Membership", "Resolved"]

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from askback.domain.group import GroupMembers
from askback.domain.identity import Actor, Place
from askback.ports.platform import RetryableError


class MembersUnknown(RetryableError):
    """Raised if it cannot be looked up for now whether a person may act. The same look-up may succeed soon."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """People with their current groups."""

    people: tuple[Actor, ...]
    unread: frozenset[str] = frozenset()
    """The groups that could not be read. Nobody counts as a member of them."""
    later: frozenset[str] = frozenset()
    """Those of the unread groups that may be read soon: the platform failed for a moment."""
    unreadable: tuple[str, ...] = ()
    """For each group that can never be read, a sentence with the reason."""


class Membership(Protocol):
    """The members of one platform's groups.

    No method raises an error of the platform. A group that cannot be read counts as a group without members.
    """

    async def resolve(self, place: Place, people: Iterable[Actor], groups: Iterable[str]) -> Resolved:
        """Return the same people, each with their current groups out of `groups`."""
        ...

    async def list_members(self, place: Place, groups: Iterable[str]) -> Mapping[str, GroupMembers]:
        """Return the members of these groups. A group that the platform cannot list now is left out."""
        ...

    async def find_sole_viewer(self, place: Place, person: Actor, groups: Iterable[str]) -> Actor | None:
        """Return the person if they alone see the place, a direct message. None means that others see it, too.

        The result has the person's known groups out of `groups`.
        """
        ...
