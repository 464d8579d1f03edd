"""Remembers the newest message of each place, to read from there after a gap in the gateway session."""

from __future__ import annotations

__all__ = ["MessagePosition", "MessagePositions"]

from collections.abc import Mapping, Sequence

import discord
from cachetools import FIFOCache

from askback.domain.conversation import RECENT, RecentConversation
from askback.domain.identity import Place
from askback.internal.clock import utc_now
from askback_discord.thread_api import to_channel_id

MAX_CHANNELS = 200
"""Maximum number of channels and threads to read after a new session."""

MessagePosition = tuple[int, int | None]
"""The id of a message, and the id of its server; None for a direct message."""


class MessagePositions:
    """The newest message received in each of the most recently active channels and threads."""

    def __init__(self) -> None:
        self._newest: FIFOCache[int, MessagePosition] = FIFOCache(MAX_CHANNELS)
        self._before: dict[int, MessagePosition] = {}
        """The newest messages at the start of a session that has not caught up yet."""

    def start_session(self) -> None:
        """Remember the newest messages at the start of a session.

        Messages of the new session come after the missed ones, and must not hide them.
        """
        self._before = {**self._newest, **self._before}

    def restore(self, conversations: Sequence[RecentConversation]) -> None:
        """Remember the conversations of an earlier process, the newest first, so that `MissedMessages` reads them."""
        for conversation in reversed(conversations):
            place, (_, _, message) = conversation.place, conversation.newest_key.partition(":")
            if message.isdigit() and to_channel_id(place).isdigit():
                self.remember(place, int(message))

    def remember(self, place: Place, message: int) -> None:
        """Remember the newest message of a conversation, and of the channel in which it began."""
        guild = None if place.tenant is None else int(place.tenant)
        self._newest[int(to_channel_id(place))] = message, guild
        if place.thread is not None:
            channel = int(place.channel)
            began, _ = self._newest.get(channel, (0, guild))
            # A thread has the id of the message that it started from. Nothing older than a day is answered.
            day = discord.utils.time_snowflake(utc_now() - RECENT)
            self._newest[channel] = max(began, int(place.thread), day), guild

    def take(self) -> Mapping[int, MessagePosition]:
        """Return the newest messages from before the session, and forget them."""
        before, self._before = self._before, {}
        return before

    def put_back(self, channel: int, position: MessagePosition) -> None:
        """Remember a place that could not be read, for the next session."""
        self._before[channel] = position
