"""Discord as the core's `Platform`: posts, edits and finds messages."""

from __future__ import annotations

__all__ = ["DiscordPlatform"]

import base64
import hashlib
import logging
import string
from datetime import datetime

from cachetools import FIFOCache
from pydantic import JsonValue

from askback.domain.ask import Ask
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.outgoing_message import OutgoingMessage
from askback.inbound.message_parts import sync_messages
from askback.ports.platform import AgentStatus, DeliveryError, MessageNotFound, Messages, RetryableError, TextStream
from askback.translations.catalogue import _, use_language
from askback_discord import answer_offers, control_ids, escaping, limits, render
from askback_discord.api_calls import (
    MESSAGE,
    NO_CHANNEL,
    Body,
    DiscordApi,
    DiscordRejection,
    Json,
    explain,
)
from askback_discord.bot_sentences import build_allowed_mentions, remove_everyone_mention, to_markdown
from askback_discord.markdown import neutralize_markdown, split_markdown
from askback_discord.message_search import MessageSearch, describe_message
from askback_discord.status import StatusIndicator
from askback_discord.stop_button import is_placeholder, stop_row
from askback_discord.streaming import WORKING, DiscordTextStream
from askback_discord.thread_api import ThreadApi, to_channel_id

log = logging.getLogger("askback.discord")

NO_MENTIONS: Body = {"parse": []}
SUPPRESS_EMBEDS = 1 << 2
MAX_DELETED = 2000
"""Maximum number of the bot's own deletions to remember."""
EDITIONS = string.digits + string.ascii_letters
"""Characters that distinguish a reposted card from the deleted one."""


class DiscordPlatform:
    """Posts, edits and finds messages through Discord's REST API."""

    name = "discord"

    def __init__(self, api: DiscordApi, me: int) -> None:
        self._api = api
        self._status = StatusIndicator(api)
        self._deleted: FIFOCache[MessageRef, None] = FIFOCache(MAX_DELETED)
        """The latest messages that the bot itself deleted."""
        self.threads = ThreadApi(api, str(me))
        self.search = MessageSearch(api, str(me))

    async def show(self, ask: Ask) -> Messages:
        if not ask.messages:
            return await self.show_parts(ask, render.render_messages(ask.to_card(), ping=ask.outcome is None), ())
        return await self.show_parts(ask, render.render_messages(ask.to_card()), ())

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
        if message.only_for is not None and message.direct:
            await self._write_directly(message.only_for.id, place, message)
            return ()  # it is not in the place, so nothing there refers to it
        messages = await self._post_text(place, message)
        self.search.remember_text(place, message.target, messages)
        return messages

    async def _post_text(self, place: Place, message: OutgoingMessage) -> Messages:
        if message.markdown:
            return await self.write_text(place, message.text, message.messages, message.target)
        if message.messages:
            return message.messages  # an earlier try has posted it whole, and an edit would take its mentions away
        body = _build_text(to_markdown(message)) | {"allowed_mentions": build_allowed_mentions(message.mention)}
        if message.offer is not None:
            with use_language(message.language):
                body["components"] = [answer_offers.build_row(message.offer)]
        # Discord has ephemeral messages only as answers to clicks.
        return (
            await self.post_message(
                place,
                {**body, **answer_offers.build_reply_fields(message.reply_to, to_channel_id(place))},
                message.target,
                0,
            ),
        )

    async def _write_directly(self, person: str, about: Place, message: OutgoingMessage) -> None:
        """Send a person a direct message, with a link to the place that it is about."""
        opened = await self._api.call("POST", "/users/@me/channels", {"recipient_id": person})
        room = opened.get("id")
        if not isinstance(room, str):
            raise RetryableError("Discord did not say which direct message it opened.", in_doubt=True)
        body = _build_text(f"<#{to_channel_id(about)}> {to_markdown(message)}")
        await self.post_message(Place(platform=self.name, channel=room), body, message.target, 0)

    async def notify(self, message: MessageRef, text: str) -> None:
        """Reply to a person's message without a ping.

        A bot can send an ephemeral message only as the answer to a click.
        """
        reference: dict[str, JsonValue] = {"message_id": message.id, "fail_if_not_exists": False}
        body = _build_text(escaping.plain(text)) | {"message_reference": reference}
        await self.post_message(Place(platform=self.name, channel=message.channel), body, f"tell:{message.id}", 0)

    async def write_text(
        self, place: Place, markdown: str, messages: Messages, nonce: str, *, being_written: bool = False
    ) -> Messages:
        """Write the agent's text into these messages, and post more if needed.

        If `being_written` is True, show the Stop button below the text. Otherwise, remove the button.
        """
        below: dict[str, JsonValue] = {"components": [stop_row(nonce)] if being_written else []}
        written: list[MessageRef] = []
        for number, part in enumerate(split_markdown(neutralize_markdown(markdown))):
            if number < len(messages):
                await self.edit_message(messages[number], _build_text(part) | below)
                written.append(messages[number])
            else:
                written.append(await self.post_message(place, _build_text(part) | below, nonce, number))
        await self.remove(messages[len(written) :])
        return tuple(written)

    async def post_placeholder(self, place: Place, name: str) -> Messages:
        """Post a placeholder with the Stop button, which the text of that name will replace.

        Its nonce differs from the text's, since Discord would drop a text with the nonce of a deleted placeholder.
        """
        body: dict[str, JsonValue] = {**_build_text(_(WORKING)), "components": [stop_row(name, placeholder=True)]}
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
                await self._api.execute("DELETE", MESSAGE, **where)

    async def remove_unfinished(self, messages: Messages) -> None:
        """Delete messages that still have the Stop button. Raises `DeliveryError` or `RetryableError`.

        Another process may have finished its text in one of them; that one has no button.
        """
        for message in messages:
            answer = await self._api.fetch_message(message.channel, message.id)
            if any(control.kind == "stop" for control in control_ids.find_controls(answer.get("components"))):
                await self._remove(message)

    async def _is_worded(self, message: MessageRef) -> bool:
        try:
            answer = await self._api.fetch_message(message.channel, message.id)
        except DeliveryError:
            return True  # it cannot be read, so keep it
        return not is_placeholder(answer.get("components"))

    def stop_typing(self, place: Place) -> None:
        """Stop showing that the bot types, because its text is visible now."""
        self._status.stop_typing(to_channel_id(place))

    async def close(self) -> None:
        """Stop the tasks that show the agent's status."""
        await self._status.close()

    def open_stream(
        self, place: Place, name: str, reader: Actor, messages: Messages | None, *, resumed: bool
    ) -> TextStream:
        del reader  # Discord shows a text to everyone in the channel alike
        return DiscordTextStream(self, place, name, messages, resumed=resumed)

    async def find_posted(
        self,
        place: Place,
        name: str,
        *,
        message: OutgoingMessage | None = None,
        since: datetime | None = None,
        after: MessageRef | None = None,
    ) -> Messages:
        return await self.search.find(place, name, message=message, since=since, after=after)

    async def find_missing(self, place: Place, messages: Messages) -> Messages:
        del place  # a message reference contains the channel
        return tuple([message for message in messages if not await self._exists(message)])

    async def _exists(self, message: MessageRef) -> bool:
        try:
            await self._api.fetch_message(message.channel, message.id)
        except MessageNotFound:
            return False
        except DiscordRejection as rejection:
            if rejection.code != NO_CHANNEL:
                raise
            return False
        return True

    def has_deleted(self, message: MessageRef) -> bool:
        """Return True if the bot itself recently deleted the message."""
        return message in self._deleted

    async def get_permalink(self, message: MessageRef) -> str | None:
        answer = await self._api.call("GET", "/channels/{channel_id}", channel_id=message.channel)
        return f"https://discord.com/channels/{answer.get('guild_id') or '@me'}/{message.channel}/{message.id}"

    def set_status(self, place: Place, status: AgentStatus, reader: Actor) -> None:
        del reader
        if status == "working":
            self._status.start_typing(to_channel_id(place))
        else:
            self._status.stop_typing(to_channel_id(place))

    async def post_message(self, place: Place, body: Body, name: str, part: int, edition: int = 0) -> MessageRef:
        """Post one message under a name. Raises `MessageNotFound`, `RetryableError` or `DeliveryError`."""
        body = remove_everyone_mention(body, place)
        limits.check_message(body)
        named = {**body, "nonce": _build_nonce(name, part, edition), "enforce_nonce": True}
        where = to_channel_id(place)
        if self.threads.is_deleted(where):
            raise DiscordRejection(NO_CHANNEL, explain(NO_CHANNEL, 404))

        async def post() -> Json:
            return await self._api.call("POST", "/channels/{channel_id}/messages", named, channel_id=where)

        try:
            posted = await self.threads.run_unarchived(where, post)
        except DiscordRejection as rejection:
            if rejection.code != NO_CHANNEL or place.thread is None or place.thread == place.channel:
                raise
            await self.threads.start_from_message(place)
            posted = await post()
        if posted.get("id") is None:
            raise RetryableError("Discord did not say which message it posted.", in_doubt=True)
        message = MessageRef(channel=where, id=str(posted["id"]))
        if posted.keys() & {"content", "components"} and describe_message(posted) != describe_message(body):
            # An earlier try succeeded with an older text, and Discord returned that message.
            await self.edit_message(message, body)
        return message

    async def edit_message(self, message: MessageRef, body: Body) -> None:
        """Edit one of the bot's messages. Raises `MessageNotFound`, `RetryableError` or `DeliveryError`."""
        limits.check_message(body)

        async def edit_message() -> None:
            edited = await self._api.call("PATCH", MESSAGE, body, channel_id=message.channel, message_id=message.id)
            if edited.get("id") != message.id:
                raise RetryableError("Discord did not say which message it edited.", in_doubt=True)

        await self.threads.run_unarchived(message.channel, edit_message)

    async def remove(self, messages: Messages) -> None:
        """Delete messages of the bot. Raises `RetryableError`."""
        for message in messages:
            await self._remove(message)

    async def _remove(self, message: MessageRef) -> None:
        self._deleted[message] = None
        try:
            await self._api.execute("DELETE", MESSAGE, channel_id=message.channel, message_id=message.id)
        except MessageNotFound as gone:
            log.debug("A surplus message was already deleted: %s", gone)
        except DeliveryError as error:
            log.warning("Could not delete a surplus message: %s", error, extra={"action": "remove_rejected"})


def _build_text(text: str) -> dict[str, JsonValue]:
    return {"content": text, "allowed_mentions": dict(NO_MENTIONS), "flags": SUPPRESS_EMBEDS}


def _build_nonce(name: str, part: int, edition: int) -> str:
    """Return a nonce of at most 25 characters, equal for the same part and edition of the same text.

    An ask's id remains readable in it.
    """
    if len(name) > 22 or part > 99:
        name = base64.urlsafe_b64encode(hashlib.sha256(f"{name}:{part}".encode()).digest()).decode()[:22]
    return f"{name}{part % 100:02d}{EDITIONS[edition % len(EDITIONS)]}"
