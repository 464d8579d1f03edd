"""Looks up a person's current roles. Each click carries them, so the lookup is for everything else."""

from __future__ import annotations

__all__ = ["fill"]

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import cast

from askback.domain.identity import Actor
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback_discord.calls import DiscordApi

log = logging.getLogger("askback.discord")

LOOKUP_SECONDS = 5.0
"""Seconds that reading a member may take."""


async def fill(api: DiscordApi, guild: str | None, person: Actor, groups: Iterable[str]) -> Actor:
    """Return the same person with those of these roles that they have on a server.

    They have none in a direct message or if the lookup fails. Never raises.
    """
    wanted = tuple(groups)
    if guild is None or not wanted:
        return person.evolve(groups=())
    try:
        async with asyncio.timeout(LOOKUP_SECONDS):
            path = "/guilds/{guild_id}/members/{user_id}"
            member = await api.call("GET", path, guild_id=guild, user_id=person.id)
    except (MessageNotFound, RetryableError, DeliveryError, TimeoutError) as error:
        why = str(error) or "Discord does not answer."
        log.warning(
            "Somebody's roles cannot be read, so they count as having none: %s", why, extra={"action": "no_roles"}
        )
        return person.evolve(groups=())
    roles = member.get("roles") if isinstance(member, Mapping) else None
    # The role @everyone has the server's own id and appears in no payload.
    held = {guild, *(cast("list[object]", roles) if isinstance(roles, list) else ())}
    return person.evolve(groups=tuple(group for group in wanted if group in held))
