"""Sends the outcomes that are due to the callers' webhooks, at least once, with retries for a day.

The rows are in the database, so any server with the caller's secret sends them: also one that starts after the ask was
settled, or after another server was killed.
"""

from __future__ import annotations

__all__ = ["WebhookWorker"]

import asyncio
import logging
import random
from collections import Counter
from datetime import timedelta
from typing import Final

from askback.client.external_writes import write
from askback.domain.ask import Ask
from askback.domain.webhook import GIVE_UP, MAX_PAUSE, WebhookDelivery, compute_pause
from askback.doors.caller_file import CallerFile
from askback.doors.http_door import HttpDoor
from askback.doors.webhook_sender import SendResult, send
from askback.errors import AskbackError
from askback.internal.clock import utc_now
from askback.internal.throttle import Throttle
from askback.runtime.periodic import repeat
from askback.runtime.shutdown import end_tasks
from askback.store.external_access import DatabaseLocation, DatabaseNotFound, DatabaseNotReady
from askback.store.queries import webhooks
from askback.store.snapshot_reader import SnapshotReader
from askback.store.webhook_transactions import DueWebhook

log = logging.getLogger("askback.door")

POLL_SECONDS: Final = 10.0
"""Longest time between two looks. Another process may have settled an ask of another server."""
MAX_CONCURRENT: Final = 32
"""Maximum number of attempts that run at the same time."""
MAX_CONCURRENT_PER_CALLER: Final = 4
"""The same for each caller, so that a slow receiver delays no other one."""
SHUTDOWN_SECONDS: Final = 5.0
"""Seconds that running attempts may take when the server ends. A cut one is repeated by the next server."""
RECORD_SECONDS: Final = 2.0
"""Seconds in which a cut attempt is recorded."""
REPEAT_LOG_SECONDS: Final = 60.0
"""Seconds between two warnings about the receivers of one caller."""


class WebhookWorker:
    """Sends what is due. `run` owns its tasks."""

    def __init__(self, where: DatabaseLocation, callers: CallerFile, door: HttpDoor, version: str) -> None:
        self._where = where
        self._reader = SnapshotReader(where)
        self._callers = callers
        self._door = door
        self._agent = f"askback/{version}"
        self._wakeup = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()
        self._in_flight: Counter[str] = Counter()
        """The number of running attempts for each caller."""
        self._warnings: Throttle[str] = Throttle(REPEAT_LOG_SECONDS)

    def wake(self) -> None:
        """Look for settled asks now."""
        self._wakeup.set()

    async def run(self) -> None:
        """Send until cancelled. Then let the running attempts end within some seconds."""
        try:
            await repeat("webhooks", self._wakeup, self._start_due, POLL_SECONDS)
        finally:
            if self._running:
                await asyncio.wait(self._running, timeout=SHUTDOWN_SECONDS)
            await end_tasks(self._running)
            await self._reader.close()

    async def _start_due(self) -> timedelta | None:
        """Start what is due. Return the time until the next look."""
        names = self._callers.list_names()
        try:
            left = await self._reader.read(lambda connection: webhooks.get_times_until_due(connection, names))
            for name in (name for name, time in left.items() if time <= timedelta(0)):
                await self._start_due_for(name)
        except (DatabaseNotFound, DatabaseNotReady):
            return None  # nothing was asked yet, or the bot upgrades the database
        except AskbackError as error:
            if self._warnings.try_allow(""):
                log.warning("Could not look for webhooks: %s", error, extra={"action": "webhooks_not_read"})
            return None
        return min((time for time in left.values() if time > timedelta(0)), default=None)

    async def _start_due_for(self, name: str) -> None:
        free = min(MAX_CONCURRENT_PER_CALLER - self._in_flight[name], MAX_CONCURRENT - len(self._running))
        if free <= 0:
            return  # the end of an attempt wakes this worker
        for due in await write(self._where, lambda store: store.lease_webhooks(name, free), wakes=False):
            self._in_flight[name] += 1
            task = asyncio.create_task(self._run_attempt(due), name=f"askback webhook {due.delivery.id}")
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _run_attempt(self, due: DueWebhook) -> None:
        item = due.delivery
        try:
            await self._record(due, await self._send(due))
        except asyncio.CancelledError:
            await self._give_back(item)
            raise
        except AskbackError as error:
            log.error(
                "Could not record the delivery of an outcome, so it may be sent again: %s",
                error,
                extra=_describe(item, "webhook_not_recorded"),
            )
        finally:
            self._in_flight[item.caller] -= 1
            self._wakeup.set()

    async def _send(self, due: DueWebhook) -> SendResult:
        caller = self._callers.get(due.delivery.caller)
        rules = None if caller is None else caller.webhooks
        if caller is None or rules is None or not rules.allows(due.delivery.url):
            return SendResult("failed", "The operator does not allow this address any more.")
        try:
            body = await self._door.build_document(caller, due.ask)
            return await send(due.delivery, rules, body, self._agent)
        except Exception as error:
            log.exception("A bug made a webhook fail.", extra=_describe(due.delivery, "webhook_failed"))
            return SendResult("failed", f"There is a bug in askback ({type(error).__name__}).")

    async def _record(self, due: DueWebhook, result: SendResult) -> None:
        item, error = due.delivery, result.error or ""
        if result.state == "delivered":
            self._note_received(item, due.ask)
            await write(self._where, lambda store: store.end_webhook(item, "delivered"), wakes=False)
            log.info("Delivered an outcome to %s.", item.origin, extra=_describe(item, "webhook_delivered"))
            return
        pause = _compute_pause(item, result)
        since = timedelta(0) if item.tried_at is None else utc_now() - item.tried_at
        if result.state == "gone" or since + pause > GIVE_UP:
            await write(self._where, lambda store: store.end_webhook(item, "failed", error), wakes=False)
            log.error(
                "An outcome could not be delivered to %s: %s `askback show %s` shows the outcome.",
                item.origin,
                error,
                item.ask_id,
                extra=_describe(item, "webhook_given_up"),
            )
            return
        await write(self._where, lambda store: store.retry_webhook(item, pause, error), wakes=False)
        log.log(
            logging.WARNING if self._warnings.try_allow(item.caller) else logging.DEBUG,
            "Could not deliver an outcome to %s, trying again in %.0f s: %s",
            item.origin,
            pause.total_seconds(),
            error,
            extra=_describe(item, "webhook_later"),
        )

    def _note_received(self, item: WebhookDelivery, ask: Ask) -> None:
        caller = self._callers.get(item.caller)
        if caller is not None:
            self._door.note_received(caller, ask)

    async def _give_back(self, item: WebhookDelivery) -> None:
        """Let the next server repeat an attempt that the end of this one has cut."""
        error = "The server ended during the attempt."
        try:
            async with asyncio.timeout(RECORD_SECONDS):
                await write(self._where, lambda store: store.retry_webhook(item, timedelta(0), error), wakes=False)
        except (AskbackError, TimeoutError) as problem:
            log.info("Could not record a cut attempt: %s", problem, extra=_describe(item, "webhook_not_recorded"))


def _compute_pause(item: WebhookDelivery, result: SendResult) -> timedelta:
    pause = compute_pause(item.attempts, random.random())
    return pause if result.retry_after is None else min(max(pause, timedelta(seconds=result.retry_after)), MAX_PAUSE)


def _describe(item: WebhookDelivery, action: str) -> dict[str, object]:
    return {"action": action, "ask_id": item.ask_id, "webhook": item.id, "attempts": item.attempts}
