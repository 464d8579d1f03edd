"""Handles what people write in Slack and passes it to the agent."""

from __future__ import annotations

__all__ = ["Hearing"]

import asyncio
import logging
import time
from datetime import timedelta

from slack_bolt import BoltResponse

from askback.domain.access import Access
from askback.domain.conversation import Deleted, Edited, IncomingMessage
from askback.domain.identity import Actor, Place
from askback.inbound.deduplication import Once
from askback.internal.bounded_cache import Recent
from askback.internal.clock import utc_now
from askback.internal.throttle import Throttle
from askback.manager import TOLD_AGAIN_SECONDS
from askback.ports.bot import BotServices
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback.store.errors import StoreError
from askback_slack.groups import Groups
from askback_slack.payloads import (
    NOWHERE,
    PLATFORM,
    Home,
    Json,
    Removal,
    Rewritten,
    Written,
    at,
    key_of,
    removal,
    rewritten,
    stopped,
    written,
)
from askback_slack.posting import SlackPlatform
from askback_slack.task_group import Background
from askback_slack.user_names import Names

log = logging.getLogger("askback.slack")

ARCHIVED = "the channel that this was asked in was archived."
DELETED = "the channel that this was asked in was deleted."
REDELIVERED = timedelta(minutes=10)
"""Time after its writing in which a message may still arrive. Slack redelivers an unacked one for about 6 minutes."""
REMEMBERED = 5000


class _Early(Exception):
    """An edit arrived before its message. Slack delivers the edit again later."""


class Hearing:
    """Listeners for messages, edits, deletions, archived channels and Slack's Stop."""

    def __init__(
        self,
        doors: BotServices,
        platform: SlackPlatform,
        names: Names,
        groups: Groups,
        access: Access,
        behind: Background,
        me: str,
        home: Home = NOWHERE,
    ) -> None:
        self._doors = doors
        self._platform = platform
        self._names = names
        self._groups = groups
        self._access = access
        self._behind = behind
        self._me = me
        self._home = home
        self._once = Once()
        self._done: Recent[str, None] = Recent(REMEMBERED)
        """Keys of the messages that this process has handled, kept or not."""
        self._told: Throttle[tuple[str, str]] = Throttle(TOLD_AGAIN_SECONDS)

    async def message(self, body: Json) -> BoltResponse | None:
        """Handle a message or a mention. It is stored before the ack, since Slack redelivers only unacked events."""
        try:
            await self._take(body)
        except StoreError:
            log.exception("A message could not be stored; Slack sends it again.", extra={"action": "message_refused"})
            return BoltResponse(status=503)
        except _Early:
            log.info("An edit came before its message; Slack sends it again.", extra={"action": "edit_refused"})
            return BoltResponse(status=503)
        return None

    async def _take(self, body: Json) -> None:
        if (gone := removal(body)) is not None:
            await self._removed(gone)
            return
        if (edit := rewritten(body, self._me, self._home)) is not None:
            await self._rewritten(edit)
            return
        said = written(body, self._me, self._home)
        if said is None:
            return
        begin = said.direct or said.mentions_bot
        if begin or said.in_thread:
            # A mention arrives as two events. A command to the bot itself must not run twice.
            async with self._once.entered(said.key) as first:
                if first:
                    await self._hear(said, begin=begin)
        self._done[said.key] = None

    async def _removed(self, gone: Removal) -> None:
        if self._platform.has_removed(gone.ref):
            return
        # The author decides what it can be: a message of the bot, a message of a person, or unknown.
        messages = (gone.ref,) if gone.author in {None, self._me} else ()
        keys = () if gone.author == self._me else (key_of(gone.ref.channel, gone.ref.id),)
        async with self._once.entered(f"removed:{gone.ref.channel}:{gone.ref.id}") as first:
            if first:
                await self._doors.changes.deleted(Deleted(messages=messages, keys=keys))

    async def _rewritten(self, edit: Rewritten) -> None:
        said = edit.written
        async with self._once.entered(f"edit:{edit.at.timestamp()}:{said.key}") as first, self._once.after(said.key):
            if not first:
                return
            # Check this first, so that an edit outside the agent's conversations costs no call to Slack.
            if not await self._doors.changes.is_kept(said.key):
                if await self._is_to_come(edit):
                    raise _Early
                return
            taken = await self._doors.changes.edited(Edited(heard=await self._heard(said), at=edit.at))
            if taken.notice is not None:
                self._behind.soon(self._tell(said, taken.notice), "notice")

    async def _is_to_come(self, edit: Rewritten) -> bool:
        """Return True if the message itself may still be delivered and would then be kept."""
        said = edit.written
        if said.key in self._done or utc_now() - said.at > REDELIVERED:
            return False
        return said.direct or said.mentions_bot or (said.in_thread and await self._doors.changes.talks_in(said.place))

    async def closed(self, body: Json) -> BoltResponse | None:
        """Reject the open questions of a channel that was archived or deleted, where no one can answer any more."""
        channel = at(body, "event", "channel")
        reason = ARCHIVED if (at(body, "event", "type") or "").endswith("_archive") else DELETED
        try:
            for ask in await self._doors.manager.pending():
                if ask.place.platform == PLATFORM and channel in {
                    ask.place.channel,
                    *(m.channel for m in ask.messages),
                }:
                    await self._doors.manager.reject(ask.id, reason)
        except StoreError:
            log.exception("An end could not be stored; Slack sends it again.", extra={"action": "message_refused"})
            return BoltResponse(status=503)
        return None

    async def _hear(self, said: Written, *, begin: bool) -> None:
        taken = await self._doors.hear(await self._heard(said), begin=begin)
        if taken.notice is not None:
            self._behind.soon(self._tell(said, taken.notice), "notice")

    async def _heard(self, said: Written) -> IncomingMessage:
        # In parallel, because the ack waits for both.
        author, text = await asyncio.gather(
            self._known(said.author, said.place), self._names.filled_in(said.text, said.mentioned)
        )
        return IncomingMessage(
            place=said.place,
            author=author,
            text=text,
            dedupe_key=said.key,
            at=said.at,
            files=said.files,
            direct=said.direct,
            midway=said.in_thread,
            ref=said.ref,
        )

    async def _known(self, person: Actor, place: Place) -> Actor:
        """Return the same person with their name and groups.

        Only the groups in the settings and those that are asked something in this place are looked up.
        """
        groups = (*self._access.wanted_groups, *await self._doors.manager.groups_in(place))
        name, person = await asyncio.gather(self._names.of(person.id), self._groups.fill(person, groups))
        return person.evolve(name=name)

    async def _tell(self, said: Written, text: str) -> None:
        """Run behind the ack: show a sentence only to the author of the message."""
        place = said.place if said.direct or said.in_thread else said.place.evolve(thread=None)
        await self._whisper(place, said.author.id, text, direct=said.direct)

    async def _whisper(self, place: Place, person: str, text: str, *, direct: bool) -> None:
        try:
            await self._platform.tell(place, person, text, direct=direct)
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.warning("A notice did not get through: %s", error, extra={"action": "notice_lost"})

    async def stop(self, body: Json) -> BoltResponse | None:
        """Handle a press of Slack's own Stop in a thread. Like a message, it is committed before the ack."""
        pressed = stopped(body, self._home)
        if pressed is None:
            return None
        place, person = pressed
        try:
            person = await self._known(person, place)
            name = at(body, "event_id") or at(body, "event", "event_ts") or f"{place.key}:{time.time()}"
            async with self._once.entered(f"stop:{name}") as first:
                refusal = await self._doors.stop(place, person, key=name) if first else None
        except StoreError:
            log.exception("A stop could not be stored; Slack sends it again.", extra={"action": "message_refused"})
            return BoltResponse(status=503)
        if refusal is not None:
            self._platform.presence_again(place, nothing=refusal.nothing)
            if self._told.allows((place.key, person.id)):
                self._behind.soon(self._whisper(place, person.id, refusal.notice, direct=False), "notice")
        return None

    async def ignore(self) -> None:
        """Ack an event that the bot does not use."""
