"""Handles people's messages on Discord, and passes them to the agent."""

from __future__ import annotations

__all__ = ["MessageListener"]

import logging
import math
from collections.abc import Awaitable, Callable, Collection
from datetime import datetime
from typing import TypeVar

import discord
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_before_delay, wait_exponential

from askback.domain.attached_file import AttachedFile
from askback.domain.identity import MessageRef, Place
from askback.domain.incoming_message import NO_TEXT, DeletedMessages, EditedMessage, IncomingMessage, MessageResult
from askback.domain.outgoing_message import OutgoingMessage
from askback.inbound.deduplication import Deduplicator
from askback.ports.bot import EditHandler, MessageHandler
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback.store.errors import StoreError
from askback.translations.catalogue import N_, Language, _, ngettext, use_language
from askback_discord.channels import ChannelCache
from askback_discord.files import list_files
from askback_discord.id_patterns import PLATFORM
from askback_discord.locales import Locales
from askback_discord.message_positions import MessagePositions
from askback_discord.payloads import build_dedupe_key, read_actor, read_mentions, to_visible_text
from askback_discord.posting import DiscordPlatform

log = logging.getLogger("askback.discord")

T = TypeVar("T")

ONLY_MENTIONS = N_("In this thread, I only see messages that mention me: please mention me in each one.")
NOT_HEARD = N_("I could not save that message, so I will not act on it. Please send it again in a few minutes.")
NO_THREAD = N_("I answer in a thread, and could not start one here:")
LONG_SECONDS = 10.0
"""Seconds of waiting for a thread after which the bot tells people about the wait."""
SAVE_SECONDS = 120.0
"""Seconds for which to retry storing a message. Unlike a webhook, Discord's gateway never delivers it again."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0
_NEW = frozenset({discord.MessageType.default, discord.MessageType.reply})


class MessageListener:
    """Handlers for messages, edits and deletions."""

    def __init__(
        self,
        platform: DiscordPlatform,
        receive: MessageHandler,
        changes: EditHandler,
        channels: ChannelCache,
        positions: MessagePositions,
        locales: Locales | None = None,
        language: Language | None = None,
        *,
        reads_everything: bool,
    ) -> None:
        """`language` is that of texts in a channel. None means the language of the person who began a conversation."""
        self._locales = locales or Locales()
        self._language: Language | None = language
        self._changes = changes
        self._platform = platform
        self._channels = channels
        self._positions = positions
        self._receive = receive
        self._reads_everything = reads_everything
        """True if the bot may read messages that do not mention it."""
        self._once = Deduplicator()

    async def handle_message(
        self, message: discord.Message, me: discord.ClientUser, *, is_missed: bool = False
    ) -> None:
        """Handle a message. Messages of bots and webhooks and Discord's own notices are ignored.

        `is_missed` is True for a message that `MissedMessages` read. Then this may raise `MembersUnknown`.
        """
        if message.author.bot or message.webhook_id is not None or message.type not in _NEW:
            return
        direct = _get_guild_id(message) is None
        mentioned = any(person.id == me.id for person in message.mentions)
        text, files = to_visible_text(message, me), list_files(message)
        async with self._once.wait_for(_get_order_key(message)):
            # Keep the order of arrival. A message that overtakes a mention would find no conversation.
            async with self._once.wait_for(f"order:{message.channel.id}"):
                parent = None if direct else await self._channels.fetch_parent(message.channel)
                if not (direct or mentioned or parent is not None or _is_reply_to(message, me)):
                    return
                # A resumed session delivers messages again. A command to the bot itself must not run twice.
                async with self._once.enter(build_dedupe_key(message)) as first:
                    if not first:
                        return
                    incoming = self._to_incoming_message(message, text, files, parent)
                    incoming = incoming.evolve(mentions=read_mentions(message, me))
                    # Discord hides the text of messages that do not mention us. Their authors take part all the same.
                    hidden = not (text or files or mentioned)
                    incoming = incoming.evolve(hidden=hidden, text="" if hidden else incoming.text)
                    taken = await self._store(incoming, begin=direct or mentioned, is_missed=is_missed)
            await self._follow_up(incoming, taken, message, is_missed=is_missed)

    async def handle_edit(self, message: discord.Message, me: discord.ClientUser, *, is_missed: bool = False) -> None:
        """Handle an edit by a message's author. Ignore Discord's own changes, such as an added preview.

        `is_missed` is as in `handle_message`.
        """
        if message.author.bot or message.webhook_id is not None or message.type not in _NEW:
            return
        at, text = message.edited_at, to_visible_text(message, me)
        if at is None or not text:
            return  # Discord hides the text of messages that do not mention us
        edit = f"edit:{at.timestamp()}:{build_dedupe_key(message)}"
        # Discord delivers nothing twice, so an edit waits until its message is stored, however long that takes.
        async with self._once.enter(edit) as first, self._once.wait_for(_get_order_key(message)):
            if first:
                await self._handle_until_stored(
                    lambda: self._take_edit(message, text, at, is_missed=is_missed), "An edit"
                )

    async def _take_edit(self, message: discord.Message, text: str, at: datetime, *, is_missed: bool) -> None:
        # Check this first, so that an edit outside the agent's conversations costs no call to Discord.
        if not await self._changes.is_stored(build_dedupe_key(message)) and not await self._changes.is_history_due():
            return
        parent = None if _get_guild_id(message) is None else await self._channels.fetch_parent(message.channel)
        incoming = self._to_incoming_message(message, text, (), parent)
        taken = await self._changes.handle_edit(EditedMessage(message=incoming, at=at), is_repeatable=is_missed)
        if taken.notice is None or incoming.ref is None:
            return
        if incoming.place.thread in {None, incoming.ref.channel}:
            await self._notify_author(incoming.ref, taken.notice)
        else:
            # The message is in the channel, and the conversation that it started is in a thread.
            target = f"edit:{at.timestamp()}:{incoming.dedupe_key}"
            await self._post(incoming.place, OutgoingMessage(target=target, text=taken.notice, markdown=False))

    async def handle_deletion(self, channel: int, messages: Collection[int]) -> None:
        """Handle the deletion of messages in a channel or thread. The bot's own deletions are ignored."""
        every = (MessageRef(channel=str(channel), id=str(message)) for message in sorted(messages))
        refs = tuple(ref for ref in every if not self._platform.has_deleted(ref))
        keys = tuple(f"{ref.channel}:{ref.id}" for ref in refs)
        if refs:
            await self._handle_until_stored(
                lambda: self._changes.handle_deletion(DeletedMessages(messages=refs, keys=keys)), "A deletion"
            )

    async def _handle_until_stored(self, take: Callable[[], Awaitable[object]], what: str) -> None:
        """Handle an event that the gateway delivers only once, and retry if it cannot be stored.

        If storing fails for `SAVE_SECONDS`, log an error. The event is then lost.
        """
        try:
            await _store_or_raise(take, what)
        except StoreError as error:
            log.error("%s was lost: could not store it: %s", what, error, extra={"action": "message_lost"})

    async def _follow_up(
        self, incoming: IncomingMessage, taken: MessageResult, message: discord.Message, *, is_missed: bool
    ) -> None:
        """Tell the author what came of a message, and start the thread of a new conversation."""
        # A message that is not kept is read again after each start. Its author must not be notified each time.
        if taken.notice is not None and incoming.ref is not None and not is_missed:
            await self._notify_author(incoming.ref, taken.notice)
        if not taken.new:
            return
        self._positions.remember(incoming.place, message.id)
        if not incoming.direct and not incoming.midway:
            title = "" if incoming.text == NO_TEXT else incoming.text
            with use_language(self._language or incoming.author.language):
                await self._open(incoming.place, title, incoming.ref)

    async def _notify_author(self, ref: MessageRef, text: str) -> None:
        try:
            await self._platform.notify(ref, text)
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.warning("Could not show a notice to a person: %s", error, extra={"action": "notice_lost"})

    async def _store(self, incoming: IncomingMessage, *, begin: bool, is_missed: bool) -> MessageResult:
        """Pass a message on, and retry for a while if it cannot be stored."""
        try:
            return await _store_or_raise(
                lambda: self._receive(incoming, begin=begin, is_repeatable=is_missed), "A message"
            )
        except StoreError as error:
            log.error(
                "A message was lost, because the database did not store it; its author got a notice: %s",
                error,
                extra={"action": "message_lost"},
            )
            with use_language(self._language or incoming.author.language):
                outgoing = OutgoingMessage(target=f"lost:{incoming.dedupe_key}", text=_(NOT_HEARD), markdown=False)
            await self._post(incoming.place, outgoing)
            return MessageResult(new=False)

    async def _open(self, place: Place, text: str, ref: MessageRef | None) -> None:
        """Start the thread after the commit. If this fails, the first post to the thread starts it."""
        try:
            await self._platform.threads.start(place, text)
        except DeliveryError as error:
            log.warning("Discord forbids starting a thread: %s", error, extra={"action": "no_thread"})
            # The bot cannot post in that thread. Without this notice, the author would wait without knowing why.
            outgoing = OutgoingMessage(target=f"no_thread:{place.key}", text=f"{_(NO_THREAD)} {error}", markdown=False)
            await self._post(place.evolve(thread=None), outgoing)
        except (MessageNotFound, RetryableError) as error:
            log.warning("Could not start a thread; the next post retries: %s", error, extra={"action": "no_thread"})
            wait = error.seconds if isinstance(error, RetryableError) else None
            if wait is not None and wait >= LONG_SECONDS:
                minutes = math.ceil(wait / 60)
                text = ngettext(
                    "Discord does not let me start a thread here for about a minute. I will answer your message then.",
                    "Discord does not let me start a thread here for about {count} minutes. "
                    "I will answer your message then.",
                    minutes,
                ).format(count=minutes)
                outgoing = OutgoingMessage(target=f"thread_later:{place.key}", text=text, markdown=False, reply_to=ref)
                await self._post(place.evolve(thread=None), outgoing)
        else:
            if not self._reads_everything:
                await self._post(
                    place, OutgoingMessage(target=f"mentions:{place.key}", text=_(ONLY_MENTIONS), markdown=False)
                )

    def _to_incoming_message(
        self, message: discord.Message, text: str, files: tuple[AttachedFile, ...], parent: str | None
    ) -> IncomingMessage:
        incoming = _to_incoming_message(message, text, files, parent)
        return incoming.evolve(author=self._locales.add_language(incoming.author, message.guild))

    async def _post(self, place: Place, outgoing: OutgoingMessage) -> None:
        try:
            await self._platform.post(place, outgoing)
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.warning("Could not post a notice in a channel: %s", error, extra={"action": "not_said"})


async def _store_or_raise(take: Callable[[], Awaitable[T]], what: str) -> T:
    """Store something, and retry with growing pauses. Raises `StoreError` if it fails for `SAVE_SECONDS`."""

    async def attempt() -> T:  # tenacity awaits a coroutine function only
        return await take()

    def log_failure(state: RetryCallState) -> None:
        error = None if state.outcome is None else state.outcome.exception()
        extra = {"action": "message_rejected"}
        log.error("%s could not be stored; trying again: %s", what, error, extra=extra)

    return await AsyncRetrying(
        retry=retry_if_exception_type(StoreError),
        wait=wait_exponential(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE),
        stop=stop_before_delay(SAVE_SECONDS),
        before_sleep=log_failure,
        reraise=True,
    )(attempt)


def _to_incoming_message(
    message: discord.Message, text: str, files: tuple[AttachedFile, ...], parent: str | None
) -> IncomingMessage:
    """Translate a message into the core's type."""
    return IncomingMessage(
        place=_to_place(message, parent),
        author=read_actor(message.author),
        text=text or ("" if files else NO_TEXT),
        dedupe_key=build_dedupe_key(message),
        at=message.created_at,
        files=files,
        direct=_get_guild_id(message) is None,
        midway=parent is not None,
        ref=MessageRef(channel=str(message.channel.id), id=str(message.id)),
        refers_to=_get_reference(message),
    )


def _get_order_key(message: discord.Message) -> str:
    """Return the key under which a message and its edits are processed one after the other."""
    return f"changes:{build_dedupe_key(message)}"


def _get_reference(message: discord.Message) -> MessageRef | None:
    """Return the message that it replies to."""
    reference = message.reference
    if reference is None or reference.message_id is None:
        return None
    return MessageRef(channel=str(reference.channel_id), id=str(reference.message_id))


def _is_reply_to(message: discord.Message, me: discord.ClientUser) -> bool:
    """Return True if it replies to a message of the bot, even if it does not mention the bot."""
    replied = None if message.reference is None else message.reference.resolved
    return isinstance(replied, discord.Message) and replied.author.id == me.id


def _to_place(message: discord.Message, parent: str | None) -> Place:
    """Return the place of a message. A thread that starts from a message has that message's id."""
    guild = _get_guild_id(message)
    if guild is None:
        return Place(platform=PLATFORM, channel=str(message.channel.id))
    if parent is None:
        return Place(platform=PLATFORM, tenant=str(guild), channel=str(message.channel.id), thread=str(message.id))
    return Place(platform=PLATFORM, tenant=str(guild), channel=parent, thread=str(message.channel.id))


def _get_guild_id(message: discord.Message) -> int | None:
    """Return the id of the message's server, or None for a direct message. discord.py may no longer know the server."""
    if message.guild is not None:
        return message.guild.id
    return message.channel.guild_id if isinstance(message.channel, discord.PartialMessageable) else None
