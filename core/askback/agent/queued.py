"""The agent's text while an earlier one is still to be said: nothing of it is shown before that."""

from __future__ import annotations

__all__ = ["QueuedProse"]

from collections.abc import Awaitable, Callable

from askback.internal import clock
from askback.ports.platform import Messages, Prose, TryLater

LOOK_SECONDS = 0.5
"""Between two looks whether the earlier text was said."""
EARLIER = "an earlier text of this conversation is still to be said."


class QueuedProse:
    """A text that begins once nothing waits before it. See `askback.platform.Prose`."""

    def __init__(self, waits: Callable[[], Awaitable[bool]], begin: Callable[[], Prose]) -> None:
        self._waits = waits
        self._begin = begin
        self._prose: Prose | None = None
        self._text = ""
        self._look_at = 0.0

    async def start(self) -> Prose | None:
        """Begin, where nothing waits before it. None: something does."""
        self._look_at = clock.monotonic() + LOOK_SECONDS
        if not await self._waits():
            self._prose = self._begin()
        return self._prose

    async def append(self, text: str) -> None:
        """Show more of it, or hold it back for as long as something waits before it."""
        if self._prose is not None:
            await self._prose.append(text)
            return
        self._text += text
        if clock.monotonic() >= self._look_at:
            begun = await self.start()
            if begun is not None:
                await begun.append(self._text)

    async def finish(self, text: str) -> Messages:
        """Show all of it. Raises `TryLater` where something waits before it: the outbox keeps the order."""
        if self._prose is None:
            if await self._waits():
                raise TryLater(EARLIER)
            self._prose = self._begin()
        elif not self._prose.messages and await self._waits():
            raise TryLater(EARLIER)
        return await self._prose.finish(text)

    async def abandon(self) -> None:
        """Take nothing further."""
        if self._prose is not None:
            await self._prose.abandon()

    @property
    def messages(self) -> Messages:
        """Return where it stands so far."""
        return () if self._prose is None else self._prose.messages
