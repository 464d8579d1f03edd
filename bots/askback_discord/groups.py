"""The roles of people on a server. Clicks and new messages carry them. What is read later does not."""

from __future__ import annotations

__all__ = ["DiscordRoles"]

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import cast

from cachetools import TTLCache

from askback.domain.group import GroupMembers
from askback.domain.identity import Actor, Place
from askback.ports.membership import Resolved
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback.translations.catalogue import N_
from askback_discord.api_calls import NOT_A_MEMBER, DiscordApi, DiscordRejection

log = logging.getLogger("askback.discord")

LOOKUP_SECONDS = 5.0
"""Seconds that reading a member may take."""
CACHE_SECONDS = 5.0
"""Seconds that a person's roles are cached, so that all that they wrote while the bot was away takes one look-up."""
MAX_PEOPLE = 1000


GONE = N_("there is no such role on this server. My operator has to set another one.")


class DiscordRoles:
    """Roles as the core's `Membership`. In a direct message, people have no roles."""

    def __init__(self, api: DiscordApi) -> None:
        self._api = api
        self._known = TTLCache[tuple[str, str], frozenset[str]](MAX_PEOPLE, CACHE_SECONDS)

    async def resolve(self, place: Place, people: Iterable[Actor], groups: Iterable[str]) -> Resolved:
        wanted = tuple(groups)
        found: list[Actor] = []
        unread, later = frozenset[str](), frozenset[str]()
        for person in people:
            roles = frozenset[str]()
            if wanted and place.tenant is not None:
                try:
                    roles = await self._read_roles(place.tenant, person)
                except (MessageNotFound, DeliveryError, RetryableError) as error:
                    log.warning(
                        "Could not read a person's roles, so they count as having none: %s",
                        error,
                        extra={"action": "no_roles"},
                    )
                    unread = frozenset(wanted)
                    later = unread if isinstance(error, RetryableError) else later
            found.append(person.evolve(groups=tuple(group for group in wanted if group in roles)))
        return Resolved(tuple(found), unread, later)

    async def list_members(self, place: Place, groups: Iterable[str]) -> Mapping[str, GroupMembers]:
        # Discord names the members of a role only to bots that may read all members of a server, but it counts them.
        wanted = tuple(groups)
        if place.tenant is None or not wanted:
            return {}
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                return await self._count_members(place.tenant, wanted)
        except (MessageNotFound, RetryableError, DeliveryError, TimeoutError) as error:
            why = str(error) or "Discord does not answer."
            log.warning("The members of roles cannot be counted: %s", why, extra={"action": "no_counts"})
            return {}

    async def _count_members(self, guild: str, groups: tuple[str, ...]) -> dict[str, GroupMembers]:
        """Return the number of members of these roles. The role @everyone is left out, as Discord does not count it."""
        counts = await self._api.call("GET", "/guilds/{guild_id}/roles/member-counts", guild_id=guild)
        found = {group: GroupMembers(others=count) for group in groups if isinstance(count := counts.get(group), int)}
        if {*groups} - {*found, guild}:
            listed = await self._api.list_objects("/guilds/{guild_id}/roles", guild_id=guild)
            existing = {role.get("id") for role in listed}
            gone = {*groups} - existing - {guild}
            found |= {group: GroupMembers(unreadable=GONE) for group in gone} if existing else {}
        return found

    async def find_sole_viewer(self, place: Place, person: Actor, groups: Iterable[str]) -> Actor | None:
        del groups  # Discord sends no roles in a direct message, where a click counts without them
        return person.evolve(groups=()) if place.tenant is None else None

    async def _read_roles(self, guild: str, person: Actor) -> frozenset[str]:
        """Return the ids of a person's roles on a server; none if they are not on it.

        Raises `MessageNotFound`, `RetryableError` or `DeliveryError`.
        """
        known = self._known.get((guild, person.id))
        if known is not None:
            return known
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                path = "/guilds/{guild_id}/members/{user_id}"
                member = await self._api.call("GET", path, guild_id=guild, user_id=person.id)
        except TimeoutError as error:
            raise RetryableError("Discord did not answer in time.") from error
        except DiscordRejection as rejection:
            if rejection.code not in NOT_A_MEMBER:
                raise
            found = frozenset[str]()
        else:
            roles = member.get("roles")
            # The role @everyone has the server's own id and appears in no payload.
            found = frozenset({guild, *(cast("list[str]", roles) if isinstance(roles, list) else ())})
        self._known[guild, person.id] = found
        return found
