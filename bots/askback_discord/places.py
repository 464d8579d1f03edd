"""Where something happens on Discord: a thread is a channel of its own, and belongs to another."""

from __future__ import annotations

__all__ = ["Places"]

import logging

import discord

from askback.domain.identity import Place
from askback.internal.bounded_cache import Recent
from askback.ports.platform import Gone, TryLater, Undeliverable
from askback_discord.payloads import PLATFORM
from askback_discord.posting import DiscordPlatform

log = logging.getLogger("askback.discord")

KEPT = 2000


class Places:
    """Channels and threads, as far as discord.py knows them, else looked up."""

    def __init__(self, platform: DiscordPlatform) -> None:
        self._platform = platform
        self._parents: Recent[int, str | None] = Recent(KEPT)

    async def parent(self, channel: object) -> str | None:
        """The channel that a thread belongs to. None: it is no thread, or nobody knows."""
        if isinstance(channel, discord.Thread):
            return str(channel.parent_id)
        if not isinstance(channel, discord.PartialMessageable):
            return None
        # discord.py has not seen it, and does not even know whether it is a thread: one that was archived.
        if channel.id not in self._parents:
            try:
                self._parents[channel.id] = await self._platform.parent(str(channel.id))
            except (Gone, TryLater, Undeliverable) as error:
                log.warning("A channel could not be looked up: %s", error, extra={"action": "thread_unknown"})
                return None
        return self._parents[channel.id]

    async def of(self, interaction: discord.Interaction) -> Place | None:
        """Where somebody pressed something. None: Discord does not say."""
        if interaction.channel_id is None:
            return None
        channel = str(interaction.channel_id)
        if interaction.guild_id is None:
            return Place(platform=PLATFORM, channel=channel)
        guild, parent = str(interaction.guild_id), await self.parent(interaction.channel)
        if parent is None:
            return Place(platform=PLATFORM, tenant=guild, channel=channel)
        return Place(platform=PLATFORM, tenant=guild, channel=parent, thread=channel)
