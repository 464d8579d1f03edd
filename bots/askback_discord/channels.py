"""Finds the place of an event on Discord. A thread is a channel that belongs to another channel."""

from __future__ import annotations

__all__ = ["ChannelCache"]

import logging

import discord
from cachetools import FIFOCache

from askback.domain.identity import Place
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback_discord.id_patterns import PLATFORM
from askback_discord.posting import DiscordPlatform

log = logging.getLogger("askback.discord")

MAX_CHANNELS = 2000


class ChannelCache:
    """Caches the parents of threads. Looks up those that discord.py does not know."""

    def __init__(self, platform: DiscordPlatform) -> None:
        self._platform = platform
        self._parents: FIFOCache[int, str | None] = FIFOCache(MAX_CHANNELS)

    async def fetch_parent(self, channel: object) -> str | None:
        """Return the channel that a thread belongs to, or None if it is not a thread or the lookup fails."""
        if isinstance(channel, discord.Thread):
            return str(channel.parent_id)
        if not isinstance(channel, discord.PartialMessageable):
            return None
        # discord.py has not seen this channel, which may be an archived thread.
        if channel.id not in self._parents:
            try:
                self._parents[channel.id] = await self._platform.threads.fetch_parent(str(channel.id))
            except (MessageNotFound, RetryableError, DeliveryError) as error:
                log.warning(
                    "Could not look up whether a channel is a thread, so it counts as a channel: %s",
                    error,
                    extra={"action": "thread_unknown"},
                )
                return None
        return self._parents[channel.id]

    async def to_place(self, interaction: discord.Interaction) -> Place | None:
        """Return the place of an interaction, or None if Discord does not name it."""
        if interaction.channel_id is None:
            return None
        channel = str(interaction.channel_id)
        if interaction.guild_id is None:
            return Place(platform=PLATFORM, channel=channel)
        guild, parent = str(interaction.guild_id), await self.fetch_parent(interaction.channel)
        if parent is None:
            return Place(platform=PLATFORM, tenant=guild, channel=channel)
        return Place(platform=PLATFORM, tenant=guild, channel=parent, thread=channel)
