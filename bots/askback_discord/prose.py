"""The agent's text, as it is written: a message that is edited within Discord's rate limits."""

from __future__ import annotations

__all__ = ["WORKING", "DiscordProse"]

import logging
import time
from typing import TYPE_CHECKING

from askback.identity import Place
from askback.platform import Gone, Messages, TryLater, Undeliverable

if TYPE_CHECKING:
    from askback_discord.posting import DiscordPlatform

log = logging.getLogger("askback.discord")

WORKING = "Working…"
"""Stands where the text is going to be, with a button that ends the work."""
EDIT_SECONDS = 1.2
"""Between two edits: Discord allows about five in five seconds."""
FIRST_CHARACTERS = 12
PART = 1_900
"""Characters that are shown while more come; the rest is written when the text is finished."""


class DiscordProse:
    """One text. See `askback.platform.Prose`."""

    def __init__(self, platform: DiscordPlatform, place: Place, name: str, messages: Messages) -> None:
        self._platform = platform
        self._place = place
        self._name = name
        self._messages = messages
        self._text: str = ""
        self._shown: str = ""
        self._resumed = bool(messages)
        self._quiet_until = 0.0

    @property
    def messages(self) -> Messages:
        return self._messages

    async def append(self, text: str) -> None:
        self._text += text
        now = time.monotonic()
        if now < self._quiet_until or self._resumed:
            return  # a text that a restart broke off stays as it stands until the new one is whole
        shown = self._text.strip()[:PART]
        if len(shown) < FIRST_CHARACTERS or shown == self._shown:
            return
        try:
            self._messages = await self._platform.write(self._place, shown, self._messages, self._name)
        except (Gone, TryLater, Undeliverable) as error:
            log.warning("A text is held back: %s", error, extra={"action": "prose_held"})
            self._quiet_until = now + (error.seconds if isinstance(error, TryLater) and error.seconds else 5.0)
        else:
            self._shown = shown
            self._quiet_until = now + EDIT_SECONDS

    async def finish(self, text: str) -> Messages:
        self._messages = await self._platform.write(self._place, text, self._messages, self._name)
        return self._messages

    async def abandon(self) -> None:
        """Nothing is open."""
