"""Passes events on that are not for this process, and tells their authors if that may have failed.

Slack gives each event to any one of the app's connections. A program that only asks has a connection, too, and cannot
know which messages an agent of another process waits for. It leaves these events unacked, so Slack sends them again,
often to another connection.

It acks the last repetition. Slack disables the event subscriptions of an app if more than 95 % of its deliveries within
60 minutes fail, and repetitions count. Apps with fewer than 1,000 events an hour are exempt. That is written for a
request URL, and does not say whether it holds for Socket Mode, too:
https://docs.slack.dev/apis/events-api/#failure-limits
"""

from __future__ import annotations

__all__ = ["EventForOthers", "OtherProcesses", "read_retry"]

import logging
from typing import Final, Literal

from cachetools import TTLCache
from slack_bolt import BoltResponse
from slack_bolt.request.async_request import AsyncBoltRequest

from askback.domain.identity import Place
from askback.internal.throttle import Throttle
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback.translations.catalogue import N_, _, use_language
from askback_slack.api_calls import SlackApi
from askback_slack.history import iterate_messages, read_message
from askback_slack.installation import UNKNOWN_INSTALLATION, Installation
from askback_slack.json_access import get_text
from askback_slack.message_events import UserMessage, contains_mention
from askback_slack.posting import SlackPlatform
from askback_slack.task_group import Background

log = logging.getLogger("askback.slack")

LAST_RETRY: Final = 3
"""The number of times that Slack repeats an unacked event: at once, after a minute, and after five minutes."""
MAX_THREADS: Final = 1000
CACHE_SECONDS: Final = 600.0
"""Seconds for which a thread without an agent is remembered, so that not each of its messages costs a call to Slack."""

EventKind = Literal["message", "edit", "deletion"]

NOT_PASSED_ON: Final[dict[EventKind, str]] = {
    "message": N_(
        "The agent may not have heard that: Slack told only another process of this app. "
        "If the agent does not react, please send it again."
    ),
    "edit": N_(
        "The agent may not have heard of your edit: Slack told only another process of this app. "
        "If the agent does not react, please write it again."
    ),
    "deletion": N_(
        "The agent may still act on what you deleted: Slack told only another process of this app. "
        "If that matters, please tell the agent."
    ),
}


class EventForOthers(Exception):
    """Nothing here has to do with an event. Another process of the app may wait for it."""

    def __init__(self, kind: EventKind, message: UserMessage | None) -> None:
        super().__init__(kind)
        self.kind: EventKind = kind
        self.message = message


class OtherProcesses:
    """Leaves events to other processes of the app."""

    def __init__(
        self,
        api: SlackApi,
        platform: SlackPlatform,
        background: Background,
        me: str,
        home: Installation = UNKNOWN_INSTALLATION,
    ) -> None:
        self._api = api
        self._platform = platform
        self._background = background
        self._me = me
        self._home = home
        self._without_agent = TTLCache[str, None](MAX_THREADS, CACHE_SECONDS)
        self._told: Throttle[tuple[EventKind, str]] = Throttle(CACHE_SECONDS)

    def pass_on(self, event: EventForOthers, request: AsyncBoltRequest) -> BoltResponse | None:
        """Return the response that leaves the event unacked. At its last repetition, ack it and tell its author."""
        if self.may_come_again(request):
            return BoltResponse(status=503)
        message = event.message
        if message is not None and self._told.try_allow((event.kind, message.key)):
            self._background.start_soon(self._tell(event.kind, message), "notice")
        return None

    def may_come_again(self, request: AsyncBoltRequest) -> bool:
        """Return True if Slack sends the event again if it is not acked."""
        return read_retry(request) < LAST_RETRY

    async def _tell(self, kind: EventKind, message: UserMessage) -> None:
        try:
            if not await self._may_be_missed(kind, message):
                return
            alone = not (message.direct or message.in_thread)
            place = message.place.evolve(thread=None) if alone else message.place
            with use_language(message.author.language):
                notice = _(NOT_PASSED_ON[kind])
            await self._platform.notify(place, message.author.id, notice, direct=message.direct)
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.warning("A notice did not get through: %s", error, extra={"action": "notice_lost"})

    async def _may_be_missed(self, kind: EventKind, message: UserMessage) -> bool:
        """Return True if an agent may wait for the event and has not got it."""
        if message.direct:
            return True
        if kind == "message" and message.begins:
            # A mention that nobody but a program got has no answer in the thread that it would have started.
            return message.in_thread or not await self._has_agent(message, answered=True)
        if message.place.key in self._without_agent:
            return False
        if await self._has_agent(message, answered=False):
            return True
        self._without_agent[message.place.key] = None
        return False

    async def _has_agent(self, message: UserMessage, *, answered: bool) -> bool:
        """Return True if an agent talks in the message's thread: it wrote there, or somebody called it.

        With `answered`, only the bot's own messages count.
        """
        async for one in iterate_messages(self._api, message.place, pages=1):
            if get_text(one, "user") == self._me if answered else self._is_of_talk(one, message.place):
                return True
        return False

    def _is_of_talk(self, message: object, place: Place) -> bool:
        """Return True if a message calls the agent, or if the agent wrote it."""
        if contains_mention(get_text(message, "text") or "", self._me):
            return True
        found = read_message(message, place, self._me, self._home)
        return found is not None and found.message.ours


def read_retry(request: AsyncBoltRequest) -> int:
    """Return how often Slack has repeated an event; 0 for the first delivery."""
    values = request.headers.get("x-slack-retry-num") or ("0",)
    return int(values[0]) if values[0].isdigit() else 0
