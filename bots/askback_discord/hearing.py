"""What people write on Discord, handed to the agent."""

from __future__ import annotations

__all__ = ["Hearing", "Seen"]

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import datetime
from weakref import WeakValueDictionary

import aiohttp
import discord

from askback.domain.conversation import NO_TEXT, Deleted, Edited, Heard, Say, Taken
from askback.domain.identity import MessageRef, Place
from askback.inbound.deduplication import Once
from askback.internal.bounded_cache import Recent
from askback.internal.clock import utc_now
from askback.ports.bot import ChangesDoor, Hear
from askback.ports.platform import Gone, TryLater, Undeliverable
from askback.store.errors import StoreError
from askback_discord.payloads import PLATFORM, actor, attached, key_of, written_text
from askback_discord.places import Places
from askback_discord.posting import DiscordPlatform

log = logging.getLogger("askback.discord")

ONLY_MENTIONS = "In this thread I only see messages that mention me: please begin each with my name."
NOT_HEARD = "I could not save that message, so I will not act on it. Please send it again in a while."
NO_THREAD = "I answer in a thread, and could not start one here:"
THREAD_LATER = "Discord lets me start no further thread here for about {minutes}. I heard you, and answer then."
LONG_SECONDS = 10.0
"""From which wait on for a thread people hear of it."""
SAVE_SECONDS = 120.0
"""How long a message is tried to be stored: unlike a webhook's, Discord's gateway delivers none again."""
CATCH_UP = 100
"""Messages of a room that are looked at after a new session."""
REMEMBERED = 200
"""Rooms that are looked at then."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0
_NEW = frozenset({discord.MessageType.default, discord.MessageType.reply})


Seen = tuple[int, int | None]
"""A message of a room, and the server that the room belongs to; None for a direct message."""


class Hearing:
    """Messages and mentions."""

    def __init__(self, platform: DiscordPlatform, hear: Hear, changes: ChangesDoor, *, reads_everything: bool) -> None:
        self._changes = changes
        self._platform = platform
        self._places = Places(platform)
        self._hear = hear
        self._reads_everything = reads_everything
        """Whether Discord lets the bot read messages that do not mention it."""
        self._waiting: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        """Rooms in which a message waits to be stored."""
        self._once = Once()
        self._newest: Recent[int, Seen] = Recent(REMEMBERED)
        """The newest message that was heard in each room, those of the last ones that were talked in."""
        self._before: dict[int, Seen] = {}
        """As it was when a session began that has not caught up yet."""

    async def message(self, message: discord.Message, me: discord.ClientUser) -> None:
        """A message. Our own, other bots' and the platform's own are not meant for us."""
        if message.author.bot or message.webhook_id is not None or message.type not in _NEW:
            return
        direct = _guild(message) is None
        mentioned = any(person.id == me.id for person in message.mentions)
        text, files = written_text(message, me), attached(message)
        if not text and not files and not mentioned:
            return  # Discord keeps back what does not mention us
        async with self._once.after(_changes_of(message)):
            parent = None if direct else await self._places.parent(message.channel)
            if not (direct or mentioned or parent is not None or _replies_to(message, me)):
                return
            # A resumed session delivers again, and an order to the bot itself must not be carried out twice.
            async with self._once.entered(key_of(message)) as first:
                if first:
                    await self._take(message, text, files, parent, begin=direct or mentioned)

    async def edited(self, payload: discord.RawMessageUpdateEvent, me: discord.ClientUser) -> None:
        """Take an edit by a message's author. Discord also announces what it adds itself, such as a preview."""
        message = payload.message
        if message.author.bot or message.webhook_id is not None or message.type not in _NEW:
            return
        at, text = message.edited_at, written_text(message, me)
        if at is None or not text:
            return  # Discord keeps back what does not mention us
        edit = f"edit:{at.timestamp()}:{key_of(message)}"
        # Discord delivers nothing again: an edit waits until its message is stored, however long that takes.
        async with self._once.entered(edit) as first, self._once.after(_changes_of(message)):
            if first:
                await self._insist(lambda: self._take_edit(message, text, at), "An edit")

    async def _take_edit(self, message: discord.Message, text: str, at: datetime) -> None:
        # What is said elsewhere costs no call of Discord's.
        if not await self._changes.is_kept(key_of(message)):
            return
        parent = None if _guild(message) is None else await self._places.parent(message.channel)
        heard = _heard(message, text, (), parent)
        taken = await self._changes.edited(Edited(heard=heard, at=at))
        if taken.notice is None or heard.ref is None:
            return
        if heard.place.thread in {None, heard.ref.channel}:
            await self._tell(heard.ref, taken.notice)
        else:
            # The message stands in the channel, and the conversation that it began in a thread.
            target = f"edit:{at.timestamp()}:{heard.dedupe_key}"
            await self._say(heard.place, Say(target=target, text=taken.notice, markdown=False))

    async def deleted(self, channel: int, messages: Collection[int]) -> None:
        """Take the deletion of messages of a room, those of the bot's own doing left out."""
        every = (MessageRef(channel=str(channel), id=str(message)) for message in sorted(messages))
        refs = tuple(ref for ref in every if not self._platform.has_deleted(ref))
        keys = tuple(f"{ref.channel}:{ref.id}" for ref in refs)
        if refs:
            await self._insist(lambda: self._changes.deleted(Deleted(messages=refs, keys=keys)), "A deletion")

    async def _insist(self, take: Callable[[], Awaitable[None]], what: str) -> None:
        """Take what the gateway delivers once, again and again where it cannot be stored."""
        end, pause = time.monotonic() + SAVE_SECONDS, FIRST_PAUSE
        while True:
            try:
                return await take()
            except StoreError:
                if time.monotonic() + pause > end:
                    log.exception("%s could not be stored; it is lost.", what, extra={"action": "message_lost"})
                    return None
                log.exception("%s could not be stored; trying again.", what, extra={"action": "message_refused"})
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _take(
        self, message: discord.Message, text: str, files: tuple[str, ...], parent: str | None, *, begin: bool
    ) -> None:
        guild, heard = _guild(message), _heard(message, text, files, parent)
        place = heard.place
        taken = await self._store(heard, message.channel.id, begin=begin)
        if taken.notice is not None and heard.ref is not None:
            await self._tell(heard.ref, taken.notice)
        if not taken.new:
            return
        room = int(place.thread or place.channel)
        self._newest[room] = message.id, guild
        if guild is not None and parent is None:
            await self._open(place, text, heard.ref)

    async def _tell(self, ref: MessageRef, text: str) -> None:
        try:
            await self._platform.tell(ref, text)
        except (Gone, TryLater, Undeliverable) as error:
            log.warning("A notice did not get through: %s", error, extra={"action": "notice_lost"})

    def new_session(self) -> None:
        """A session begins: what it delivers comes after what was missed, and hides none of that."""
        self._before = {**self._newest, **self._before}

    async def catch_up(self, client: discord.Client, me: discord.ClientUser, since: Mapping[int, Seen]) -> None:
        """After a new session: what was written in the rooms that are talked in and did not come through the gateway.

        A session that could not be resumed is told nothing of what it missed. `since`: more rooms, each with a
        message after which to look.
        """
        before, self._before = self._before, {}
        for where, (newest, guild) in sorted({**since, **before}.items()):
            room = client.get_partial_messageable(where, guild_id=guild)
            try:
                async for message in room.history(after=discord.Object(newest), limit=CATCH_UP, oldest_first=True):
                    await self.message(message, me)
            except (discord.DiscordException, aiohttp.ClientError, OSError, TimeoutError) as error:
                self._before[where] = newest, guild  # for the next session
                log.warning(
                    "What was written meanwhile cannot be read: %s",
                    type(error).__name__,
                    extra={"action": "no_catch_up"},
                )

    async def _store(self, heard: Heard, where: int, *, begin: bool) -> Taken:
        """Hand a message over, again and again where it cannot be stored, and then in the order of the room."""
        waiting = self._waiting.get(where)
        if waiting is None:
            try:
                return await self._hear(heard, begin=begin)
            except StoreError:
                log.exception("A message could not be stored; trying again.", extra={"action": "message_refused"})
        async with self._waiting.setdefault(where, asyncio.Lock()):
            return await self._store_at_last(heard, begin=begin)

    async def _store_at_last(self, heard: Heard, *, begin: bool) -> Taken:
        end, pause = time.monotonic() + SAVE_SECONDS, FIRST_PAUSE
        while True:
            try:
                return await self._hear(heard, begin=begin)
            except StoreError:
                if time.monotonic() + pause > end:
                    log.exception("A message could not be stored; it is lost.", extra={"action": "message_lost"})
                    say = Say(target=f"lost:{heard.dedupe_key}", text=NOT_HEARD, markdown=False)
                    await self._say(heard.place, say)
                    return Taken(new=False)
                log.exception("A message could not be stored; trying again.", extra={"action": "message_refused"})
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _open(self, place: Place, text: str, ref: MessageRef | None) -> None:
        """Start the thread, behind the commit: whatever is posted first starts it, too, if this does not come to be."""
        try:
            await self._platform.open_thread(place, text)
        except Undeliverable as error:
            log.warning("A thread may not be started: %s", error, extra={"action": "no_thread"})
            # Nothing can be said in it, then: whoever wrote would wait for ever, and nobody would know why.
            say = Say(target=f"no_thread:{place.key}", text=f"{NO_THREAD} {error}", markdown=False)
            await self._say(place.evolve(thread=None), say)
        except (Gone, TryLater) as error:
            log.warning("A thread could not be started: %s", error, extra={"action": "no_thread"})
            wait = error.seconds if isinstance(error, TryLater) else None
            if wait is not None and wait >= LONG_SECONDS:
                minutes = math.ceil(wait / 60)
                text = THREAD_LATER.format(minutes="a minute" if minutes == 1 else f"{minutes} minutes")
                say = Say(target=f"thread_later:{place.key}", text=text, markdown=False, reply_to=ref)
                await self._say(place.evolve(thread=None), say)
        else:
            if not self._reads_everything:
                await self._say(place, Say(target=f"mentions:{place.key}", text=ONLY_MENTIONS, markdown=False))

    async def _say(self, place: Place, say: Say) -> None:
        try:
            await self._platform.say(place, say)
        except (Gone, TryLater, Undeliverable) as error:
            log.warning("Something could not be said: %s", error, extra={"action": "not_said"})


def _heard(message: discord.Message, text: str, files: tuple[str, ...], parent: str | None) -> Heard:
    """The message in the core's words."""
    return Heard(
        place=_place(message, parent),
        author=actor(message.author),
        text=text or ("" if files else NO_TEXT),
        dedupe_key=key_of(message),
        at=utc_now(),
        files=files,
        direct=_guild(message) is None,
        midway=parent is not None,
        ref=MessageRef(channel=str(message.channel.id), id=str(message.id)),
        refers_to=_refers_to(message),
    )


def _changes_of(message: discord.Message) -> str:
    """Return what a message and its edits are taken in turn by."""
    return f"changes:{key_of(message)}"


def _refers_to(message: discord.Message) -> MessageRef | None:
    """Return the message that it replies to."""
    reference = message.reference
    if reference is None or reference.message_id is None:
        return None
    return MessageRef(channel=str(reference.channel_id), id=str(reference.message_id))


def _replies_to(message: discord.Message, me: discord.ClientUser) -> bool:
    """Whether it replies to a message of the bot's, also where it does not mention the bot."""
    replied = None if message.reference is None else message.reference.resolved
    return isinstance(replied, discord.Message) and replied.author.id == me.id


def _place(message: discord.Message, parent: str | None) -> Place:
    """Where it was written. A thread that is started from a message has the id of that message."""
    guild = _guild(message)
    if guild is None:
        return Place(platform=PLATFORM, channel=str(message.channel.id))
    if parent is None:
        return Place(platform=PLATFORM, tenant=str(guild), channel=str(message.channel.id), thread=str(message.id))
    return Place(platform=PLATFORM, tenant=str(guild), channel=parent, thread=str(message.channel.id))


def _guild(message: discord.Message) -> int | None:
    """The server that it was written on; None: a direct message. discord.py may not know that server by now."""
    if message.guild is not None:
        return message.guild.id
    return message.channel.guild_id if isinstance(message.channel, discord.PartialMessageable) else None
