"""Checks that the cards of open questions still exist, after the bot may have missed deletion events."""

from __future__ import annotations

__all__ = ["DeletedCardChecker"]

import asyncio
import contextlib
import logging
import math
import time
from collections import deque
from collections.abc import Mapping

from askback.inbound.card_recovery import CardRecovery
from askback.ports.platform import DeliveryError, Platform, RetryableError
from askback.store.store import Store

log = logging.getLogger("askback.cards")

AT_MOST = 500
"""Maximum number of cards checked after each start or lost connection, the newest first."""
PAUSE_SECONDS = 0.5
"""Seconds between two checks, to leave most of the platform's rate limit to people's clicks."""
AGAIN_SECONDS = 600.0
"""Minimum seconds between two sweeps of a platform: a connection may be lost repeatedly."""
LONGEST_SECONDS = 60.0
"""Longest pause in seconds if the platform cannot answer now. Pauses start at one second and double each time."""
REJECTIONS = 10
"""Number of rejections in a row that end a sweep: the token may be revoked."""


class DeletedCardChecker:
    """Sweeps the cards of platforms for which this is due. `run` owns the tasks."""

    def __init__(self, store: Store, cards: CardRecovery, platforms: Mapping[str, Platform]) -> None:
        self._store = store
        self._cards = cards
        self._platforms = platforms
        self._due: dict[str, float] = {}
        self._looked: dict[str, float] = {}
        self._asked = asyncio.Event()
        self._looks: dict[str, asyncio.Task[None]] = {}

    def schedule_check(self, platform: str) -> None:
        """Note that deletions on this platform may have been missed, and schedule a sweep."""
        now = time.monotonic()
        self._due.setdefault(platform, max(now, self._looked.get(platform, -math.inf) + AGAIN_SECONDS))
        self._asked.set()

    async def run(self) -> None:
        """Sweep until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._asked.clear()
                name = min(self._due, key=lambda one: self._due[one], default=None)
                wait = None if name is None else self._due[name] - time.monotonic()
                if name is None or wait is None or wait > 0:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(wait):
                            await self._asked.wait()
                    continue
                del self._due[name]
                self._looked[name] = time.monotonic()
                # The new sweep checks all cards again. A platform that is down delays no other.
                if (before := self._looks.get(name)) is not None:
                    before.cancel()
                self._looks[name] = tasks.create_task(self._sweep(name), name=f"askback sweep {name}")

    async def _sweep(self, name: str) -> None:
        try:
            await self._check_cards(name)
        except Exception:
            # Nothing depends on it: a card also comes back when someone asks for it.
            log.exception("Could not check whether cards were deleted.", extra={"action": "sweep_failed"})

    async def _check_cards(self, name: str) -> None:
        platform = self._platforms.get(name)
        if platform is None:
            return
        rejections, growing = 0, PAUSE_SECONDS
        left = deque(await self._store.list_newest_posted(name, AT_MOST))
        while left:
            ask_id, pause = left.popleft(), PAUSE_SECONDS
            try:
                await self._check_card(platform, ask_id)
                rejections, growing = 0, PAUSE_SECONDS
            except RetryableError as later:
                # Put it last: a card that the platform can never show must not delay the others.
                left.append(ask_id)
                growing = min(growing * 2, LONGEST_SECONDS)
                pause = growing if later.seconds is None else min(later.seconds, LONGEST_SECONDS)
                log.info(
                    "Could not check whether a card still exists; trying again later: %s",
                    later,
                    extra={"action": "look_later", "ask_id": ask_id},
                )
            except DeliveryError as rejection:
                log.info(
                    "Could not check whether a card still exists: %s",
                    rejection,
                    extra={"action": "no_look", "ask_id": ask_id},
                )
                rejections += 1
            if rejections >= REJECTIONS:
                log.warning(
                    "Could not check whether cards were deleted: %s rejects the look-ups. A deleted card comes back "
                    "when somebody asks for it.",
                    name,
                    extra={"action": "no_sweep", "platform": name},
                )
                return
            await asyncio.sleep(pause)

    async def _check_card(self, platform: Platform, ask_id: str) -> None:
        ask = await self._store.get(ask_id)
        if ask is not None and ask.outcome is None and ask.messages:
            missing = await platform.find_missing(ask.place, ask.messages)
            if missing:
                await self._cards.repost_missing(ask, missing)
