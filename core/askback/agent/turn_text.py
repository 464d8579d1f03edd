"""Streams the text of one turn to people, and makes sure that no other process writes it as well.

A task shows the text while the next part arrives, so that a slow call of the platform never holds back the model. A
text that is complete at once is not streamed: the commit of the turn comes first, and then one call posts all of it.
"""

from __future__ import annotations

__all__ = ["TurnText"]

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from askback.agent.queued_text import EarlierTextPending
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.turn import Turn
from askback.ports.platform import DeliveryError, MessageNotFound, Messages, RetryableError, TextStream
from askback.store.errors import StoreError, TurnTakenOver
from askback.store.leases import LeaseLost, keep_lease
from askback.store.store import Store

T = TypeVar("T")

log = logging.getLogger("askback.agent")

CHECK_SECONDS = 2.0
"""Seconds after which a process checks that the turn is still its own before it writes more.

A process that was suspended, or cut off from the database, may have lost its turn to another one.
"""
FIRST_SECONDS = 0.03
"""Seconds to wait for more before the first part of a text is shown. People do not notice them."""


class TurnText:
    """Writes the text of a turn while the model streams it, and records where it is posted."""

    def __init__(self, store: Store, turn: Turn, stream: TextStream, on_begin: Callable[[], Awaitable[None]]) -> None:
        """`on_begin` is called once, with the first piece of text."""
        self._store = store
        self._turn = turn
        self._stream = stream
        self._on_begin: Callable[[], Awaitable[None]] | None = on_begin
        self._recorded: Messages = turn.conversation.text_messages
        self._checked_at = asyncio.get_running_loop().time()
        self._held_until = float("-inf")
        self._unwritten = ""
        self._is_taken_over = False
        self._is_uncertain = False
        """True if it is unknown whether the place of the text was recorded."""
        self._arrived = asyncio.Event()
        """Set if there may be more to show."""
        self._complete = asyncio.Event()
        """Set once the model has written all of the text."""

    async def read(self, response: Coroutine[Any, Any, T]) -> T:
        """Return the model's response, and show its text while it arrives through `follow`.

        Raises `TurnTakenOver` as soon as that is known, and the errors of the response.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._show(), name=f"askback text {self._turn.text_target}")
                result = await response
                self._complete.set()
                self._arrived.set()
        except BaseExceptionGroup as errors:
            # One of the two failed, and the other one was cancelled.
            raise errors.exceptions[0] from None
        return result

    async def follow(self, text: str) -> None:
        """Have more of the text shown. Raises the errors of `on_begin`."""
        if self._on_begin is not None:
            begin, self._on_begin = self._on_begin, None
            await begin()
        self._unwritten += text
        self._arrived.set()

    async def _show(self) -> None:
        """Show what arrives, until the text is complete. Raises `TurnTakenOver`."""
        await self._arrived.wait()
        if not self._stream.messages:
            with suppress(TimeoutError):
                async with asyncio.timeout(FIRST_SECONDS):
                    await self._complete.wait()
        while not self._complete.is_set():
            self._arrived.clear()
            await self._show_unwritten()
            await self._arrived.wait()

    async def _show_unwritten(self) -> None:
        """Show what has arrived.

        While the database is unreachable, this shows nothing more, since another process may be writing the text.
        """
        now = asyncio.get_running_loop().time()
        if now < self._held_until or (now - self._checked_at > CHECK_SECONDS and not await self._check()):
            return
        text, self._unwritten = self._unwritten, ""
        await self._stream.append(text)
        if self._stream.messages != self._recorded:
            await self._check()

    async def _check(self) -> bool:
        """Record where the text is posted. Return False if the database cannot be reached. Raises `TurnTakenOver`."""
        messages, before = self._stream.messages, self._recorded
        # If this is cancelled, or its result is in doubt, it may still be committed.
        self._recorded = messages
        try:
            await self._store.set_text_messages(self._turn, messages)
        except StoreError as error:
            self._is_uncertain = error.in_doubt
            if not error.in_doubt:
                self._recorded = before
            if isinstance(error, TurnTakenOver):
                self._is_taken_over = True
                await self._restore()
                raise
            log.warning(
                "Stopped showing a text until the database answers, since another process may be writing it: %s",
                error,
                extra={"action": "text_held"},
            )
            self._held_until = asyncio.get_running_loop().time() + CHECK_SECONDS
            return False
        self._is_uncertain = False
        self._checked_at = asyncio.get_running_loop().time()
        return True

    async def _restore(self) -> None:
        """Have the text of the other process posted again, where this one may have written over it.

        A process can be suspended after it checked the turn and before it writes.
        """
        messages = self._stream.messages
        if not messages or messages[:1] != self._recorded[:1]:
            return
        try:
            await self._store.restore_text(self._turn, messages)
        except StoreError as error:
            log.warning(
                "Could not restore a text that another process completed, so a part of it may be missing: %s",
                error,
                extra={"action": "text_cut"},
            )

    async def abandon(self, *, will_retry: bool = False) -> None:
        """Write no more. The next try of the turn continues in the recorded messages.

        If the turn will be retried, an unfinished message whose place may not be recorded stays open: the next try
        finds it. Otherwise, or if another process may have begun the text in its own message, it is deleted.
        """
        if not self._stream.messages and will_retry and not self._is_taken_over:
            # A message whose posting was not confirmed may exist. Only an open one can be looked up.
            await self._stream.abandon("stream")
        elif self._stream.messages[:1] == self._recorded[:1] and not self._is_uncertain:
            await self._stream.abandon()
        elif will_retry and not self._is_taken_over and (self._is_uncertain or not self._store.is_shared):
            await self._stream.abandon("stream")
        else:
            await self._stream.abandon("nothing")

    async def finish(self, outgoing: OutgoingMessage, taken_at: float) -> None:
        """Post the complete text under the lease taken at `taken_at`, a time of the running loop.

        If the platform cannot post it now, the outbox delivers it later. Raises `LeaseLost`.
        """
        try:
            async with keep_lease(self._store, outgoing.target, taken_at):
                messages = await self._stream.finish(outgoing.text)
        except LeaseLost:
            await self._stream.abandon()
            raise
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            # Waiting for an earlier text does not count as a failure.
            level = logging.INFO if isinstance(error, EarlierTextPending) else logging.WARNING
            log.log(
                level, "Could not post a text; the outbox delivers it later: %s", error, extra={"action": "text_left"}
            )
            await self._store.release_lease(outgoing.target)
        except asyncio.CancelledError:
            await asyncio.shield(self._store.release_lease(outgoing.target))
            raise
        else:
            await self._store.delete_text(outgoing.target, self._turn.conversation.id, messages)
