"""Calls Discord's API for threads: starts them, opens archived ones, and remembers deleted ones."""

from __future__ import annotations

__all__ = ["ThreadApi", "to_channel_id"]

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from cachetools import FIFOCache

from askback.domain.identity import Place
from askback.ports.platform import MessageNotFound
from askback_discord import escaping
from askback_discord.api_calls import ARCHIVED, INVALID, NO_CHANNEL, THREAD_EXISTS, DiscordApi, DiscordRejection, Json

log = logging.getLogger("askback.discord")

ARCHIVE_MINUTES = 10_080
"""Minutes until Discord archives an inactive thread; the longest that Discord allows."""
MAX_TITLE = 90
"""Characters of a thread's title. Discord allows 100."""
MAX_DELETED = 2000
"""Maximum number of deleted channels and threads to remember, since anyone who may start threads can delete many."""
UNTITLED = "askback"

T = TypeVar("T")


def to_channel_id(place: Place) -> str:
    """Return the channel id for messages of a place. On Discord, a thread is a channel."""
    return place.thread or place.channel


class ThreadApi:
    """The threads of Discord through its REST API. On Discord, a thread is a channel."""

    def __init__(self, api: DiscordApi, bot_id: str) -> None:
        self._api = api
        self._bot_id = bot_id
        self._deleted: FIFOCache[str, None] = FIFOCache(MAX_DELETED)
        """The latest channels and threads that were deleted."""

    async def start(self, place: Place, title: str) -> None:
        """Start the thread of a place at the message whose id it has; an existing thread is kept.

        Raises `MessageNotFound`, `RetryableError` or `DeliveryError`.
        """
        if place.thread is None:
            return
        for name in dict.fromkeys((escaping.fit_line(_to_printable(title), MAX_TITLE) or UNTITLED, UNTITLED)):
            try:
                await self._api.call(
                    "POST",
                    "/channels/{channel_id}/messages/{message_id}/threads",
                    {"name": name, "auto_archive_duration": ARCHIVE_MINUTES},
                    channel_id=place.channel,
                    message_id=place.thread,
                )
            except DiscordRejection as rejection:
                if rejection.code == INVALID and name != UNTITLED:
                    continue  # Discord rejects this name
                if rejection.code != THREAD_EXISTS:
                    raise
            return

    async def start_from_message(self, place: Place) -> None:
        """Start the thread of a place, with the text of its first message as the title.

        Raises `MessageNotFound`, `RetryableError` or `DeliveryError`.
        """
        try:
            title = str((await self._api.fetch_message(place.channel, place.thread or "")).get("content") or "")
            await self.start(place, title.replace(f"<@{self._bot_id}>", " ").replace(f"<@!{self._bot_id}>", " "))
        except MessageNotFound:
            raise DiscordRejection(NO_CHANNEL, "the message for starting the thread was deleted.") from None

    def is_deleted(self, channel: str) -> bool:
        """Return True if the channel or thread was deleted recently."""
        return channel in self._deleted

    def mark_deleted(self, channel: str) -> None:
        """Remember a deleted channel or thread, so that nothing is posted there and no thread is started again."""
        self._deleted[channel] = None

    async def fetch_parent(self, thread: str) -> str | None:
        """Return the channel that a thread belongs to, or None if it is not a thread.

        Raises `MessageNotFound`, `RetryableError` or `DeliveryError`.
        """
        answer = await self._api.call("GET", "/channels/{channel_id}", channel_id=thread)
        # A channel also has a parent, which is its category.
        return str(answer["parent_id"]) if "thread_metadata" in answer and answer.get("parent_id") else None

    async def unarchive(self, thread: str) -> None:
        """Open an archived thread. Raises `MessageNotFound`, `RetryableError` or `DeliveryError`."""
        await self._api.call("PATCH", "/channels/{channel_id}", {"archived": False}, channel_id=thread)

    async def is_archived(self, thread: str) -> bool:
        answer = await self._api.call("GET", "/channels/{channel_id}", channel_id=thread)
        metadata = answer.get("thread_metadata")
        return isinstance(metadata, dict) and cast("Json", metadata).get("archived") is True

    async def run_unarchived(self, channel: str, act: Callable[[], Awaitable[T]]) -> T:
        """Run an action. If it fails because the thread is archived, open the thread and run it again."""
        try:
            return await act()
        except DiscordRejection as rejection:
            if rejection.code != ARCHIVED:
                raise
        log.info("Reopening an archived thread.", extra={"action": "unarchive", "channel": channel})
        await self.unarchive(channel)
        return await act()


def _to_printable(title: str) -> str:
    return " ".join("".join(map(_replace_invisible, title)).split())


def _replace_invisible(character: str) -> str:
    return character if character.isprintable() else " "
