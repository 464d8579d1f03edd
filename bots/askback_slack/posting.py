"""Slack as the core's `Platform`: posts, edits and finds messages."""

from __future__ import annotations

__all__ = ["SlackPlatform"]

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from cachetools import FIFOCache
from pydantic import JsonValue

from askback.domain.ask import Ask
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.outgoing_message import TURN_TEXT, OutgoingMessage
from askback.inbound.message_parts import sync_messages
from askback.ports.platform import AgentStatus, DeliveryError, MessageNotFound, Messages, RetryableError, TextStream
from askback_slack import answer_offers, bot_sentences, escaping, render
from askback_slack.api_calls import SlackApi, SlackRejection, StreamOpen
from askback_slack.history import iterate_messages
from askback_slack.json_access import get_list, get_text, get_value
from askback_slack.limits import SECTION_TEXT
from askback_slack.markdown import neutralize_markdown, restore_text, split_markdown
from askback_slack.status import StatusIndicator
from askback_slack.streaming import SlackTextStream

log = logging.getLogger("askback.slack")

Blocks: TypeAlias = Sequence[dict[str, JsonValue]]

MAX_DELETIONS = 2000
"""Maximum number of the bot's own deletions to remember."""
UNFINISHED = "unfinished"
"""The key in the metadata of a text that is still being written by edits."""
NO_MARKDOWN = frozenset({"invalid_blocks", "invalid_blocks_format"})
"""Rejections of a block for Markdown. Not every Slack has it, as one for governments or an old one behind a proxy."""
EVENT = "askback"
"""The metadata type of askback's messages. `find_posted` uses it to recognize a message from an earlier try."""


class SlackPlatform:
    """Posts, edits and finds messages through Slack's Web API."""

    name = "slack"

    def __init__(self, api: SlackApi, me: str | None = None) -> None:
        """`me` is the id of the bot's user."""
        self._api = api
        self._status = StatusIndicator(api)
        self._me = me
        self._removed: FIFOCache[MessageRef, None] = FIFOCache(MAX_DELETIONS)
        self.streams = True
        """False once this Slack has rejected streams for all messages."""

    async def show(self, ask: Ask) -> Messages:
        async def edit_message(message: MessageRef, part: render.SlackMessage) -> None:
            await self.edit_message(message, part.text, part.blocks)

        async def post(part: render.SlackMessage, number: int) -> MessageRef:
            return await self.post_message(ask.place, part.text, part.blocks, ask.id, number)

        card = ask.to_card()
        parts = render.render_messages(card)
        if card.names_picked and len(parts) > len(ask.messages):
            # Some are new, and must not notify the people whom an answer names.
            parts = render.render_messages(card, mentions=False)
        return await sync_messages(parts, ask.messages, change=edit_message, post=post, remove=self._remove)

    async def post(self, place: Place, message: OutgoingMessage) -> Messages:
        if message.gone:
            for one in message.messages:
                await self._remove(one)
            return ()
        if message.only_for is not None and message.direct:
            # A person's id as the channel addresses the direct message with them.
            words = bot_sentences.prepend_place(message.text, place)
            direct = Place(platform=self.name, tenant=place.tenant, channel=message.only_for.id)
            await self.post_message(direct, words.text, words.blocks, message.target, 0)
            return ()  # it is not in the place, so nothing there refers to it
        if message.only_for is not None:
            words = bot_sentences.build_remark(message.text)
            blocks = answer_offers.to_blocks(message) or words.blocks
            if message.reply_to is not None and message.reply_to.id == place.thread:
                place = place.evolve(thread=None)  # Slack shows an ephemeral message in an empty thread to nobody
            await self.post_ephemeral(
                place, message.only_for.id, bot_sentences.Remark(text=words.text, blocks=tuple(blocks))
            )
            return ()  # an ephemeral message, which nobody can edit or delete
        if not message.markdown:
            if message.messages:
                return message.messages  # an earlier try has posted it whole
            words = bot_sentences.to_remark(message)
            place = _find_thread(place, message)
            return (await self.post_message(place, words.text, words.blocks, message.target, 0),)
        return await self.write_text(place, message.text, message.messages, message.target)

    async def notify(self, place: Place, person: str, text: str, *, direct: bool) -> None:
        """Send a sentence to one person only. Raises `MessageNotFound`, `DeliveryError` or `RetryableError`.

        `place` may name a thread only if it already has replies. Otherwise, Slack shows the ephemeral message to
        nobody.
        """
        if direct:
            words = bot_sentences.build_remark(text)
            await self.post_message(place, words.text, words.blocks, f"tell:{person}", 0)
            return
        await self.post_ephemeral(place, person, bot_sentences.build_remark(text))

    async def post_ephemeral(self, place: Place, person: str, words: bot_sentences.Remark) -> None:
        """Post an ephemeral message that only this person sees.

        Raises `MessageNotFound`, `RetryableError` or `DeliveryError`.
        """
        await self._api.write(
            "chat.postEphemeral",
            channel=place.channel,
            user=person,
            thread_ts=place.thread,
            text=words.text,
            blocks=list(words.blocks),
            parse="none",
        )

    async def write_text(
        self, place: Place, markdown: str, messages: Messages, nonce: str, *, unfinished: bool = False
    ) -> Messages:
        """Write the agent's text into these messages, and post further ones if it needs more.

        The first message may still be an open stream. `unfinished` marks it as a text that is still being written.
        """
        written: list[MessageRef] = []
        for number, part in enumerate(split_markdown(neutralize_markdown(markdown))):
            metadata = self.to_metadata(nonce, number, unfinished=unfinished)
            known = messages[number] if number < len(messages) else None
            try:
                ref = await self._write_part(place, part, [{"type": "markdown", "text": part}], known, metadata)
            except SlackRejection as rejection:
                if rejection.code not in NO_MARKDOWN:
                    raise
                log.warning(
                    "Slack rejected the Markdown of a text, so people see it without formatting: %s",
                    rejection,
                    extra={"action": "markdown_rejected"},
                )
                ref = await self._write_part(place, part, _build_literal_blocks(restore_text(part)), known, metadata)
            written.append(ref)
        await self.remove(messages[len(written) :])
        return tuple(written)

    async def _write_part(
        self, place: Place, part: str, blocks: Blocks, known: MessageRef | None, metadata: Mapping[str, object]
    ) -> MessageRef:
        """Write a part of a text into a message that is known, or post it."""
        fallback = escaping.to_notification(restore_text(part))
        if known is None:
            return await self._post_message(place, fallback, blocks, metadata)
        try:
            await self.edit_message(known, fallback, blocks, metadata)
        except StreamOpen:
            await self._end_stream(known, metadata)
            await self.edit_message(known, fallback, blocks, metadata)
        return known

    def open_stream(
        self, place: Place, name: str, reader: Actor, messages: Messages | None, *, resumed: bool
    ) -> TextStream:
        return SlackTextStream(self, self._api, place, name, reader, messages, resumed=resumed)

    async def find_posted(
        self,
        place: Place,
        name: str,
        *,
        message: OutgoingMessage | None = None,
        since: datetime | None = None,
        after: MessageRef | None = None,
    ) -> Messages:
        del since, after  # Slack keeps the name of every message
        if message is not None:
            place = _find_thread(place, message)
        found: dict[int, MessageRef] = {}
        begun: MessageRef | None = None
        async for one in iterate_messages(self._api, place):
            ts = get_text(one, "ts")
            if ts is None or self._me not in {None, get_text(one, "user")}:
                continue  # any app may put askback's names into its own messages' metadata
            ref = MessageRef(channel=place.channel, id=ts)
            payload = get_value(one, "metadata", "event_payload")
            named, part = get_text(payload, "nonce"), get_value(payload, "part")
            if named == name and isinstance(part, int):
                found.setdefault(part, ref)
            elif _is_unfinished(one):
                begun = ref
        if begun is not None and name.startswith(TURN_TEXT):
            # Slack takes no name for a stream before its end, and the turn may have begun under another name, before
            # people wrote more. But each conversation has only one unfinished text.
            found.setdefault(0, begun)
        return tuple(found[number] for number in range(len(found)) if number in found)

    async def remove_strays(self, place: Place, keep: Messages) -> None:
        """Delete the bot's unfinished texts, except these messages. Raises the errors of the platform."""
        for stray, is_open in await self._list_unfinished(place):
            if stray not in keep:
                await self._remove_stray(stray, is_open=is_open)

    async def remove_unfinished(self, place: Place, messages: Messages) -> None:
        """Delete those of these messages that are still unfinished. Raises the errors of the platform."""
        for stray, is_open in await self._list_unfinished(place):
            if stray in messages:
                await self._remove_stray(stray, is_open=is_open)

    async def has_unfinished(self, place: Place, messages: Messages) -> bool:
        """Return True if one of these messages is still unfinished. Raises the errors of the platform."""
        return any(one in messages for one, _ in await self._list_unfinished(place))

    async def _list_unfinished(self, place: Place) -> list[tuple[MessageRef, bool]]:
        """Return the bot's unfinished texts, each with True if its stream is open."""
        return [
            (MessageRef(channel=place.channel, id=ts), _is_open(one))
            async for one in iterate_messages(self._api, place)
            if _is_unfinished(one)
            and self._me in {None, get_text(one, "user")}
            and (ts := get_text(one, "ts")) is not None
        ]

    async def _remove_stray(self, message: MessageRef, *, is_open: bool) -> None:
        if is_open:
            await self._api.write("chat.stopStream", channel=message.channel, ts=message.id)
        await self._remove(message)

    async def find_missing(self, place: Place, messages: Messages) -> Messages:
        return tuple([message for message in messages if not await self._exists(place, message)])

    async def _exists(self, place: Place, message: MessageRef) -> bool:
        if place.thread is None:
            # A deleted message with replies leaves a tombstone, which has a permalink as well.
            answer = await self._api.read(
                "conversations.history",
                channel=message.channel,
                oldest=message.id,
                latest=message.id,
                inclusive="true",
                limit=1,
            )
            return any(
                get_text(one, "ts") == message.id and self._me in {None, get_text(one, "user")}
                for one in get_list(answer, "messages")
            )
        try:
            await self.get_permalink(message)
        except MessageNotFound:
            return False
        return True

    def has_deleted(self, message: MessageRef) -> bool:
        """Return True if the bot itself recently deleted the message."""
        return message in self._removed

    async def get_permalink(self, message: MessageRef) -> str | None:
        response = await self._api.read("chat.getPermalink", channel=message.channel, message_ts=message.id)
        return get_text(response, "permalink")

    def set_status(self, place: Place, status: AgentStatus, reader: Actor) -> None:
        del reader  # everyone in the thread sees it
        self._status.set_status(place, status)

    def refresh_status(self, place: Place, *, nothing: bool) -> None:
        """Show the agent's status again, because people may see the state of a process that ended.

        `nothing` is True if no process works there, neither this one nor another.
        """
        self._status.refresh(place, nothing=nothing)

    async def close(self) -> None:
        """Stop the tasks that show the agent's status."""
        await self._status.close()

    async def post_message(self, place: Place, text: str, blocks: Blocks, nonce: str, part: int) -> MessageRef:
        """Post one message under a name. Raises `MessageNotFound`, `DeliveryError` or `RetryableError`."""
        return await self._post_message(place, text, blocks, self.to_metadata(nonce, part))

    async def _post_message(
        self, place: Place, text: str, blocks: Blocks, metadata: Mapping[str, object]
    ) -> MessageRef:
        response = await self._api.write(
            "chat.postMessage",
            channel=place.channel,
            thread_ts=place.thread,
            text=text,
            blocks=list(blocks),
            metadata=metadata,
            unfurl_links=False,
            unfurl_media=False,
            parse="none",
        )
        ts = get_text(response, "ts")
        if ts is None:
            raise RetryableError("Slack did not say which message it posted.", in_doubt=True)
        # A person's id as the channel addresses a direct message; Slack returns the real channel.
        return MessageRef(channel=get_text(response, "channel") or place.channel, id=ts)

    async def edit_message(
        self, message: MessageRef, text: str, blocks: Blocks, metadata: Mapping[str, object] | None = None
    ) -> None:
        """Edit one of the bot's messages. Without `metadata`, it keeps its name.

        Raises `MessageNotFound`, `DeliveryError` or `RetryableError`.
        """
        await self._api.write(
            "chat.update",
            channel=message.channel,
            ts=message.id,
            text=text,
            blocks=list(blocks),
            parse="none",
            link_names=False,
            metadata=metadata,
        )

    async def _end_stream(self, message: MessageRef, metadata: Mapping[str, object]) -> None:
        """End and name a stream that a restart interrupted."""
        try:
            await self._api.write("chat.stopStream", channel=message.channel, ts=message.id, metadata=metadata)
        except DeliveryError as error:
            log.debug("A stream had already ended: %s", error)

    async def remove(self, messages: Messages) -> None:
        """Delete messages of the bot. Raises `RetryableError`."""
        for message in messages:
            await self._remove(message)

    async def _remove(self, message: MessageRef) -> None:
        self._removed[message] = None
        try:
            await self._api.write("chat.delete", channel=message.channel, ts=message.id)
        except MessageNotFound as gone:
            log.debug("A surplus message was already deleted: %s", gone)
        except DeliveryError as error:
            log.warning("Could not delete a surplus message: %s", error, extra={"action": "remove_rejected"})

    @staticmethod
    def to_metadata(nonce: str, part: int, *, unfinished: bool = False) -> dict[str, object]:
        """Return the metadata by which `find_posted` recognises a message, and a text that is still being written."""
        payload: dict[str, object] = {"nonce": nonce, "part": part}
        return {"event_type": EVENT, "event_payload": payload | ({UNFINISHED: True} if unfinished else {})}


def _build_literal_blocks(text: str) -> Blocks:
    """Return blocks that every Slack has, which show a text as it is, without formatting."""
    pieces = escaping.split_isolated(escaping.replace_controls(text), SECTION_TEXT)
    return [
        {"type": "section", "text": {"type": "plain_text", "text": piece, "emoji": False}}
        for piece in pieces
        if piece.strip()
    ]


def _find_thread(place: Place, message: OutgoingMessage) -> Place:
    """Return the place for the bot's own words: below the message that they are about, where nobody chose a thread."""
    if place.thread is not None or message.markdown or message.reply_to is None:
        return place
    return place.evolve(thread=message.reply_to.id)


def _is_open(message: object) -> bool:
    return get_text(message, "streaming_state") == "in_progress"


def _is_unfinished(message: object) -> bool:
    """Return True for a text that a process is writing, or did not finish."""
    return _is_open(message) or get_value(message, "metadata", "event_payload", UNFINISHED) is True
