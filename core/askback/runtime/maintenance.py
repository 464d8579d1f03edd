"""Runs the periodic checks of a process: the clock, work that no process serves, and old conversations."""

from __future__ import annotations

__all__ = ["Maintenance"]

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import timedelta

from askback.internal.clock import utc_now
from askback.store.errors import StoreError
from askback.store.queries.retention import PruneCounts
from askback.store.store import Store

log = logging.getLogger("askback.worker")

WATCH_SECONDS = 1.0
"""Seconds between two checks for a jump of the wall clock. Smaller jumps are ignored."""
CLOCK_SECONDS = 30.0
"""Seconds between two checks that the clock did not go back."""
PRUNE_SECONDS = 3600.0
PRUNED_AT_ONCE = 20
UNSERVED_SECONDS = 30.0
"""Seconds between two checks for work that no process serves, and the minimum time that it must have waited."""


LOOK_SECONDS = 10.0
"""Seconds between two checks for callers that have left, or have come back."""
RENEWAL_SECONDS = 30.0
"""Seconds in which callers renew their waits after this process, the database or the machine was away."""


class Maintenance:
    """The periodic checks. `run` owns their tasks."""

    def __init__(self, store: Store, wake: Callable[[], None], retention: timedelta | None) -> None:
        """`wake` is called when the clock has jumped. `retention` None keeps conversations permanently."""
        self._store = store
        self._wake = wake
        self._retention = retention

    async def run(self) -> None:
        """Check until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch_clock(), name="askback watch")
            tasks.create_task(self._repair_due_times(), name="askback clock")
            tasks.create_task(self._report_unserved(), name="askback unserved")
            tasks.create_task(self._show_callers(), name="askback callers")
            if self._retention is not None:
                tasks.create_task(self._prune(self._retention), name="askback retention")

    async def _watch_clock(self) -> None:
        """Wake the worker when the wall clock was set or the machine has slept."""
        while True:
            began, wall = time.monotonic(), utc_now()
            await asyncio.sleep(WATCH_SECONDS)
            passed = time.monotonic() - began
            if abs((utc_now() - wall).total_seconds() - passed) > WATCH_SECONDS:
                self._wake()

    async def _repair_due_times(self) -> None:
        """Make postponed deliveries due when the store's clock went back, instead of waiting until it has caught up."""
        while True:
            try:
                count = await self._store.repair_due_times()
            except StoreError as error:
                log.error(
                    "Could not check the outbox for postponed deliveries; trying again later: %s",
                    error,
                    extra={"action": "store_failed"},
                )
            else:
                if count:
                    log.warning(
                        "The clock was set back: delivering %d postponed items now. Deadlines follow the "
                        "current clock.",
                        count,
                        extra={"action": "clock_back", "count": count},
                    )
            await asyncio.sleep(CLOCK_SECONDS)

    async def _report_unserved(self) -> None:
        """Warn once about each platform that has waiting work and no process that serves it."""
        reported: frozenset[str] = frozenset()
        while True:
            await asyncio.sleep(UNSERVED_SECONDS)
            try:
                unserved = await self._store.list_unserved_platforms(timedelta(seconds=UNSERVED_SECONDS))
            except StoreError as error:
                log.error("Could not check for unserved work: %s", error, extra={"action": "store_failed"})
                continue
            for platform in sorted(unserved - reported):
                log.warning(
                    "Deliveries for %s are waiting, and no process on this database serves it. Start `askback %s`, or "
                    "`askback run`, which runs every bot that has a token.",
                    platform,
                    platform,
                    extra={"action": "unserved", "platform": platform},
                )
            reported = unserved

    async def _show_callers(self) -> None:
        """Let the cards of programs' questions show if no caller waits for their answers.

        Callers could not renew their waits while the database was away or the machine slept, so they get the time to
        do so first.
        """
        pause = RENEWAL_SECONDS
        while True:
            began = utc_now()
            await asyncio.sleep(pause)
            if (utc_now() - began).total_seconds() - pause > RENEWAL_SECONDS:
                pause = RENEWAL_SECONDS
                continue
            pause = LOOK_SECONDS
            try:
                while changed := await self._store.list_changed_waits():
                    if not any([await self._store.apply_wait(ask_id) for ask_id in changed]):
                        break
                await self._store.forget_ended_waits()
            except StoreError as error:
                log.error(
                    "Could not check for callers that have left; trying again: %s",
                    error,
                    extra={"action": "store_failed"},
                )
                pause = RENEWAL_SECONDS

    async def _prune(self, retention: timedelta) -> None:
        while True:
            began, wall = time.monotonic(), utc_now()
            try:
                before, count = await self._store.get_current_time() - retention, 0
                # Delete a few at a time: clicks wait for these commits.
                while (pruned := await self._store.prune(before, PRUNED_AT_ONCE)) != PruneCounts():
                    count += pruned.conversations
                    await asyncio.sleep(0)
                if count:
                    log.info("Deleted %d old conversations.", count, extra={"action": "pruned", "count": count})
            except StoreError as error:
                log.error(
                    "Could not delete old conversations; trying again: %s", error, extra={"action": "store_failed"}
                )
            await asyncio.sleep(PRUNE_SECONDS)
            while (ahead := (utc_now() - wall).total_seconds() - (time.monotonic() - began)) > PRUNE_SECONDS:
                # If the clock is wrong and set back later, deleted data would be lost.
                log.warning(
                    "The clock of this machine jumped ahead by %.0f s, so nothing is deleted for an hour. If the clock "
                    "is wrong, correct it now.",
                    ahead,
                    extra={"action": "clock_ahead", "seconds": round(ahead)},
                )
                began, wall = time.monotonic(), utc_now()
                await asyncio.sleep(PRUNE_SECONDS)
