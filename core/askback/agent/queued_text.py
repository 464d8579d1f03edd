"""Holds back the agent's text until earlier texts of the conversation are posted."""

from __future__ import annotations

__all__ = ["EarlierTextPending", "QueuedTextStream"]

from collections.abc import Awaitable, Callable

from askback.internal import clock
from askback.ports.platform import Messages, Remainder, RetryableError, TextStream

LOOK_SECONDS = 0.5
"""Seconds between two checks for an earlier text that is not posted yet."""


class EarlierTextPending(RetryableError):
    """Raised while an earlier text of the conversation is not posted yet. The outbox keeps the order."""

    def __init__(self) -> None:
        super().__init__("an earlier text of this conversation is not posted yet.")


class QueuedTextStream:
    """A text that begins once no earlier text is pending. See `askback.ports.platform.TextStream`."""

    def __init__(
        self, is_waiting: Callable[[], Awaitable[bool]], open_stream: Callable[[], TextStream], *, waiting: bool
    ) -> None:
        """`waiting` is True if an earlier text is pending now."""
        self._waits = is_waiting
        self._begin = open_stream
        self._stream: TextStream | None = None if waiting else open_stream()
        self._text = ""
        self._look_at = clock.monotonic() + LOOK_SECONDS

    async def _start(self) -> TextStream | None:
        """Begin the text if no earlier one is pending. Return None if one is."""
        self._look_at = clock.monotonic() + LOOK_SECONDS
        if not await self._waits():
            self._stream = self._begin()
        return self._stream

    async def append(self, text: str) -> None:
        """Show more of the text, or buffer it while an earlier text is pending."""
        if self._stream is not None:
            await self._stream.append(text)
            return
        self._text += text
        if clock.monotonic() >= self._look_at:
            begun = await self._start()
            if begun is not None:
                await begun.append(self._text)

    async def finish(self, text: str) -> Messages:
        """Show the complete text. Raises `EarlierTextPending`, and the errors of the platform."""
        if self._stream is None:
            if await self._waits():
                raise EarlierTextPending
            self._stream = self._begin()
        elif not self._stream.messages and await self._waits():
            raise EarlierTextPending
        return await self._stream.finish(text)

    async def abandon(self, keep: Remainder = "text") -> None:
        """Stop accepting text."""
        if self._stream is not None:
            await self._stream.abandon(keep)

    @property
    def messages(self) -> Messages:
        """The messages that hold the text so far."""
        return () if self._stream is None else self._stream.messages
