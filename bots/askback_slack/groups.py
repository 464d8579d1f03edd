"""The user groups that a person is in.

Slack's payloads do not contain them, so they are looked up before anything is committed.
"""

from __future__ import annotations

__all__ = ["Groups"]

import asyncio
import logging
import time
from collections.abc import Iterable
from weakref import WeakValueDictionary

from askback.domain.identity import Actor
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback_slack.calls import SlackApi
from askback_slack.payloads import PLATFORM, items

log = logging.getLogger("askback.slack")

KEPT_SECONDS = 60.0
"""Seconds that a group's members are cached. Slack allows about twenty reads a minute."""
FAILED_SECONDS = 5.0
"""Seconds that a group counts as empty after a failed read, before the next try."""
LOOKUP_SECONDS = 1.5
"""Seconds that reading a group may take. A click or an event waits for its ack during that time."""


class Groups:
    """The members of user groups. It fails closed: a group that cannot be read has no members."""

    def __init__(self, api: SlackApi) -> None:
        self._api = api
        self._known: dict[str, tuple[float, frozenset[str]]] = {}
        self._unread: set[str] = set()
        self._reading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def fill(self, actor: Actor, groups: Iterable[str]) -> Actor:
        """Return the same person with those of these groups that they are in. Never raises."""
        wanted = tuple(dict.fromkeys(groups))
        if not wanted or actor.platform != PLATFORM:
            return actor
        members = await asyncio.gather(*map(self._members, wanted))
        found = tuple(group for group, people in zip(wanted, members, strict=True) if actor.id in people)
        return actor.evolve(groups=tuple(dict.fromkeys((*actor.groups, *found))))

    async def members(self, groups: Iterable[str]) -> dict[str, tuple[Actor, ...]]:
        """Return the members of these groups, leaving out groups that cannot be read. Never raises."""
        wanted = tuple(dict.fromkeys(groups))
        found = await asyncio.gather(*map(self._members, wanted))
        return {
            group: tuple(Actor(platform=PLATFORM, id=user) for user in sorted(people))
            for group, people in zip(wanted, found, strict=True)
            if group not in self._unread
        }

    def are_unread(self, groups: Iterable[str]) -> bool:
        """Return True if the last read of any of these groups failed."""
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
        except (MessageNotFound, RetryableError, DeliveryError, TimeoutError) as error:
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
