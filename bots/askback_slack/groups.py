"""Which user groups somebody is in. Slack's payloads do not tell, so it is looked up before anything is committed."""

from __future__ import annotations

__all__ = ["Groups"]

import asyncio
import logging
import time
from collections.abc import Iterable
from weakref import WeakValueDictionary

from askback.domain.identity import Actor
from askback.ports.platform import Gone, TryLater, Undeliverable
from askback_slack.calls import SlackApi
from askback_slack.payloads import PLATFORM, items

log = logging.getLogger("askback.slack")

KEPT_SECONDS = 60.0
"""How long a group's members are believed: Slack lets them be read about twenty times a minute."""
FAILED_SECONDS = 5.0
"""How long a group that cannot be read counts as empty before it is tried again."""
LOOKUP_SECONDS = 1.5
"""How long a group may take to read: a click or an event waits for its ack meanwhile."""


class Groups:
    """The members of user groups. Closed: a group that cannot be read has none."""

    def __init__(self, api: SlackApi) -> None:
        self._api = api
        self._known: dict[str, tuple[float, frozenset[str]]] = {}
        self._unread: set[str] = set()
        self._reading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def fill(self, actor: Actor, groups: Iterable[str]) -> Actor:
        """The same person, with those of these groups that they are in. Never raises."""
        wanted = tuple(dict.fromkeys(groups))
        if not wanted or actor.platform != PLATFORM:
            return actor
        members = await asyncio.gather(*map(self._members, wanted))
        found = tuple(group for group, people in zip(wanted, members, strict=True) if actor.id in people)
        return actor.evolve(groups=tuple(dict.fromkeys((*actor.groups, *found))))

    async def members(self, groups: Iterable[str]) -> dict[str, tuple[Actor, ...]]:
        """Who is in these groups; one that cannot be read is left out. Never raises."""
        wanted = tuple(dict.fromkeys(groups))
        found = await asyncio.gather(*map(self._members, wanted))
        return {
            group: tuple(Actor(platform=PLATFORM, id=user) for user in sorted(people))
            for group, people in zip(wanted, found, strict=True)
            if group not in self._unread
        }

    def are_unread(self, groups: Iterable[str]) -> bool:
        """Whether one of these could not be read when it was last tried."""
        return not self._unread.isdisjoint(groups)

    async def _members(self, group: str) -> frozenset[str]:
        async with self._reading.setdefault(group, asyncio.Lock()):
            until, people = self._known.get(group, (0.0, frozenset[str]()))
            if time.monotonic() < until:
                return people
            people, kept = await self._read(group)
            self._known[group] = time.monotonic() + kept, people
            return people

    async def _read(self, group: str) -> tuple[frozenset[str], float]:
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                answer = await self._api.read("usergroups.users.list", usergroup=group)
        except (Gone, TryLater, Undeliverable, TimeoutError) as error:
            why = str(error) or "Slack does not answer."
            log.warning(
                "A user group cannot be read, so nobody counts as a member of it: %s",
                why,
                extra={"action": "no_group", "group": group},
            )
            self._unread.add(group)
            return frozenset(), FAILED_SECONDS
        self._unread.discard(group)
        return frozenset(user for user in items(answer, "users") if isinstance(user, str)), KEPT_SECONDS
