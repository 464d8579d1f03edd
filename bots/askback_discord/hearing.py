"""What people write on Discord, handed to the agent."""

from __future__ import annotations

__all__ = ["Hearing", "Seen"]

import asyncio
import logging
import time
from collections.abc import Mapping
from weakref import WeakValueDictionary

import aiohttp

import discord
from askback.bots import Hear
from askback.clock import utc_now
from askback.conversations import NO_TEXT, Heard, Say, Taken
from askback.identity import MessageRef, Place
from askback.messages.once import Once
from askback.platform import Gone, TryLater, Undeliverable
from askback.recent import Recent
from askback.store.errors import StoreError
from askback_discord.payloads import PLATFORM, actor, attached, key_of, written_text
from askback_discord.places import Places
from askback_discord.posting import DiscordPlatform

log = logging.getLogger("askback.discord")

ONLY_MENTIONS = "In this thread I only see messages that mention me: please begin each with my name."
NOT_HEARD = "I could not save that message, so I will not act on it. Please send it again in a while."
NO_THREAD = "I answer in a thread, and could not start one here:"
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

    def __init__(self, platform: DiscordPlatform, hear: Hear, *, reads_everything: bool) -> None:
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
        parent = None if direct else await self._places.parent(message.channel)
        if not (direct or mentioned or parent is not None):
            return
        # A resumed session delivers again, and an order to the bot itself must not be carried out twice.
        async with self._once.entered(key_of(message)) as first:
            if first:
                await self._take(message, text, files, parent, begin=direct or mentioned)

    async def _take(
        self, message: discord.Message, text: str, files: tuple[str, ...], parent: str | None, *, begin: bool
    ) -> None:
        guild, place = _guild(message), _place(message, parent)
        ref = MessageRef(channel=str(message.channel.id), id=str(message.id))
        heard = Heard(
            place=place,
            author=actor(message.author),
            text=text or ("" if files else NO_TEXT),
            dedupe_key=key_of(message),
            at=utc_now(),
            files=files,
            direct=guild is None,
            midway=parent is not None,
            ref=ref,
        )
        taken = await self._store(heard, message.channel.id, begin=begin)
        if taken.notice is not None:
            await self._tell(ref, taken.notice)
        if not taken.new:
            return
        room = int(place.thread or place.channel)
        self._newest[room] = message.id, guild
        if guild is not None and parent is None:
            await self._open(place, text)

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
                    await self._say(heard.place, f"lost:{heard.dedupe_key}", NOT_HEARD)
                    return Taken(new=False)
                log.exception("A message could not be stored; trying again.", extra={"action": "message_refused"})
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _open(self, place: Place, text: str) -> None:
        """Start the thread, behind the commit: whatever is posted first starts it, too, if this does not come to be."""
        try:
            await self._platform.open_thread(place, text)
        except Undeliverable as error:
            log.warning("A thread may not be started: %s", error, extra={"action": "no_thread"})
            # Nothing can be said in it, then: whoever wrote would wait for ever, and nobody would know why.
            await self._say(place.evolve(thread=None), f"no_thread:{place.key}", f"{NO_THREAD} {error}")
        except (Gone, TryLater) as error:
            log.warning("A thread could not be started: %s", error, extra={"action": "no_thread"})
        else:
            if not self._reads_everything:
                await self._say(place, f"mentions:{place.key}", ONLY_MENTIONS)

    async def _say(self, place: Place, name: str, text: str) -> None:
        try:
            await self._platform.say(place, Say(target=name, text=text, markdown=False))
        except (Gone, TryLater, Undeliverable) as error:
            log.warning("Something could not be said: %s", error, extra={"action": "not_said"})


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
