"""Handles people's messages in Slack, and passes them to the agent."""

from __future__ import annotations

__all__ = ["MessageListener"]

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from cachetools import FIFOCache
from slack_bolt import BoltResponse
from slack_bolt.request.async_request import AsyncBoltRequest

from askback.domain.identity import Place
from askback.domain.incoming_message import DeletedMessages, EditedMessage, IncomingMessage
from askback.inbound.deduplication import Deduplicator
from askback.internal.clock import utc_now
from askback.internal.throttle import Throttle
from askback.manager import NOTICE_SECONDS
from askback.ports.bot import BotServices
from askback.ports.membership import MembersUnknown
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback.store.errors import StoreError
from askback_slack.id_patterns import PLATFORM
from askback_slack.installation import UNKNOWN_INSTALLATION, Installation
from askback_slack.json_access import Json, get_text
from askback_slack.message_events import (
    DeletionEvent,
    EditEvent,
    UserMessage,
    build_dedupe_key,
    read_deletion,
    read_edit,
    read_message,
    read_missed,
    read_stop,
)
from askback_slack.newest_messages import NewestMessages
from askback_slack.other_processes import EventForOthers, OtherProcesses, read_retry
from askback_slack.picked_names import PickedNames
from askback_slack.posting import SlackPlatform
from askback_slack.task_group import Background
from askback_slack.user_names import UserNames

log = logging.getLogger("askback.slack")

ARCHIVED = "the channel of this question was archived."
DELETED = "the channel of this question was deleted."
REDELIVERED = timedelta(minutes=10)
"""Time after its writing in which a message may still arrive. Slack redelivers an unacked one for about 6 minutes."""
MAX_MESSAGE_KEYS = 5000


class _Early(Exception):
    """Raised if an edit or a deletion arrives before its message. Slack then delivers it again later."""


class MessageListener:
    """Listeners for messages, edits, deletions, archived channels and Slack's Stop."""

    def __init__(
        self,
        services: BotServices,
        platform: SlackPlatform,
        names: UserNames,
        picked_names: PickedNames,
        background: Background,
        newest: NewestMessages,
        others: OtherProcesses,
        me: str,
        home: Installation = UNKNOWN_INSTALLATION,
    ) -> None:
        self._others = others
        self._services = services
        self._newest = newest
        self._platform = platform
        self._names = names
        self._picked_names = picked_names
        self._background = background
        self._me = me
        self._home = home
        self._once = Deduplicator()
        self._done: FIFOCache[str, None] = FIFOCache(MAX_MESSAGE_KEYS)
        """Keys of the messages that this process has handled, kept or not."""
        self._notices: Throttle[tuple[str, str]] = Throttle(NOTICE_SECONDS)

    async def handle_message(self, body: Json, request: AsyncBoltRequest) -> BoltResponse | None:
        """Handle a message or a mention. It is stored before the ack, since Slack redelivers only unacked events."""
        try:
            await self._handle_event(body, is_repeatable=self._others.may_come_again(request))
        except MembersUnknown as error:
            log.warning(
                "Could not handle a message yet; Slack will send it again: %s", error, extra={"action": "message_later"}
            )
            return BoltResponse(status=503)
        except StoreError as error:
            log.error(
                "Could not store a message; Slack will send it again: %s", error, extra={"action": "message_rejected"}
            )
            return BoltResponse(status=503)
        except EventForOthers as event:
            return self._others.pass_on(event, request)
        except _Early:
            log.info(
                "An edit or a deletion arrived before its message; Slack will send it again.",
                extra={"action": "edit_rejected"},
            )
            return BoltResponse(status=503)
        return None

    async def _handle_event(self, body: Json, *, is_repeatable: bool) -> None:
        if (gone := read_deletion(body, self._me, self._home)) is not None:
            await self._handle_deletion(gone)
            return
        if (edit := read_edit(body, self._me, self._home)) is not None:
            await self._handle_edit(edit, is_repeatable=is_repeatable)
            return
        user_message = read_message(body, self._me, self._home)
        if user_message is None:
            return
        await self._receive_message(user_message, is_repeatable=is_repeatable)

    async def handle_missed(self, message: Json, place: Place, *, is_new: bool) -> None:
        """Handle a message for which the bot got no event, and its last edit.

        `is_new` is False for a message from before the gap. Raises `StoreError` or `MembersUnknown`.
        """
        read = read_missed(message, place, self._me, self._home)
        if read is None:
            return
        user_message, edit = read
        user_message = replace(user_message, author=await self._names.identify(user_message.author, self._home))
        if is_new:
            await self._receive_message(user_message, is_repeatable=True, is_missed=True)
        if edit is not None:
            with suppress(_Early):
                await self._handle_edit(replace(edit, message=user_message), is_repeatable=True)

    async def _handle_deletion(self, gone: DeletionEvent) -> None:
        if self._platform.has_deleted(gone.ref):
            return
        # The author shows what the message can be: the bot's, a person's, or unknown.
        messages = (gone.ref,) if gone.author in {None, self._me} else ()
        key = build_dedupe_key(gone.ref.channel, gone.ref.id)
        keys = () if gone.author == self._me else (key,)
        async with self._once.enter(f"removed:{key}") as first, self._once.wait_for(key):
            if not first:
                return
            user_message = gone.message
            if (
                self._services.has_agent
                and user_message is not None
                and not await self._services.changes.is_stored(key)
                and await self._is_to_come(user_message)
            ):
                raise _Early
            concerned = await self._services.changes.handle_deletion(DeletedMessages(messages=messages, keys=keys))
            if not concerned and not self._services.has_agent:
                raise EventForOthers("deletion", user_message)

    async def _handle_edit(self, edit: EditEvent, *, is_repeatable: bool) -> None:
        user_message = edit.message
        async with (
            self._once.enter(f"edit:{edit.at.timestamp()}:{user_message.key}") as first,
            self._once.wait_for(user_message.key),
        ):
            if not first:
                return
            if not self._services.has_agent:
                raise EventForOthers("edit", user_message)
            # Check this first, so that an edit outside the agent's conversations costs no call to Slack.
            if not await self._services.changes.is_stored(user_message.key):
                if await self._is_to_come(user_message):
                    raise _Early
                if not await self._services.changes.is_history_due():
                    return
            taken = await self._services.changes.handle_edit(
                EditedMessage(message=await self._to_incoming_message(user_message), at=edit.at),
                is_repeatable=is_repeatable,
            )
            if taken.notice is not None:
                self._background.start_soon(self._notify_author(user_message, taken.notice), "notice")

    async def _is_to_come(self, user_message: UserMessage) -> bool:
        """Return True if the message itself may still be delivered and would then be kept."""
        if user_message.key in self._done or utc_now() - user_message.at > REDELIVERED:
            return False
        if user_message.begins:
            return True
        return user_message.in_thread and await self._services.changes.has_conversation(user_message.place)

    async def handle_channel_closed(self, body: Json, request: AsyncBoltRequest) -> BoltResponse | None:
        """End the open questions of an archived or deleted channel, because nobody can answer there any more."""
        channel = get_text(body, "event", "channel")
        reason = ARCHIVED if (get_text(body, "event", "type") or "").endswith("_archive") else DELETED
        try:
            for ask in await self._services.manager.list_open_asks():
                if ask.place.platform == PLATFORM and channel in {
                    ask.place.channel,
                    *(m.channel for m in ask.messages),
                }:
                    await self._services.manager.cancel(ask.id, reason=reason, undeliverable=True)
        except StoreError as error:
            log.error(
                "Could not end the questions of a closed channel; Slack will send the event again: %s",
                error,
                extra={"action": "message_rejected"},
            )
            return BoltResponse(status=503)
        # Other processes have questions of their own there.
        is_for_others = not self._services.has_agent and self._others.may_come_again(request)
        return BoltResponse(status=503) if is_for_others else None

    async def _receive_message(
        self, user_message: UserMessage, *, is_repeatable: bool, is_missed: bool = False
    ) -> None:
        """Pass a message on once. The bot ignores those of a channel that do not mention it."""
        if user_message.begins or user_message.in_thread:
            # A mention arrives as two events. A command to the bot itself must not run twice.
            async with self._once.enter(user_message.key) as first:
                if first:
                    await self._store_message(user_message, is_repeatable=is_repeatable, is_missed=is_missed)
        self._done[user_message.key] = None

    async def _store_message(self, user_message: UserMessage, *, is_repeatable: bool, is_missed: bool) -> None:
        reading = asyncio.create_task(self._to_incoming_message(user_message))
        try:
            # Keep the order of arrival, however long each author's look-up takes. A message that overtakes a mention
            # would find no conversation.
            async with self._once.wait_for(f"order:{user_message.place.key}"):
                taken = await self._services.receive(
                    await reading, begin=user_message.begins, is_repeatable=is_repeatable
                )
        finally:
            reading.cancel()
        if taken.new:
            self._newest.record(user_message.place, user_message.ref.id)
        # A message that is not kept is read again after each start. Its author must not be notified each time.
        if taken.notice is not None and not is_missed:
            self._background.start_soon(self._notify_author(user_message, taken.notice), "notice")
        if taken.is_for_others and not is_missed:
            raise EventForOthers("message", self._add_language(user_message))

    def _add_language(self, user_message: UserMessage) -> UserMessage:
        return replace(user_message, author=self._names.add_language(user_message.author))

    async def _to_incoming_message(self, user_message: UserMessage) -> IncomingMessage:
        # In parallel, because the ack waits for all of them.
        name, text, mentions = await asyncio.gather(
            self._names.fetch_name(user_message.author.id),
            self._names.fill_in_names(user_message.text, user_message.mentioned),
            self._picked_names.read_mentions(user_message.mentions),
        )
        return IncomingMessage(
            place=user_message.place,
            author=self._names.add_language(user_message.author.evolve(name=name)),
            text=text,
            dedupe_key=user_message.key,
            at=user_message.at,
            files=user_message.files,
            direct=user_message.direct,
            midway=user_message.in_thread,
            ref=user_message.ref,
            mentions=mentions,
        )

    async def _notify_author(self, user_message: UserMessage, text: str) -> None:
        """Run behind the ack: show a sentence only to the author of the message."""
        place = (
            user_message.place
            if user_message.direct or user_message.in_thread
            else user_message.place.evolve(thread=None)
        )
        await self._notify_person(place, user_message.author.id, text, direct=user_message.direct)

    async def _notify_person(self, place: Place, person: str, text: str, *, direct: bool) -> None:
        try:
            await self._platform.notify(place, person, text, direct=direct)
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.warning("Could not show a notice to a person: %s", error, extra={"action": "notice_lost"})

    async def handle_stop(self, body: Json, request: AsyncBoltRequest) -> BoltResponse | None:
        """Handle a press of Slack's own Stop in a thread. Like a message, it is committed before the ack.

        Without an agent, only the first delivery is left to others, which Slack repeats at once. After a minute, the
        same stop could end other work.
        """
        if not self._services.has_agent and read_retry(request) == 0:
            return BoltResponse(status=503)
        pressed = read_stop(body, self._home)
        if pressed is None:
            return None
        place, person = pressed
        try:
            name = await self._names.fetch_name(person.id)
            person = self._names.add_language(person.evolve(name=name))
            name = get_text(body, "event_id") or get_text(body, "event", "event_ts") or f"{place.key}:{time.time()}"
            order = f"order:{place.key}"
            async with self._once.enter(f"stop:{name}") as first, self._once.wait_for(order):
                denial = await self._services.stop(place, person, key=name) if first else None
        except StoreError as error:
            log.error(
                "Could not store a stop; Slack will send it again: %s", error, extra={"action": "message_rejected"}
            )
            return BoltResponse(status=503)
        if denial is not None:
            self._platform.refresh_status(place, nothing=denial.nothing)
            if self._notices.try_allow((place.key, person.id)):
                self._background.start_soon(
                    self._notify_person(place, person.id, denial.notice, direct=False), "notice"
                )
        return None

    async def ignore(self) -> None:
        """Ack an event that the bot does not use."""
