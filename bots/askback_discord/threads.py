"""Keeps the threads with open questions open, and ends questions whose channel or thread was deleted."""

from __future__ import annotations

__all__ = ["ThreadOpener"]

import logging

import discord

from askback.domain.ask import Ask
from askback.manager import QuestionManager
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback_discord.api_calls import NO_CHANNEL, DiscordRejection
from askback_discord.message_positions import MessagePosition
from askback_discord.posting import DiscordPlatform
from askback_discord.shards import Shard
from askback_discord.thread_api import to_channel_id

log = logging.getLogger("askback.discord")

DELETED = "the channel or thread of this question was deleted."


class ThreadOpener:
    """Keeps the threads with open questions open."""

    def __init__(self, manager: QuestionManager, platform: DiscordPlatform, shard: Shard) -> None:
        self._manager = manager
        self._platform = platform
        self._shard = shard

    async def open_all(self) -> None:
        """Open the threads that were archived while the bot was not running, and end the questions in deleted ones.

        Many clients do not even send a click from an archived thread.
        """
        rooms = {to_channel_id(ask.place) for ask in await self._list_own() if ask.place.thread and ask.messages}
        for thread in sorted(rooms):
            try:
                if await self._platform.threads.is_archived(thread):
                    await self._platform.threads.unarchive(thread)
            except (MessageNotFound, RetryableError, DeliveryError) as error:
                if isinstance(error, DiscordRejection) and error.code == NO_CHANNEL:
                    await self.handle_channel_closed(thread)
                    continue
                log.warning(
                    "Could not check whether a thread with open questions is archived: %s",
                    error,
                    extra={"action": "thread_unknown"},
                )

    async def list_open_channels(self) -> dict[int, MessagePosition]:
        """Return the channels and threads with an open ask, each with the first message of its oldest open ask."""
        found: dict[int, MessagePosition] = {}
        for ask in await self._list_own():
            if ask.messages and to_channel_id(ask.place).isdigit():
                guild = None if ask.place.tenant is None else int(ask.place.tenant)
                found.setdefault(int(to_channel_id(ask.place)), (int(ask.messages[0].id), guild))
        return found

    async def _list_own(self) -> tuple[Ask, ...]:
        """Return the open asks on the servers of this process's shard. Other processes serve the others."""
        name, shard = self._platform.name, self._shard
        pending = await self._manager.list_open_asks()
        return tuple(ask for ask in pending if ask.place.platform == name and shard.contains(ask.place.tenant))

    async def handle_update(self, payload: discord.RawThreadUpdateEvent) -> None:
        """Handle a changed thread. If it was archived while an ask is open in it, open it again."""
        metadata = payload.data.get("thread_metadata")
        if not metadata or not metadata.get("archived") or metadata.get("locked"):
            return
        thread = str(payload.thread_id)
        if not any(to_channel_id(ask.place) == thread for ask in await self._manager.list_open_asks()):
            return
        try:
            await self._platform.threads.unarchive(thread)
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.warning(
                "Could not reopen an archived thread with open questions: %s",
                error,
                extra={"action": "thread_archived"},
            )

    async def handle_channel_closed(self, gone: str) -> None:
        """Handle a deleted channel or thread: end its open asks, because nobody can answer them any more."""
        self._platform.threads.mark_deleted(gone)
        for ask in await self._manager.list_open_asks():
            if ask.place.platform == self._platform.name and gone in {ask.place.channel, to_channel_id(ask.place)}:
                self._platform.threads.mark_deleted(to_channel_id(ask.place))
                await self._manager.cancel(ask.id, reason=DELETED, undeliverable=True)
