"""Looks up the user groups that a person is in, since Slack's payloads do not contain them."""

from __future__ import annotations

__all__ = ["SlackUserGroups"]

import asyncio
import logging
import time
from collections.abc import Iterable
from weakref import WeakValueDictionary

from askback.domain.group import GroupMembers
from askback.domain.identity import Actor, Place
from askback.ports.membership import Resolved
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback_slack.api_calls import SlackApi
from askback_slack.id_patterns import PLATFORM
from askback_slack.json_access import get_list
from askback_slack.message_events import is_direct

log = logging.getLogger("askback.slack")

CACHE_SECONDS = 60.0
"""Seconds that a group's members are cached. Slack allows about twenty reads a minute."""
FAILED_SECONDS = 5.0
"""Seconds that a group counts as empty after a failed read, before the next try."""
LOOKUP_SECONDS = 1.5
"""Seconds that reading a group may take. A click or an event waits for its ack during that time."""


class SlackUserGroups:
    """User groups as the core's `Membership`. A group has the same members everywhere in a workspace."""

    def __init__(self, api: SlackApi) -> None:
        self._api = api
        self._known: dict[str, tuple[float, frozenset[str]]] = {}
        self._unread: dict[str, str | None] = {}
        """The groups that could not be read. The value is the reason if Slack will never allow it."""
        self._reading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def resolve(self, place: Place, people: Iterable[Actor], groups: Iterable[str]) -> Resolved:
        del place
        wanted = tuple(dict.fromkeys(groups))
        members = dict(zip(wanted, await asyncio.gather(*map(self._list_members, wanted)), strict=True))
        unread = {group: self._unread[group] for group in wanted if group in self._unread}
        return Resolved(
            tuple(
                person.evolve(groups=tuple(group for group in wanted if person.id in members[group]))
                if person.platform == PLATFORM
                else person
                for person in people
            ),
            frozenset(unread),
            frozenset(group for group, why in unread.items() if why is None),
            tuple(f"The group {group}: {why}" for group, why in unread.items() if why is not None),
        )

    async def list_members(self, place: Place, groups: Iterable[str]) -> dict[str, GroupMembers]:
        del place
        wanted = tuple(dict.fromkeys(groups))
        found = await asyncio.gather(*map(self._list_members, wanted))
        return {
            group: GroupMembers(
                people=tuple(Actor(platform=PLATFORM, id=user) for user in sorted(people)),
                unreadable=self._unread.get(group),
            )
            for group, people in zip(wanted, found, strict=True)
            if group not in self._unread or self._unread[group] is not None
        }

    async def find_sole_viewer(self, place: Place, person: Actor, groups: Iterable[str]) -> Actor | None:
        return (await self.resolve(place, (person,), groups)).people[0] if is_direct(place.channel) else None

    async def _list_members(self, group: str) -> frozenset[str]:
        async with self._reading.setdefault(group, asyncio.Lock()):
            until, people = self._known.get(group, (0.0, frozenset[str]()))
            if time.monotonic() < until:
                return people
            people, kept = await self._read_members(group)
            self._known[group] = time.monotonic() + kept, people
            return people

    async def _read_members(self, group: str) -> tuple[frozenset[str], float]:
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                answer = await self._api.read("usergroups.users.list", usergroup=group)
        except (MessageNotFound, RetryableError, DeliveryError, TimeoutError) as error:
            why = str(error) or "Slack did not answer in time."
            log.warning(
                "Could not read the members of a user group, so nobody counts as a member for now: %s",
                why,
                extra={"action": "no_group", "group": group},
            )
            self._unread[group] = why if isinstance(error, DeliveryError) else None
            return frozenset(), FAILED_SECONDS
        self._unread.pop(group, None)
        return frozenset(user for user in get_list(answer, "users") if isinstance(user, str)), CACHE_SECONDS
