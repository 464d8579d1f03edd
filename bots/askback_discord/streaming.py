"""Shows the agent's text while it is written, in a message with a Stop button.

The message is edited within Discord's rate limits.
"""

from __future__ import annotations

__all__ = ["WORKING", "DiscordTextStream"]

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from askback.domain.identity import Place
from askback.ports.platform import DeliveryError, MessageNotFound, Messages, Remainder, RetryableError
from askback.translations.catalogue import N_

if TYPE_CHECKING:
    from askback_discord.posting import DiscordPlatform

log = logging.getLogger("askback.discord")

WORKING = N_("Working…")
"""The text of a placeholder, which has a button that stops the work."""
EDIT_SECONDS = 1.2
"""Seconds between two edits. Discord allows about five in five seconds."""
SILENT_SECONDS = 3.0
"""Seconds for which people may see only the typing indicator. Then a placeholder is posted."""
PAUSES = (0.5, 1.0)
"""Seconds between tries to remove a button."""
FIRST_CHARACTERS = 12
PART = 1_900
"""Characters shown while the text is written. The rest follows when the text is finished."""


class DiscordTextStream:
    """One text of the agent. See `askback.ports.platform.TextStream`.

    While the text is written, the Stop button is below it. If no text arrives for some seconds, the bot first posts a
    "Working…" message. The last edit removes the button.
    """

    def __init__(
        self, platform: DiscordPlatform, place: Place, name: str, messages: Messages | None, *, resumed: bool
    ) -> None:
        """See `askback.ports.platform.Platform.open_stream`."""
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
        """True if an unknown beginning may exist."""
        self._buttoned = self._resumed or self._unsure
        """True if a message with the button may exist."""
        self._worded: bool | None = None if self._buttoned else False
        """True if a message may hold more than the button; None if that is unknown."""
        self._has_stray = self._buttoned
        """True if a further message with the button may exist, whose posting was not confirmed."""
        self._has_foreign_stray = resumed
        """True if a process that lost the turn may have begun the text in another message with the button."""
        if self._resumed:
            platform.stop_typing(place)
        self._silence = (
            None if self._resumed else asyncio.create_task(self._break_silence(), name=f"askback discord {name}")
        )

    @property
    def messages(self) -> Messages:
        return self._messages

    async def append(self, text: str) -> None:
        self._text += text
        if self._resumed:
            return  # keep a text that a restart interrupted unchanged until the new one is complete
        async with self._writing:
            now = time.monotonic()
            shown = self._text.strip()[:PART]
            if now < self._quiet_until or len(shown) < FIRST_CHARACTERS or shown == self._shown:
                return
            self._buttoned = self._worded = True
            try:
                if await self._is_resumed():
                    return
                if self._has_stray:
                    await self._find_existing()
                self._messages = await self._platform.write_text(
                    self._place, shown, self._messages, self._name, being_written=True
                )
            except (MessageNotFound, RetryableError, DeliveryError) as error:
                log.warning("Could not show more of a text; trying again: %s", error, extra={"action": "text_held"})
                self._has_stray = self._has_stray or not self._messages
                self._quiet_until = now + (
                    error.seconds if isinstance(error, RetryableError) and error.seconds else 5.0
                )
            else:
                self._platform.stop_typing(self._place)
                self._shown = shown
                # Count from the end of the call, because Discord counts when edits arrive.
                self._quiet_until = time.monotonic() + EDIT_SECONDS

    async def finish(self, text: str) -> Messages:
        async with self._end():
            if self._buttoned and not self._messages:
                await self._find_existing()
            self._messages = await self._platform.write_text(self._place, text, self._messages, self._name)
            self._platform.search.remember_text(self._place, self._name, self._messages)
            if await self._remove_stray():
                self._messages = await self._platform.write_text(self._place, text, self._messages, self._name)
        return self._messages

    async def abandon(self, keep: Remainder = "text") -> None:
        async with self._end():
            if not self._buttoned or keep == "stream":  # `find_posted` recognizes the message by its button
                return
            for pause in (*PAUSES, None):
                try:
                    if keep == "nothing":
                        await self._platform.remove_unfinished(self._messages)
                        return
                    await self._find_existing()
                    await self._platform.remove_stop_button(self._messages, worded=self._worded)
                except RetryableError as later:
                    if pause is not None:
                        await asyncio.sleep(pause)
                        continue
                    log.warning("Could not remove a Stop button: %s", later, extra={"action": "button_stays"})
                except (MessageNotFound, DeliveryError) as error:
                    log.debug("Could not remove a Stop button: %s", error)
                return

    @asynccontextmanager
    async def _end(self) -> AsyncGenerator[None]:
        """Hold the lock for the last change of the text.

        Only the caller writes while it is held, and nothing is written later.
        """
        self._over = True
        async with self._writing:
            if self._silence is not None:
                self._silence.cancel()  # it is not writing, since it would hold the lock for that
            yield

    async def _break_silence(self) -> None:
        """Post a placeholder after a while without text, so that people see the work and can stop it."""
        await asyncio.sleep(SILENT_SECONDS)
        async with self._writing:
            if self._over or self._messages:
                return
            self._buttoned = True
            try:
                if not await self._is_resumed():
                    self._messages = await self._platform.post_placeholder(self._place, self._name)
            except (MessageNotFound, RetryableError, DeliveryError) as error:
                log.debug("Could not post the placeholder of a text: %s", error)
                # Discord may have accepted the call anyway, or accept it later.
                self._has_stray = True

    async def _is_resumed(self) -> bool:
        """Return True if a beginning of the text exists. It stays unchanged until the text is complete.

        Looks for the beginning if it is unknown. Raises `MessageNotFound`, `RetryableError` or `DeliveryError`.
        """
        if self._unsure:
            await self._find_existing()
            self._unsure, self._resumed = False, bool(self._messages)
            if self._resumed:
                self._platform.stop_typing(self._place)
        return self._resumed

    async def _remove_stray(self) -> bool:
        """Delete further messages with the button. Return True if the text itself has the button again.

        Then a process that lost the turn has just written a part of the text over the whole one.
        """
        if not self._has_stray and not self._has_foreign_stray:
            return False
        found: Messages = ()
        try:
            found = await self._platform.find_posted(self._place, self._name)
            await self._platform.remove(tuple(message for message in found if message not in self._messages))
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.warning("Could not check for leftover Stop buttons: %s", error, extra={"action": "button_stays"})
        self._has_stray = self._has_foreign_stray = False
        return any(message in self._messages for message in found)

    async def _find_existing(self) -> None:
        """Find a message whose posting was not confirmed, by its button."""
        if not self._messages:
            self._messages = await self._platform.find_posted(self._place, self._name)
