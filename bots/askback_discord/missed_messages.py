"""Reads messages that people wrote or edited while the bot had no gateway session."""

from __future__ import annotations

__all__ = ["MissedMessages"]

import asyncio
import logging
from collections.abc import Mapping

import aiohttp
import discord

from askback.domain.conversation import RECENT
from askback.internal import clock
from askback.ports.membership import MembersUnknown
from askback_discord.channels import ChannelCache
from askback_discord.events import MessageListener
from askback_discord.gateway import UNREADABLE
from askback_discord.message_positions import MessagePosition, MessagePositions

log = logging.getLogger("askback.discord")

CATCH_UP = 100
"""Maximum number of messages to read in a channel or thread after a new session, including possibly edited ones."""
OVERLAP = 60_000 << 22
"""One minute as a difference of ids. Reading starts that much earlier, since messages may be stored out of order."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
"""Minimum and maximum seconds between two attempts to look up the roles of people who wrote while the bot was away."""


class MissedMessages:
    """Reads missed messages, and passes them to the listener."""

    def __init__(self, listener: MessageListener, channels: ChannelCache, positions: MessagePositions) -> None:
        self._listener = listener
        self._channels = channels
        self._positions = positions

    async def catch_up(
        self, client: discord.Client, me: discord.ClientUser, since: Mapping[int, MessagePosition]
    ) -> None:
        """Read messages that people wrote or edited during a gap in the gateway session, in places with conversations.

        Discord does not deliver missed events to a session that could not be resumed. This also reads the channels
        around the threads, because somebody may have mentioned the bot there. `since` has more channels and threads,
        each with the message after which to read.

        Messages carry no roles here. While the roles of an author cannot be looked up, their channel is read again.
        """
        before = self._positions.take()
        until, pause = clock.monotonic() + RECENT.total_seconds(), FIRST_PAUSE
        missed = await self._read_missed(client, me, {**since, **before})
        while missed and clock.monotonic() < until:
            log.log(
                logging.WARNING if pause == FIRST_PAUSE else logging.DEBUG,
                "Could not look up the roles of people who wrote while the bot was disconnected; trying again.",
                extra={"action": "catch_up_later"},
            )
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            missed = await self._read_missed(client, me, missed)

    async def _read_missed(
        self, client: discord.Client, me: discord.ClientUser, since: Mapping[int, MessagePosition]
    ) -> Mapping[int, MessagePosition]:
        """Read channels and threads once. Return those with an author whose roles cannot be looked up for now."""
        later: dict[int, MessagePosition] = {}
        for where, (newest, guild) in sorted(since.items()):
            room = client.get_partial_messageable(where, guild_id=guild)
            try:
                messages = await self._read_newest(client, room)
                for message in messages:
                    if message.id > newest - OVERLAP:
                        await self._listener.handle_message(message, me, is_missed=True)
                    if message.edited_at is not None:
                        await self._listener.handle_edit(message, me, is_missed=True)
            except MembersUnknown:
                later[where] = newest, guild
            except (discord.DiscordException, aiohttp.ClientError, OSError, TimeoutError) as error:
                self._positions.put_back(where, (newest, guild))  # retry after the next new session
                log.warning(
                    "Could not read messages that were written while the bot was disconnected: %s",
                    type(error).__name__,
                    extra={"action": "no_catch_up"},
                )
        return later

    async def _read_newest(
        self, client: discord.Client, room: discord.PartialMessageable
    ) -> tuple[discord.Message, ...]:
        """Return the newest messages of a channel or thread, oldest first.

        Raises `discord.DiscordException`, `aiohttp.ClientError`, `OSError` or `TimeoutError`.
        """
        try:
            last = [message async for message in room.history(limit=CATCH_UP)]
            return (*await self._fetch_starter(client, room), *reversed(last))
        except UNREADABLE as error:
            raise discord.DiscordException("What answered is not what Discord answers.") from error

    async def _fetch_starter(
        self, client: discord.Client, thread: discord.PartialMessageable
    ) -> tuple[discord.Message, ...]:
        """Return the message that a thread started from. It is in the thread's parent, so its history lacks it."""
        parent = None if thread.guild_id is None else await self._channels.fetch_parent(thread)
        if parent is None:
            return ()
        channel = client.get_partial_messageable(int(parent), guild_id=thread.guild_id)
        try:
            return (await channel.fetch_message(thread.id),)
        except discord.NotFound:
            return ()  # the thread started without a message, or the message was deleted
