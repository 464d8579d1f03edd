"""Decides whether and when to retry a failed delivery."""

from __future__ import annotations

__all__ = ["FIRST_PAUSE", "GIVE_UP", "DeliveryRetries"]

import logging
from collections import deque
from datetime import timedelta

from askback.domain.conversation import UnshownText
from askback.domain.outgoing_message import TURN_TEXT, OutgoingMessage
from askback.internal import clock
from askback.internal.throttle import Throttle
from askback.manager import QuestionManager
from askback.store.queries.outbox_leases import MAX_PAUSE, OutboxItem
from askback.store.store import Store
from askback.text.literal import fit_line
from askback.translations.catalogue import N_, _, translate_reason, use_language

log = logging.getLogger("askback.worker")

GIVE_UP = timedelta(seconds=60)
"""Time limit for something new that a fault in askback keeps from being shown: waiting does not fix a fault."""
KEEP_FOR = timedelta(hours=24)
"""Time limit for a delivery that the platform fails to accept. The card of an open question has no such limit."""
FIRST_PAUSE = 1.0
"""Seconds before the first retry."""
MAX_BEGINNING = 80
"""Characters of a text by which the model recognises it."""
MISSING = N_("I wrote something here that could not be shown, or not all of it: {reason}. Please ask me for it again.")
UNSHOWN = "unshown:"
"""Prefix of `OutgoingMessage.target` for the sentence that a text is missing. The text's target follows."""
FORBIDDEN = N_("I cannot write there, so you do not see my answer: {reason}")
FORBIDDEN_SECONDS = 86_400.0
"""Seconds between two direct messages about the same conversation, however much cannot be shown in it."""
TOLD_A_MINUTE = 6
"""Maximum log lines a minute about retried deliveries."""


class DeliveryRetries:
    """Puts off deliveries that failed, and gives up those that cannot succeed."""

    def __init__(
        self, store: Store, manager: QuestionManager, *, give_up: timedelta = GIVE_UP, first_pause: float = FIRST_PAUSE
    ) -> None:
        """`give_up` replaces `GIVE_UP`, and `first_pause` replaces `FIRST_PAUSE`."""
        self._store = store
        self._manager = manager
        self._give_up = give_up
        self._first_pause = first_pause
        self._failing: dict[str, float] = {}
        """Start of the time during which the platform fails to accept a target; monotonic."""
        self._faulty: dict[str, float] = {}
        """Start of the time during which a fault in askback keeps a target from being shown; monotonic."""
        self._logged: deque[float] = deque(maxlen=TOLD_A_MINUTE)
        """Times of the last log lines about retries."""
        self._told: Throttle[str] = Throttle(FORBIDDEN_SECONDS)
        """The conversations about which a direct message was queued."""

    def forget(self, item: OutboxItem) -> None:
        """Forget the failures of a delivery that succeeded."""
        self._failing.pop(item.target, None)
        self._faulty.pop(item.target, None)

    async def retry(self, item: OutboxItem, error: str, seconds: float | None, pause: float | None = None) -> None:
        """Retry a delivery later, because the platform did not accept it.

        `seconds` is the platform's Retry-After, which does not count as a failure. None means to use `pause` or
        back-off.
        """
        self._faulty.pop(item.target, None)
        await self._put_off(item, error, seconds, pause)

    async def handle_fault(self, item: OutboxItem, error: str) -> None:
        """Handle a fault in askback: retry what people see already, but soon give up on anything new."""
        now = clock.monotonic()
        since = now - self._faulty.setdefault(item.target, now)
        ask = None if item.ask_id is None else await self._store.get(item.ask_id)
        unseen = ask is None or not ask.messages
        if unseen and since + self._first_pause * 2 ** min(item.attempts - 1, 16) > self._give_up.total_seconds():
            await self.give_up(item, f"{error} (tried for {int(since)} s)")
        else:
            await self._put_off(item, error, None)

    async def give_up(self, item: OutboxItem, reason: str) -> None:
        """Delete a delivery that cannot succeed, and notify the asker of a card that nobody saw, or the text's author.

        People read that a text of the agent is missing, if the place accepts at least that sentence. Otherwise, the
        person who wrote last reads it in a direct message.
        """
        self.forget(item)
        log.error("Gave up on a delivery: %s", reason, extra={"action": "delivery_rejected", "target": item.target})
        if item.kind == "card" and item.ask_id is not None:
            ask = await self._store.get(item.ask_id)
            if ask is not None and not ask.messages:
                await self._manager.cancel(item.ask_id, reason=reason, undeliverable=True)
        text = item.outgoing
        if text is not None and text.target.startswith(TURN_TEXT) and not text.gone:
            unshown = UnshownText(beginning=fit_line(text.text, MAX_BEGINNING), reason=reason)
            with use_language(self._manager.language or text.language):
                missing = _(MISSING).format(reason=translate_reason(reason).rstrip(".。 "))
            notice = OutgoingMessage(target=f"{UNSHOWN}{text.target}", text=missing, markdown=False)
            await self._store.give_up_text(item, unshown, notice)
        else:
            if text is not None and text.target.startswith(UNSHOWN) and item.conversation_id is not None:
                await self._write_directly(item.conversation_id, reason)
            await self._store.delete_item(item)

    async def _write_directly(self, conversation_id: str, reason: str) -> None:
        """Queue a direct message to the person who wrote last, unless one was queued lately."""
        reader = await self._store.get_newest_author(conversation_id)
        if reader is not None and self._told.try_allow(conversation_id):
            with use_language(self._manager.language):
                sentence = _(FORBIDDEN).format(reason=translate_reason(reason))
            outgoing = OutgoingMessage(
                target=f"forbidden:{conversation_id}",
                text=sentence,
                markdown=False,
                only_for=reader,
                direct=True,
            )
            await self._store.enqueue_message(outgoing, conversation_id)

    async def _put_off(self, item: OutboxItem, error: str, seconds: float | None, pause: float | None = None) -> None:
        growing = self._first_pause * 2 ** min(item.attempts - 1, 16)
        after = next(one for one in (seconds, pause, min(growing, MAX_PAUSE.total_seconds())) if one is not None)
        if seconds is None:
            now = clock.monotonic()
            if item.first_failed_at is None:
                self._failing.pop(item.target, None)
            since = timedelta(seconds=now - self._failing.setdefault(item.target, now))
            waits = item.kind == "card" and item.ask_id is not None and await self._is_open(item.ask_id)
            if not waits and since + timedelta(seconds=after) > KEEP_FOR:
                await self.give_up(item, f"{error} (tried for {int(since.total_seconds())} s)")
                return
        self._log_retry(item, error, after)
        await self._store.retry(item, timedelta(seconds=after), error, failed=seconds is None)

    async def _is_open(self, ask_id: str) -> bool:
        ask = await self._store.get(ask_id)
        return ask is not None and ask.outcome is None

    def _log_retry(self, item: OutboxItem, error: str, after: float) -> None:
        """Log a retry, at level DEBUG if too many were logged within a minute."""
        now = clock.monotonic()
        is_quiet = len(self._logged) == TOLD_A_MINUTE and now - self._logged[0] < 60.0
        if not is_quiet:
            self._logged.append(now)
        log.log(
            logging.DEBUG if is_quiet else logging.WARNING,
            "A delivery failed; trying again in %.1f s: %s",
            after,
            error,
            extra={"action": "delivery_later", "target": item.target, "attempts": item.attempts},
        )
