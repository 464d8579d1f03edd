"""The agent's text, as it is written: a message that is edited within Discord's rate limits, with a button to stop."""

from __future__ import annotations

__all__ = ["WORKING", "DiscordProse"]

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from askback.domain.identity import Place
from askback.ports.platform import Gone, Messages, TryLater, Undeliverable

if TYPE_CHECKING:
    from askback_discord.posting import DiscordPlatform

log = logging.getLogger("askback.discord")

WORKING = "Working…"
"""Stands where the text is going to be, with a button that ends the work."""
EDIT_SECONDS = 1.2
"""Between two edits: Discord allows about five in five seconds."""
SILENT_SECONDS = 3.0
"""How long there may be nothing to see but that the bot types."""
PAUSES = (0.5, 1.0)
"""Between tries to take a button away."""
FIRST_CHARACTERS = 12
PART = 1_900
"""Characters that are shown while more come; the rest is written when the text is finished."""


class DiscordProse:
    """One text. See `askback.platform.Prose`.

    While it is written, the button Stop stands below it; before there is anything to read, one that has waited
    for a while finds "Working…" in its place. The last edit takes the button away.
    """

    def __init__(self, platform: DiscordPlatform, place: Place, name: str, messages: Messages | None) -> None:
        """See `askback.platform.Platform.prose`."""
        self._platform = platform
        self._place = place
        self._name = name
        self._messages: Messages = messages or ()
        self._text: str = ""
        self._shown: str = ""
        self._resumed = bool(messages)
        self._quiet_until = 0.0
        self._writing = asyncio.Lock()
        self._over = False
        self._unsure = messages is None
        """Whether a beginning may stand there that is not known."""
        self._buttoned = self._resumed or self._unsure
        """Whether a button may stand there."""
        self._worded: bool | None = None if self._buttoned else False
        """Whether more than a button may stand there."""
        if self._resumed:
            platform.begun(place)
        self._silence = (
            None if self._resumed else asyncio.create_task(self._break_silence(), name=f"askback discord {name}")
        )

    @property
    def messages(self) -> Messages:
        return self._messages

    async def append(self, text: str) -> None:
        self._text += text
        if self._resumed:
            return  # a text that a restart broke off stays as it stands until the new one is whole
        async with self._writing:
            now = time.monotonic()
            shown = self._text.strip()[:PART]
            if now < self._quiet_until or len(shown) < FIRST_CHARACTERS or shown == self._shown:
                return
            self._buttoned = self._worded = True
            try:
                if await self._is_resumed():
                    return
                self._messages = await self._platform.write(
                    self._place, shown, self._messages, self._name, being_written=True
                )
            except (Gone, TryLater, Undeliverable) as error:
                log.warning("A text is held back: %s", error, extra={"action": "prose_held"})
                self._quiet_until = now + (error.seconds if isinstance(error, TryLater) and error.seconds else 5.0)
            else:
                self._platform.begun(self._place)
                self._shown = shown
                # From its end on: what counts is when they arrive.
                self._quiet_until = time.monotonic() + EDIT_SECONDS

    async def finish(self, text: str) -> Messages:
        async with self._end():
            if self._buttoned and not self._messages:
                await self._look()
            self._messages = await self._platform.write(self._place, text, self._messages, self._name)
            self._platform.said(self._place, self._name, self._messages)
        return self._messages

    async def abandon(self) -> None:
        async with self._end():
            if not self._buttoned:
                return
            for pause in (*PAUSES, None):
                try:
                    await self._look()
                    await self._platform.unbutton(self._messages, worded=self._worded)
                except TryLater as later:
                    if pause is not None:
                        await asyncio.sleep(pause)
                        continue
                    log.warning("A button that has served stays: %s", later, extra={"action": "button_stays"})
                except (Gone, Undeliverable) as error:
                    log.debug("A button cannot be taken away: %s", error)
                return

    @asynccontextmanager
    async def _end(self) -> AsyncGenerator[None]:
        """Nothing else is written while this is held, and nothing after it but what its holder writes."""
        self._over = True
        async with self._writing:
            if self._silence is not None:
                self._silence.cancel()  # it does not write now: for that it would hold the lock
            yield

    async def _break_silence(self) -> None:
        """People see that something goes on, and can end it, where there is nothing to read for a while."""
        await asyncio.sleep(SILENT_SECONDS)
        async with self._writing:
            if self._over or self._messages:
                return
            self._buttoned = True
            try:
                if not await self._is_resumed():
                    self._messages = await self._platform.announce(self._place, self._name)
            except (Gone, TryLater, Undeliverable) as error:
                log.debug("Nothing is shown of the work: %s", error)

    async def _is_resumed(self) -> bool:
        """Return whether a beginning stands there, looked up where it is unknown. It stays until the text is whole."""
        if self._unsure:
            await self._look()
            self._unsure, self._resumed = False, bool(self._messages)
            if self._resumed:
                self._platform.begun(self._place)
        return self._resumed

    async def _look(self) -> None:
        """Find the message whose posting was not answered, by its button."""
        if not self._messages:
            self._messages = await self._platform.find(self._place, self._name)
