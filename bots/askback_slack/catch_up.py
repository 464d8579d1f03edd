"""Reads messages that people wrote or edited while the bot was down, in the conversations of the last day.

Slack redelivers an event for about six minutes. The bot gets no events for older messages.
"""

from __future__ import annotations

__all__ = ["CatchUp"]

import asyncio
import logging
import time

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_exponential

from askback.domain.conversation import RECENT
from askback.domain.identity import Place
from askback.internal.clock import utc_now
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback.store.errors import StoreError
from askback_slack.api_calls import SlackApi, SlackRejection
from askback_slack.events import MessageListener
from askback_slack.history import NO_SCOPE, PAGES, iterate_messages
from askback_slack.json_access import get_object, get_text
from askback_slack.message_events import is_direct, is_timestamp
from askback_slack.newest_messages import NewestMessages

log = logging.getLogger("askback.slack")

CHANNEL_PAGES = 5
"""Maximum number of pages to read of a channel."""
OVERLAP = 60.0
"""Seconds before the newest known message at which to start reading, since messages may be stored out of order."""
AT_ONCE = 20
"""Conversations that are read without a pause."""
PAUSE = 2.0
"""Seconds between two further ones. Slack allows about 50 such calls per minute, and others need them, too."""
INTERVAL = 60.0
"""Minimum seconds between two rounds, so that an unstable connection does not use up Slack's rate limit."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds between two attempts while Slack or the database does not answer."""


class CatchUp:
    """Reads conversations again after the start, and after a time without a connection."""

    def __init__(self, api: SlackApi, listener: MessageListener, newest: NewestMessages) -> None:
        self._api = api
        self._listener = listener
        self._newest = newest
        self._missed: dict[Place, str] = {}
        """The places to read, each with the newest message that was received there before the gap."""
        self._wanted = asyncio.Event()

    def schedule(self) -> None:
        """Schedule reading the messages missed until now. Messages that arrive from now on do not hide them."""
        self._missed = {**self._newest.copy(), **self._missed}
        self._wanted.set()

    async def run(self) -> None:
        """Read whenever it is scheduled, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            if self._missed:
                began = time.monotonic()
                await self._read_missed()
                await asyncio.sleep(began + INTERVAL - time.monotonic())

    async def _read_missed(self) -> None:
        count = 0
        while self._missed:
            # Read the newest first, since somebody may be waiting there.
            place = max(self._missed, key=lambda place: float(self._missed[place]))
            newest = float(self._missed.pop(place))
            if (count := count + 1) > AT_ONCE:
                await asyncio.sleep(PAUSE)
            await self._read(place, newest)

    async def _read(self, place: Place, newest: float) -> None:
        """Read one conversation. Waits for Slack and the database as long as they do not answer."""
        attempts = AsyncRetrying(
            retry=retry_if_exception_type((RetryableError, StoreError)), wait=_choose_pause, before_sleep=_log_retry
        )
        try:
            await attempts(self._read_once, place, newest - OVERLAP)
        except (DeliveryError, MessageNotFound) as rejection:
            # The conversation may be gone. Without the permission, no other can be read either.
            is_forbidden = isinstance(rejection, SlackRejection) and rejection.code == "missing_scope"
            log.log(
                logging.WARNING if is_forbidden else logging.INFO,
                "Could not read messages that were written while the bot was down: %s",
                NO_SCOPE if is_forbidden else rejection,
                extra={"action": "no_catch_up"},
            )
            if is_forbidden:
                self._missed.clear()

    async def _read_once(self, place: Place, new_since: float) -> None:
        """Read a conversation. Messages after `new_since`, a time in seconds since 1970, may be new."""
        day = (utc_now() - RECENT).timestamp()
        if place.thread is None and not is_direct(place.channel):
            # Somebody may have mentioned the bot. The channel's other messages do not matter.
            oldest, pages = max(new_since, day), CHANNEL_PAGES
        else:
            oldest, pages = min(new_since, day), PAGES
        messages = iterate_messages(self._api, place, oldest=f"{oldest:.6f}", pages=pages)
        read = [get_object(message) async for message in messages]
        found = {ts: message for message in read if is_timestamp(ts := get_text(message, "ts") or "")}
        for ts in sorted(found, key=float):
            try:
                await self._listener.handle_missed(found[ts], place, is_new=float(ts) > new_since)
            except (RetryableError, StoreError):
                raise
            except Exception:
                log.exception(
                    "Could not handle a missed message because of a bug. Please report this.",
                    extra={"action": "payload_failed"},
                )


def _choose_pause(state: RetryCallState) -> float:
    error = None if state.outcome is None else state.outcome.exception()
    if isinstance(error, RetryableError) and error.seconds is not None:
        return error.seconds
    return wait_exponential(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE)(state)


def _log_retry(state: RetryCallState) -> None:
    error = None if state.outcome is None else state.outcome.exception()
    log.log(
        logging.WARNING if state.attempt_number == 1 else logging.DEBUG,
        "Could not read messages that were written while the bot was down; trying again: %s",
        error,
        extra={"action": "catch_up_later"},
    )
