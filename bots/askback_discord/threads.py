"""Keeps the threads with open questions open, and ends questions whose channel or thread was deleted."""

from __future__ import annotations

__all__ = ["Rooms"]

import logging

import discord

from askback.domain.ask import Ask
from askback.manager import QuestionManager
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback_discord.calls import NO_CHANNEL, DiscordRefusal
from askback_discord.events import Seen
from askback_discord.posting import DiscordPlatform, room
from askback_discord.shards import Shard

log = logging.getLogger("askback.discord")

DELETED = "the channel or thread that this was asked in was deleted."


class Rooms:
    """The channels and threads with open questions."""

    def __init__(self, manager: QuestionManager, platform: DiscordPlatform, shard: Shard) -> None:
        self._manager = manager
        self._platform = platform
        self._shard = shard

    async def open_all(self) -> None:
        """Open the threads that were archived while the bot was not running, and end the questions in deleted ones.

        Many clients do not even send a click from an archived thread.
        """
        rooms = {room(ask.place) for ask in await self._ours() if ask.place.thread and ask.messages}
        for thread in sorted(rooms):
            try:
                if await self._platform.is_archived(thread):
                    await self._platform.unarchive(thread)
            except (MessageNotFound, RetryableError, DeliveryError) as error:
                if isinstance(error, DiscordRefusal) and error.code == NO_CHANNEL:
                    await self.deleted(thread)
                    continue
                log.warning("A thread could not be looked at: %s", error, extra={"action": "thread_unknown"})

    async def asked_in(self) -> dict[int, Seen]:
        """Return the channels and threads with an open ask, each with the first message of its oldest open ask."""
        found: dict[int, Seen] = {}
        for ask in await self._ours():
            if ask.messages and room(ask.place).isdigit():
                guild = None if ask.place.tenant is None else int(ask.place.tenant)
                found.setdefault(int(room(ask.place)), (int(ask.messages[0].id), guild))
        return found

    async def _ours(self) -> tuple[Ask, ...]:
        """Return the open asks on the servers of this process's shard. Other processes serve the others."""
        name, shard = self._platform.name, self._shard
        pending = await self._manager.pending()
        return tuple(ask for ask in pending if ask.place.platform == name and shard.serves(ask.place.tenant))

    async def updated(self, payload: discord.RawThreadUpdateEvent) -> None:
        """Handle a changed thread. If it was archived while an ask is open in it, open it again."""
        metadata = payload.data.get("thread_metadata")
        if not metadata or not metadata.get("archived") or metadata.get("locked"):
            return
        thread = str(payload.thread_id)
        if not any(room(ask.place) == thread for ask in await self._manager.pending()):
            return
        try:
            await self._platform.unarchive(thread)
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.warning("A thread could not be opened: %s", error, extra={"action": "thread_archived"})

    async def deleted(self, gone: str) -> None:
        """Handle a deleted channel or thread. No one can answer its cards any more, so reject the open asks."""
        self._platform.removed(gone)
        for ask in await self._manager.pending():
            if ask.place.platform == self._platform.name and gone in {ask.place.channel, room(ask.place)}:
                self._platform.removed(room(ask.place))
                await self._manager.reject(ask.id, DELETED)
