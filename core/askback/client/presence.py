"""The asks for which this process waits. One task reports all of them to the database, now and then."""

from __future__ import annotations

__all__ = ["Loss", "Presence"]

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Literal

from askback.domain.wait_report import WaitReport
from askback.errors import AskbackError
from askback.internal.clock import monotonic
from askback.runtime.shutdown import end_tasks

log = logging.getLogger("askback.ask")

RENEWAL_SECONDS = 25.0
"""Seconds between two reports of all waits. Three of them count as lost before a card says that no caller waits."""
END_SECONDS = 2.0
"""Seconds after the end of a wait until it is reported. A program that polls has begun the next one by then."""
PAUSE_SECONDS = 0.5
"""Minimum number of seconds between two reports, which then hold everything that happened meanwhile."""
RETRY_SECONDS = 5.0
"""Seconds after which a report that failed is repeated."""
LAST_SECONDS = 2.0
"""Maximum number of seconds for the last report, when this process stops waiting."""

Loss = Literal["with wait", "with process"]
"""The time from which no later call can receive the answer: the end of the wait, or that of this process."""


class Presence:
    """Reports the asks for which this process waits, so that people learn if no process does."""

    def __init__(self, record: Callable[[WaitReport], Awaitable[None]]) -> None:
        """`record` stores a report. It may raise `AskbackError`."""
        self._record = record
        self._waiting: dict[str, int] = {}
        """The number of callers that wait for each ask."""
        self._polled: set[str] = set()
        """Asks about which somebody has asked since the last report of all waits."""
        self._ended: dict[str, float] = {}
        """The time of the end of each wait that is not reported yet, oldest first."""
        self._losses: dict[str, Loss] = {}
        """The asks whose answer no later call can receive, some time. Those that end with the process stay here."""
        self._recorded: set[str] = set()
        """Asks that the database knows as waited for."""
        self._new: set[str] = set()
        """Asks that are waited for, and that it does not know as such."""
        self._received: set[str] = set()
        """Asks whose answer a caller has received."""
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def wait(self, ask_id: str, loss: Loss | None = None) -> Generator[None]:
        """Count a caller as waiting until the block ends. Without a `loss`, a later call can receive the answer."""
        self._begin(ask_id)
        if loss is not None:
            self._losses[ask_id] = loss
        self._waiting[ask_id] = self._waiting.get(ask_id, 0) + 1
        try:
            yield
        finally:
            self._waiting[ask_id] -= 1
            if not self._waiting[ask_id]:
                del self._waiting[ask_id]
                if ask_id not in self._polled:
                    self._new.discard(ask_id)
                self._ended[ask_id] = monotonic()
                self._changed.set()

    def poll(self, ask_id: str) -> None:
        """Count a caller as waiting for some time: by its protocol, it asks again after some seconds."""
        self._begin(ask_id)
        self._polled.add(ask_id)

    def forget(self, ask_id: str) -> None:
        """Report nothing more about an ask, because it is settled."""
        self._polled.discard(ask_id)
        self._recorded.discard(ask_id)
        self._new.discard(ask_id)
        self._losses.pop(ask_id, None)
        self._ended.pop(ask_id, None)

    def receive(self, ask_id: str) -> None:
        """Report at the end that a caller has received the answer to an ask."""
        self.forget(ask_id)
        self._received.add(ask_id)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Report until the block ends, and then that no caller waits."""
        self.start()
        try:
            yield
        finally:
            await self.close()

    def start(self) -> None:
        """Begin to report, if it does not yet."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="askback presence")

    async def close(self) -> None:
        """Report that this process waits for nothing any more."""
        if self._task is None:
            return
        await end_tasks([self._task])
        self._task = None
        ended = self._recorded | self._waiting.keys() | self._ended.keys()
        report = WaitReport(
            ended=tuple(sorted(ended)), lost=frozenset(self._losses), received=frozenset(self._received)
        )
        if not report:
            return
        try:
            async with asyncio.timeout(LAST_SECONDS):
                await self._record(report)
        except (AskbackError, TimeoutError) as error:
            log.info("Could not report the end of a wait: %s", error, extra={"action": "wait_not_reported"})

    def _begin(self, ask_id: str) -> None:
        self._ended.pop(ask_id, None)
        if ask_id not in self._recorded:
            self._new.add(ask_id)
            self._changed.set()

    async def _run(self) -> None:
        renewal = monotonic() + RENEWAL_SECONDS
        while True:
            await self._sleep_until(renewal)
            now = monotonic()
            everything = now >= renewal
            if everything:
                renewal = now + RENEWAL_SECONDS
            report = self._build_report(now, everything=everything)
            try:
                if report:
                    await self._record(report)
            except AskbackError as error:
                log.warning(
                    "Could not report that a program waits for an answer; trying again: %s",
                    error,
                    extra={"action": "wait_not_reported"},
                )
                renewal = monotonic() + RETRY_SECONDS
                await asyncio.sleep(RETRY_SECONDS)
                continue
            self._note_recorded(report, everything=everything)
            await asyncio.sleep(PAUSE_SECONDS)

    async def _sleep_until(self, renewal: float) -> None:
        """Sleep until a report is due."""
        while True:
            self._changed.clear()
            now = monotonic()
            first = next(iter(self._ended.values()), None)
            due = renewal if first is None else first + END_SECONDS
            if self._new or min(due, renewal) <= now:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(min(due, renewal) - now):
                    await self._changed.wait()

    def _build_report(self, now: float, *, everything: bool) -> WaitReport:
        waiting = (self._waiting.keys() | self._polled) if everything else self._new
        ended = {one for one, at in self._ended.items() if now - at >= END_SECONDS}
        lost = {one for one in waiting if one in self._losses}
        lost |= {one for one in ended if self._losses.get(one) == "with wait"}
        left = self._losses if everything else ended
        kept = {one for one in left if self._losses.get(one) == "with process" and one not in self._waiting}
        return WaitReport(
            waiting=tuple(sorted(waiting)), ended=tuple(sorted(ended)), lost=frozenset(lost), kept=frozenset(kept)
        )

    def _note_recorded(self, report: WaitReport, *, everything: bool) -> None:
        if everything:
            # A caller that polls is counted until the next report of all waits, and longer if it asks again by then.
            self._recorded = set(report.waiting)
            self._polled.difference_update(report.waiting)
            self._new = (self._waiting.keys() | self._polled) - self._recorded
        else:
            self._recorded.update(report.waiting)
            self._new.difference_update(report.waiting)
        for one in report.ended:
            self._recorded.discard(one)
            if one in self._waiting or one in self._polled:
                self._new.add(one)  # it has begun again meanwhile
            if one not in self._waiting:
                self._ended.pop(one, None)
                if self._losses.get(one) == "with wait":
                    del self._losses[one]
