"""Draws the cards of asks. Each ask is drawn by one task at a time."""

from __future__ import annotations

__all__ = ["CardRenderer", "Paint"]

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final
from weakref import WeakValueDictionary

from cachetools import FIFOCache

from askback.domain.ask import Ask
from askback.manager.access_control import AccessControl
from askback.ports.platform import Messages
from askback.store.store import Store

Paint = Callable[[Ask], Awaitable[Messages]]
"""Shows an ask to people, and returns the messages of its card."""


MAX_ASKS: Final = 250
"""Number of states that are kept. A click draws its state within milliseconds."""


class CardRenderer:
    """Draws the newest state of an ask. An older state never overwrites a newer one."""

    def __init__(self, store: Store, access: AccessControl) -> None:
        self._store = store
        self._access = access
        self._drawing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._kept: FIFOCache[str, Ask] = FIFOCache[str, Ask](MAX_ASKS)

    def keep(self, ask: Ask) -> None:
        """Keep the state that a click has committed, so that its drawing need not read it again."""
        known = self._kept.get(ask.id)
        if known is None or known.interview.revision <= ask.interview.revision:
            self._kept[ask.id] = ask

    async def draw(self, ask_id: str, paint: Paint, *, anyway: bool = False, by_click: bool = False) -> None:
        """Draw the newest state of an ask through `paint`.

        A state that is drawn already is not drawn again, unless `anyway` is True. `by_click`: draw the state that a
        click has just committed here. Another process may have a newer one, which its outbox row draws afterwards.
        Raises what `paint` raises; the caller then uses `leave_to_outbox`.
        """
        async with self._drawing.setdefault(ask_id, asyncio.Lock()):
            # Each state is drawn once. A second click that waited for the lock finds none, and reads the newest.
            ask = self._kept.pop(ask_id, None) if by_click else None
            if ask is None:
                ask = await self._store.get(ask_id)
            if ask is not None and (anyway or not ask.is_drawn):
                self._access.remember(ask)
                # The time comes from the clock that judges the deadline. A card that was posted before does not need
                # it.
                at = None if ask.messages or ask.posted_at is not None else await self._store.get_current_time()
                messages = await paint(ask if at is None else ask.mark_posted(at))
                await self._store.mark_rendered(ask_id, ask.interview.revision, messages, before=ask.messages, at=at)

    async def leave_to_outbox(self, ask_id: str) -> None:
        """Queue an ask for the outbox to draw at once, after the caller failed to draw it."""
        await self._store.release_lease(f"ask:{ask_id}")
