"""Remembers the newest message of each conversation, so that the bot knows where to read on."""

from __future__ import annotations

__all__ = ["NewestMessages"]

from collections.abc import Mapping, Sequence

from cachetools import FIFOCache

from askback.domain.conversation import RecentConversation
from askback.domain.identity import Place
from askback_slack.message_events import is_timestamp

MAX_CONVERSATIONS = 200
"""Maximum number of conversations, and of channels around them, to remember."""


class NewestMessages:
    """The timestamp of the newest message received in each place, for those that were active last.

    A channel is such a place, too: its timestamp is that of the newest message there that began a conversation.
    """

    def __init__(self, recent: Sequence[RecentConversation]) -> None:
        """`recent` are the conversations of an earlier process, the newest first."""
        self._newest: FIFOCache[Place, str] = FIFOCache(MAX_CONVERSATIONS)
        for conversation in reversed(recent):
            _, _, ts = conversation.newest_key.partition(":")
            if is_timestamp(ts):
                self.record(conversation.place, ts)

    def record(self, place: Place, ts: str) -> None:
        """Remember that a message was received in a place."""
        self._raise(place, ts)
        if place.thread is not None and is_timestamp(place.thread):
            self._raise(place.evolve(thread=None), place.thread)

    def _raise(self, place: Place, ts: str) -> None:
        before = self._newest.pop(place, ts)
        self._newest[place] = max(before, ts, key=float)

    def copy(self) -> Mapping[Place, str]:
        """Return the timestamps as they are now."""
        return dict(self._newest)
