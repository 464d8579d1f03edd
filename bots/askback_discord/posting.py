"""Discord as the core's `Platform`: posts, edits and finds messages."""

from __future__ import annotations

__all__ = ["DiscordPlatform", "to_channel_id"]

import base64
import hashlib
import logging
import string
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar, cast

import discord
from cachetools import FIFOCache
from pydantic import JsonValue

from askback.domain.ask import Ask
from askback.domain.conversation import OFFER, PROSE, OutgoingMessage
from askback.domain.identity import Actor, MessageRef, Place
from askback.inbound.message_parts import sync_messages
from askback.ports.platform import AgentStatus, DeliveryError, MessageNotFound, Messages, RetryableError, TextStream
from askback_discord import answer_offers, control_ids, limits, render, texts
from askback_discord.bot_sentences import allowed_mentions, to_markdown, without_everyone_mention
from askback_discord.calls import (
    ARCHIVED,
    INVALID,
    MESSAGE,
    NO_CHANNEL,
    THREAD_EXISTS,
    Body,
    DiscordApi,
    DiscordRefusal,
    Json,
    why,
)
from askback_discord.status import StatusIndicator
from askback_discord.stop_button import is_placeholder, stop_row
from askback_discord.streaming import WORKING, DiscordTextStream

log = logging.getLogger("askback.discord")

LOOK_BACK = 100
PAGES = 25
"""Most pages of `LOOK_BACK` messages that are searched for the messages of an earlier try."""
CLOCKS = timedelta(seconds=5)
"""The most that Discord's clock may be behind the clock that records the tries."""
LONGEST_ARCHIVE = 10_080
"""Minutes until Discord archives an inactive thread; the longest that Discord allows."""
NO_MENTIONS: Body = {"parse": []}
SUPPRESS_EMBEDS = 1 << 2
THREAD_NAME = 90
REMEMBERED = 2000
"""Most deleted channels and threads that are remembered. Anyone who may start threads can delete any number."""
UNTITLED = "askback"
EDITIONS = string.digits + string.ascii_letters
"""Characters that distinguish a reposted card from the deleted one."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _LastText:
    """The text that was said last in a channel or thread."""

    name: str
    newest: int
    """The id of its last message."""
    earlier: int
    """The id of the newest message before the text."""

    def before(self, name: str) -> int:
        """Return the id after which the messages of this text begin."""
        return self.earlier if name == self.name else self.newest


def to_channel_id(place: Place) -> str:
    """Return the channel id for messages of a place. On Discord, a thread is a channel."""
    return place.thread or place.channel


class DiscordPlatform:
    """Discord through its REST API."""

    name = "discord"

    def __init__(self, api: DiscordApi, me: int) -> None:
        self._api = api
        self._me = str(me)
        self._presence = StatusIndicator(api)
        self._deleted: FIFOCache[MessageRef, None] = FIFOCache(REMEMBERED)
        """The latest messages that the bot itself deleted."""
        self._removed: FIFOCache[str, None] = FIFOCache(REMEMBERED)
        """The latest channels and threads that were deleted."""
        self._said: FIFOCache[str, _LastText] = FIFOCache(REMEMBERED)
        """The text that was said last in each channel or thread."""

    async def show(self, ask: Ask) -> Messages:
        if not ask.messages:
            return await self.show_parts(ask, render.messages(ask.card(), ping=ask.outcome is None), ())
        return await self.show_parts(ask, render.messages(ask.card()), ())

    async def show_parts(self, ask: Ask, parts: tuple[Body, ...], done: Messages) -> Messages:
        """Post or edit the messages of a card, without the first ones, which are already `done`."""

        async def post(part: Body, number: int) -> MessageRef:
            # Repost a deleted card under another nonce, since Discord drops a message with the same one.
            return await self.post_message(ask.place, part, ask.id, number, ask.interview.revision)

        return await sync_messages(
            parts, ask.messages, change=self.edit_message, post=post, remove=self._remove, done=done
        )

    async def post(self, place: Place, message: OutgoingMessage) -> Messages:
        if message.gone:
            await self.remove(message.messages)
            return ()
        messages = await self._post_text(place, message)
        self.remember_text(place, message.target, messages)
        return messages

    async def _post_text(self, place: Place, message: OutgoingMessage) -> Messages:
        if message.markdown:
            return await self.write_text(place, message.text, message.messages, message.target)
        body = _plain(to_markdown(message)) | {"allowed_mentions": allowed_mentions(message.mention)}
        if message.offer is not None:
            body["components"] = [answer_offers.row_of(message.offer)]
        if message.messages:
            await self.edit_message(message.messages[0], body)
            return message.messages
        # Discord has ephemeral messages only as answers to clicks.
        return (
            await self.post_message(
                place, {**body, **answer_offers.reply_to(message.reply_to, to_channel_id(place))}, message.target, 0
            ),
        )

    async def notify(self, message: MessageRef, text: str) -> None:
        """Reply to a person's message without a ping.

        Without a click, a bot cannot send an ephemeral message to one person.
        """
        reference: dict[str, JsonValue] = {"message_id": message.id, "fail_if_not_exists": False}
        body = _plain(texts.plain(text)) | {"message_reference": reference}
        await self.post_message(Place(platform=self.name, channel=message.channel), body, f"tell:{message.id}", 0)

    async def write_text(
        self, place: Place, markdown: str, messages: Messages, nonce: str, *, being_written: bool = False
    ) -> Messages:
        """Write the agent's prose into these messages, and post further ones if it needs more.

        If `being_written`, it has a button below it that stops the work; otherwise the button is removed.
        """
        below: dict[str, JsonValue] = {"components": [stop_row(nonce)] if being_written else []}
        written: list[MessageRef] = []
        for number, part in enumerate(texts.prose_parts(texts.harmless_markdown(markdown))):
            if number < len(messages):
                await self.edit_message(messages[number], _plain(part) | below)
                written.append(messages[number])
            else:
                written.append(await self.post_message(place, _plain(part) | below, nonce, number))
        await self.remove(messages[len(written) :])
        return tuple(written)

    async def post_placeholder(self, place: Place, name: str) -> Messages:
        """Post a placeholder with the Stop button, which the text of that name will replace.

        Its nonce differs from the text's. If the placeholder were deleted, Discord would drop a text with the same
        nonce.
        """
        body: dict[str, JsonValue] = {**_plain(WORKING), "components": [stop_row(name, placeholder=True)]}
        return (await self.post_message(place, body, f"working:{name}", 0),)

    async def remove_stop_button(self, messages: Messages, *, worded: bool | None) -> None:
        """Remove the button of an abandoned text, and delete a message that holds nothing else.

        `worded` is True if the message holds more than the button, or None if that is unknown. Raises
        `MessageNotFound`, `RetryableError` or `DeliveryError`.
        """
        for message in messages[:1]:
            where = {"channel_id": message.channel, "message_id": message.id}
            if worded if worded is not None else await self._is_worded(message):
                body: Body = {"components": [], "allowed_mentions": dict(NO_MENTIONS)}
                await self._api.call("PATCH", MESSAGE, body, **where)
            else:
                await self._api.call("DELETE", MESSAGE, None, **where)

    async def remove_unfinished(self, messages: Messages) -> None:
        """Delete messages that still have the Stop button. Raises `DeliveryError` or `RetryableError`.

        Another process may have finished its text in one of them; that one has no button.
        """
        for message in messages:
            answer = await self._api.call("GET", MESSAGE, channel_id=message.channel, message_id=message.id)
            components = answer.get("components") if isinstance(answer, Mapping) else None
            if any(control.kind == "stop" for control in control_ids.controls_in(components)):
                await self._remove(message)

    async def _is_worded(self, message: MessageRef) -> bool:
        try:
            answer = await self._api.call("GET", MESSAGE, channel_id=message.channel, message_id=message.id)
        except DeliveryError:
            return True  # it cannot be read, so keep it
        return not isinstance(answer, Mapping) or not is_placeholder(answer.get("components"))

    def stop_typing(self, place: Place) -> None:
        """Stop showing that the bot types, because its text is visible now."""
        self._presence.stop_typing(to_channel_id(place))

    async def close(self) -> None:
        """Stop the tasks that show the agent's presence."""
        await self._presence.close()

    def open_stream(self, place: Place, name: str, reader: Actor, messages: Messages | None) -> TextStream:
        del reader  # Discord shows a text to everyone in the channel alike
        return DiscordTextStream(self, place, name, messages)

    async def find_posted(
        self,
        place: Place,
        name: str,
        *,
        message: OutgoingMessage | None = None,
        since: datetime | None = None,
        after: MessageRef | None = None,
    ) -> Messages:
        """Find a card by the ids of its controls, an unfinished text by its button, and any other text by its words.

        An unfinished text is the one with the Stop button, even if its name differs. Only one text of a conversation is
        written at a time. A process that ended may have begun it under another name, before people wrote more. Discord
        itself drops a message with a repeated nonce, but it forgets nonces after some minutes.
        """
        where = to_channel_id(place)
        try:
            posted = await self._posted(where, since)
        except DiscordRefusal as refusal:
            if refusal.code == NO_CHANNEL:
                return ()  # the thread has not started yet
            raise
        for one in posted:
            controls = tuple(control_ids.controls_in(one.get("components")))
            if name.startswith(PROSE):
                is_it = any(control.kind == "stop" for control in controls)
            else:
                is_it = any(control.ask_id == name.removeprefix(OFFER) for control in controls)
            if is_it:
                return (MessageRef(channel=where, id=str(one.get("id"))),)
        if message is None or since is None or message.gone:
            return ()
        return self._find_by_text(where, message, since, reversed(posted), after)

    async def _posted(self, where: str, since: datetime | None) -> list[Json]:
        """Return our own messages since a time, newest first. Without a time, search only the newest page."""
        found: list[Json] = []
        before, oldest = "", None if since is None else discord.utils.time_snowflake(since - CLOCKS)
        for _ in range(PAGES):
            path = f"/channels/{{channel_id}}/messages?limit={LOOK_BACK}{before}"
            answer = await self._api.call("GET", path, channel_id=where)
            page = [cast("Json", one) for one in (answer if isinstance(answer, list) else ()) if isinstance(one, dict)]
            found += [one for one in page if _author(one) == self._me]
            if oldest is None or len(page) < LOOK_BACK or _number(page[-1]) < oldest:
                break
            before = f"&before={_number(page[-1])}"
        return found

    def _find_by_text(
        self, where: str, say: OutgoingMessage, since: datetime, posted: Iterable[Json], last: MessageRef | None
    ) -> Messages:
        """Return the messages that hold the parts of a text, in order. `posted` has the oldest message first."""
        said = self._said.get(where)
        # An earlier text may have had the same words.
        after = discord.utils.time_snowflake(since - CLOCKS) if said is None else said.before(say.target)
        if said is None and last is not None and last.channel == where:
            after = max(after, int(last.id))
        parts, found = _parts(say), list[MessageRef]()
        for message in posted:
            if len(found) == len(parts):
                break
            if _number(message) > after and _says(message)[0] == parts[len(found)].strip():
                found.append(MessageRef(channel=where, id=str(_number(message))))
        return tuple(found)

    def remember_text(self, place: Place, name: str, messages: Messages) -> None:
        """Remember the last text of a channel or thread."""
        where = to_channel_id(place)
        newest = max((int(message.id) for message in messages), default=0)
        said = self._said.get(where)
        self._said[where] = _LastText(name, newest, 0 if said is None else said.before(name))

    async def missing(self, place: Place, messages: Messages) -> Messages:
        del place  # a message reference contains the channel
        return tuple([message for message in messages if not await self._exists(message)])

    async def _exists(self, message: MessageRef) -> bool:
        try:
            await self._api.message(message.channel, message.id)
        except MessageNotFound:
            return False
        except DiscordRefusal as refusal:
            if refusal.code != NO_CHANNEL:
                raise
            return False
        return True

    def has_deleted(self, message: MessageRef) -> bool:
        """Return True if the bot itself recently deleted the message."""
        return message in self._deleted

    async def link(self, message: MessageRef) -> str | None:
        answer = await self._api.call("GET", "/channels/{channel_id}", channel_id=message.channel)
        guild = answer.get("guild_id") if isinstance(answer, Mapping) else None
        return f"https://discord.com/channels/{guild or '@me'}/{message.channel}/{message.id}"

    def set_status(self, place: Place, status: AgentStatus, reader: Actor) -> None:
        del reader
        if status == "working":
            self._presence.start_typing(to_channel_id(place))
        else:
            self._presence.stop_typing(to_channel_id(place))

    async def post_message(self, place: Place, body: Body, name: str, part: int, edition: int = 0) -> MessageRef:
        """Post one message under a name. Raises `MessageNotFound`, `RetryableError` or `DeliveryError`."""
        body = without_everyone_mention(body, place)
        limits.check_message(body)
        named = {**body, "nonce": _nonce(name, part, edition), "enforce_nonce": True}
        where = to_channel_id(place)
        if where in self._removed:
            raise DiscordRefusal(NO_CHANNEL, why(NO_CHANNEL, 404))

        async def post() -> Json:
            answer = await self._api.call("POST", "/channels/{channel_id}/messages", named, channel_id=where)
            return answer if isinstance(answer, Mapping) else {}

        try:
            posted = await self._unarchived(where, post)
        except DiscordRefusal as refusal:
            if refusal.code != NO_CHANNEL or place.thread is None or place.thread == place.channel:
                raise
            await self._begin_thread(place)
            posted = await post()
        if posted.get("id") is None:
            raise RetryableError("Discord did not say which message it posted.")
        message = MessageRef(channel=where, id=str(posted["id"]))
        if posted.keys() & {"content", "components"} and _says(posted) != _says(body):
            # An earlier try succeeded with an older text, and Discord returned that message.
            await self.edit_message(message, body)
        return message

    async def edit_message(self, message: MessageRef, body: Body) -> None:
        """Edit one of our messages. Raises `MessageNotFound`, `RetryableError` or `DeliveryError`."""
        limits.check_message(body)

        async def edit_message() -> None:
            await self._api.call(
                "PATCH",
                MESSAGE,
                body,
                channel_id=message.channel,
                message_id=message.id,
            )

        await self._unarchived(message.channel, edit_message)

    async def open_thread(self, place: Place, title: str) -> None:
        """Start the thread of a place at the message whose id it has; an existing thread is kept.

        Raises `MessageNotFound`, `RetryableError` or `DeliveryError`.
        """
        if place.thread is None:
            return
        for name in dict.fromkeys((texts.fit_line(_printable(title), THREAD_NAME) or UNTITLED, UNTITLED)):
            try:
                await self._api.call(
                    "POST",
                    "/channels/{channel_id}/messages/{message_id}/threads",
                    {"name": name, "auto_archive_duration": LONGEST_ARCHIVE},
                    channel_id=place.channel,
                    message_id=place.thread,
                )
            except DiscordRefusal as refusal:
                if refusal.code == INVALID and name != UNTITLED:
                    continue  # Discord rejects this name
                if refusal.code != THREAD_EXISTS:
                    raise
            return

    async def _begin_thread(self, place: Place) -> None:
        """Start the thread of a place, with the text of its first message as the title."""
        try:
            written = str((await self._api.message(place.channel, place.thread or "")).get("content") or "")
            await self.open_thread(place, written.replace(f"<@{self._me}>", " ").replace(f"<@!{self._me}>", " "))
        except MessageNotFound:
            raise DiscordRefusal(NO_CHANNEL, "the message that the thread was to start from was deleted.") from None

    def mark_channel_deleted(self, place: str) -> None:
        """Remember a deleted channel or thread, so that nothing is posted there and no thread is started again."""
        self._removed[place] = None

    async def parent(self, thread: str) -> str | None:
        """Return the channel that a thread belongs to, or None if it is not a thread.

        Raises `MessageNotFound`, `RetryableError` or `DeliveryError`.
        """
        answer = await self._api.call("GET", "/channels/{channel_id}", channel_id=thread)
        found: Json = answer if isinstance(answer, Mapping) else {}
        # A channel also has a parent, which is its category.
        return str(found["parent_id"]) if "thread_metadata" in found and found.get("parent_id") else None

    async def unarchive(self, thread: str) -> None:
        """Open an archived thread. Raises `MessageNotFound`, `RetryableError` or `DeliveryError`."""
        await self._api.call("PATCH", "/channels/{channel_id}", {"archived": False}, channel_id=thread)

    async def is_archived(self, thread: str) -> bool:
        answer = await self._api.call("GET", "/channels/{channel_id}", channel_id=thread)
        metadata = answer.get("thread_metadata") if isinstance(answer, Mapping) else None
        return isinstance(metadata, dict) and cast("Json", metadata).get("archived") is True

    async def _unarchived(self, channel: str, act: Callable[[], Awaitable[T]]) -> T:
        """Run an action. If it fails because the thread is archived, open the thread and run it again."""
        try:
            return await act()
        except DiscordRefusal as refusal:
            if refusal.code != ARCHIVED:
                raise
        log.info("A thread was archived; it is opened.", extra={"action": "unarchive", "channel": channel})
        await self.unarchive(channel)
        return await act()

    async def remove(self, messages: Messages) -> None:
        """Delete messages of the bot. Raises `RetryableError`."""
        for message in messages:
            await self._remove(message)

    async def _remove(self, message: MessageRef) -> None:
        self._deleted[message] = None
        try:
            await self._api.call(
                "DELETE",
                MESSAGE,
                channel_id=message.channel,
                message_id=message.id,
            )
        except MessageNotFound as gone:
            log.debug("A part that is not needed any more is gone already: %s", gone)
        except DeliveryError as error:
            log.warning("A part that is not needed any more stays: %s", error, extra={"action": "remove_refused"})


def _plain(text: str) -> dict[str, JsonValue]:
    return {"content": text, "allowed_mentions": dict(NO_MENTIONS), "flags": SUPPRESS_EMBEDS}


def _nonce(name: str, part: int, edition: int) -> str:
    """Return a nonce of at most 25 characters, equal for the same part and edition of the same text.

    An ask's id remains readable in it.
    """
    if len(name) > 22 or part > 99:
        name = base64.urlsafe_b64encode(hashlib.sha256(f"{name}:{part}".encode()).digest()).decode()[:22]
    return f"{name}{part % 100:02d}{EDITIONS[edition % len(EDITIONS)]}"


def _printable(title: str) -> str:
    return " ".join("".join(map(_visible, title)).split())


def _visible(character: str) -> str:
    return character if character.isprintable() else " "


def _says(message: Json) -> tuple[str, list[str]]:
    """Return the text and the control ids of a message, to compare it with another."""
    return str(message.get("content") or "").strip(), [*_names(message.get("components"))]


def _names(components: object) -> Iterator[str]:
    for component in cast("list[object]", components) if isinstance(components, list) else ():
        if isinstance(component, dict):
            fields = cast("Json", component)
            yield str(fields.get("custom_id") or fields.get("content") or "").strip()
            yield from _names(fields.get("components"))


def _parts(say: OutgoingMessage) -> list[str]:
    """Return the text of each message of a `OutgoingMessage`."""
    return texts.prose_parts(texts.harmless_markdown(say.text)) if say.markdown else [to_markdown(say)]


def _number(message: Json) -> int:
    return int(str(message.get("id") or 0))


def _author(message: Json) -> str | None:
    author = message.get("author")
    return str(cast("Json", author).get("id")) if isinstance(author, dict) else None
