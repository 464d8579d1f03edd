"""Shows the typing indicator while the agent works. Discord cannot show other moods."""

from __future__ import annotations

__all__ = ["StatusIndicator"]

import asyncio
import logging
import time

from cachetools import TTLCache

from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback_discord.api_calls import NO_CHANNEL, DiscordApi, DiscordRejection

log = logging.getLogger("askback.discord")

TYPING_SECONDS = 8.0
"""Seconds between two requests. Discord shows the indicator for ten seconds."""
THREAD_SECONDS = 1.0
"""Seconds between two tries while a thread is being started."""
REJECTED_SECONDS = 3600.0
"""Seconds without requests after a channel rejected one. Rejected requests count towards a ban."""
MAX_CHANNELS = 2000


class StatusIndicator:
    """One task per channel or thread in which the bot types. Never raises."""

    def __init__(self, api: DiscordApi) -> None:
        self._api = api
        self._typing: dict[str, asyncio.Task[None]] = {}
        self._rejected: TTLCache[str, None] = TTLCache(MAX_CHANNELS, REJECTED_SECONDS, time.monotonic)

    def start_typing(self, room: str) -> None:
        """Show the indicator until `stop_typing` is called."""
        if room not in self._typing and room not in self._rejected:
            self._typing[room] = asyncio.create_task(self._type(room), name=f"askback discord typing {room}")

    def stop_typing(self, room: str) -> None:
        typing = self._typing.pop(room, None)
        if typing is not None:
            typing.cancel()

    async def close(self) -> None:
        """Stop all tasks."""
        tasks = [*self._typing.values()]
        for room in [*self._typing]:
            self.stop_typing(room)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _type(self, room: str) -> None:
        while True:
            try:
                await self._api.execute("POST", "/channels/{channel_id}/typing", channel_id=room)
                pause = TYPING_SECONDS
            except RetryableError as later:
                log.debug("Could not show the typing indicator; trying again: %s", later)
                pause = max(later.seconds or 0.0, TYPING_SECONDS)
            except (MessageNotFound, DeliveryError) as rejection:
                if isinstance(rejection, DiscordRejection) and rejection.code == NO_CHANNEL:
                    pause = THREAD_SECONDS  # the thread is being started
                else:
                    log.debug("Could not show the typing indicator in this channel: %s", rejection)
                    self._rejected[room] = None
                    return
            await asyncio.sleep(pause)
