"""Draws the cards of asks, one drawing of an ask at a time."""

from __future__ import annotations

__all__ = ["CardRenderer", "Paint"]

import asyncio
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

from askback.domain.ask import Ask
from askback.manager.access_control import AccessControl
from askback.ports.platform import Messages
from askback.store.store import Store

Paint = Callable[[Ask], Awaitable[Messages]]
"""Shows an ask to people, and returns the messages of its card."""


class CardRenderer:
    """Draws the newest state of an ask. An older state never overwrites a newer one."""

    def __init__(self, store: Store, access: AccessControl) -> None:
        self._store = store
        self._access = access
        self._drawing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def draw(self, ask_id: str, paint: Paint, *, anyway: bool = False) -> None:
        """Draw the newest state of an ask through `paint`.

        A state that is drawn already is not drawn again, unless `anyway` is True. Raises what `paint` raises; the
        caller then uses `leave_to_outbox`.
        """
        async with self._drawing.setdefault(ask_id, asyncio.Lock()):
            ask = await self._store.get(ask_id)
            if ask is not None and (anyway or not ask.is_drawn):
                self._access.remember(ask)
                # The time comes from the clock that judges the deadline. A card that was posted before does not need
                # it.
                at = None if ask.messages or ask.posted_at is not None else await self._store.get_current_time()
                messages = await paint(ask if at is None else ask.mark_posted(at))
                await self._store.mark_rendered(ask_id, ask.interview.revision, messages, before=ask.messages, at=at)

    async def leave_to_outbox(self, ask_id: str) -> None:
        """Let the outbox draw an ask at once, because the caller that should draw it could not."""
        await self._store.release_lease(f"ask:{ask_id}")
