"""Slack as the core's `Platform`: posts, edits and finds messages."""

from __future__ import annotations

__all__ = ["SlackPlatform"]

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from pydantic import JsonValue

from askback.domain.ask import Ask
from askback.domain.conversation import PROSE, REMINDER, HistoryMessage, OutgoingMessage
from askback.domain.identity import Actor, MessageRef, Place
from askback.inbound.message_parts import bring
from askback.internal.bounded_cache import Recent
from askback.ports.platform import DeliveryError, MessageNotFound, Messages, Mood, RetryableError, TextStream
from askback_slack import offers, remarks, render, texts
from askback_slack.calls import SlackApi
from askback_slack.groups import Groups
from askback_slack.history import History, messages
from askback_slack.payloads import NOWHERE, Home, at, dig, is_direct, items
from askback_slack.status import Presence
from askback_slack.streaming import SlackTextStream
from askback_slack.user_names import Names

log = logging.getLogger("askback.slack")

Blocks: TypeAlias = Sequence[dict[str, JsonValue]]

REMEMBERED = 2000
"""Most messages that it remembers having deleted."""
EVENT = "askback"
"""The metadata type of our messages. By it, `find` recognises a message from an earlier try."""


class SlackPlatform:
    """Slack through its Web API."""

    name = "slack"

    def __init__(
        self, api: SlackApi, names: Names, groups: Groups, me: str | None = None, home: Home = NOWHERE
    ) -> None:
        """`me` is the id of the bot's user."""
        self._api = api
        self._groups = groups
        self._history = History(api, names, me or "", home)
        self._presence = Presence(api)
        self._me = me
        self._removed: Recent[MessageRef, None] = Recent(REMEMBERED)
        self.streams = True
        """False once this Slack has refused streams for all messages."""

    async def show(self, ask: Ask) -> Messages:
        async def change(message: MessageRef, part: render.SlackMessage) -> None:
            await self.change(message, part.text, part.blocks)

        async def post(part: render.SlackMessage, number: int) -> MessageRef:
            return await self.post(ask.place, part.text, part.blocks, ask.id, number)

        parts = render.messages(ask.card())
        return await bring(parts, ask.messages, change=change, post=post, remove=self._remove)

    async def say(self, place: Place, say: OutgoingMessage) -> Messages:
        if say.gone:
            for message in say.messages:
                await self._remove(message)
            return ()
        if say.only_for is not None:
            words = remarks.private(say.text)
            blocks = offers.blocks(say) or words.blocks
            await self.whisper(place, say.only_for.id, remarks.Remark(text=words.text, blocks=tuple(blocks)))
            return ()  # only the reader sees it, and no one can change or delete it
        if not say.markdown:
            words = remarks.remark(say)
            if say.messages:
                await self.change(say.messages[0], words.text, words.blocks)
                return say.messages
            if place.thread is None and say.reply_to is not None:
                place = place.evolve(thread=say.reply_to.id)
            return (await self.post(place, words.text, words.blocks, say.target, 0),)
        return await self.write(place, say.text, say.messages, say.target)

    async def tell(self, place: Place, person: str, text: str, *, direct: bool) -> None:
        """Send a sentence to one person only. Raises `MessageNotFound`, `DeliveryError` or `RetryableError`.

        `place` may name a thread only if the thread already has replies. Slack shows an ephemeral message below a
        message without replies to no one.
        """
        if direct:
            await self.post(place, texts.escape(texts.literal(text)), (), f"tell:{person}", 0)
            return
        await self.whisper(place, person, remarks.private(text))

    async def whisper(self, place: Place, person: str, words: remarks.Remark) -> None:
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

    async def write(
        self, place: Place, markdown: str, messages: Messages, nonce: str, *, streaming: bool = True
    ) -> Messages:
        """Write the agent's prose into these messages, and post further ones if it needs more.

        `streaming` is True if the first message may still be an open stream.
        """
        written: list[MessageRef] = []
        for number, part in enumerate(texts.prose_parts(texts.harmless_markdown(markdown))):
            blocks: Blocks = [{"type": "markdown", "text": part}]
            fallback = texts.notification(part)
            if number < len(messages):
                if streaming and number == 0:
                    await self._unstream(messages[number], nonce)
                await self.change(messages[number], fallback, blocks, nonce, number)
                written.append(messages[number])
            else:
                written.append(await self.post(place, fallback, blocks, nonce, number))
        for surplus in messages[len(written) :]:
            await self._remove(surplus)
        return tuple(written)

    def prose(self, place: Place, name: str, reader: Actor, messages: Messages | None) -> TextStream:
        return SlackTextStream(self, self._api, place, name, reader, messages)

    async def find(
        self, place: Place, nonce: str, *, say: OutgoingMessage | None = None, since: datetime | None = None
    ) -> Messages:
        del say, since  # Slack keeps the name of every message
        found: dict[int, MessageRef] = {}
        begun: MessageRef | None = None
        card: str | None = None
        async for message in messages(self._api, place):
            ts = at(message, "ts")
            if ts is None or self._me not in {None, at(message, "user")}:
                continue  # any app may write our names into its messages' metadata
            ref = MessageRef(channel=place.channel, id=ts)
            payload = dig(message, "metadata", "event_payload")
            name, part = at(payload, "nonce"), dig(payload, "part")
            if name == nonce and isinstance(part, int):
                found.setdefault(part, ref)
            elif at(message, "streaming_state") == "in_progress":
                begun = ref
            elif part == 0 and name is not None and nonce.startswith(f"{REMINDER}{name}:"):
                card = ts
        if card is not None and place.thread is None:
            return await self.find(place.evolve(thread=card), nonce)  # the reminder is in the card's own thread
        if begun is not None and nonce.startswith(PROSE):
            # Slack takes no name for a stream before its end. But each conversation has only one open stream.
            found.setdefault(0, begun)
        return tuple(found[number] for number in range(len(found)) if number in found)

    async def missing(self, place: Place, messages: Messages) -> Messages:
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
                at(one, "ts") == message.id and self._me in {None, at(one, "user")} for one in items(answer, "messages")
            )
        try:
            await self.link(message)
        except MessageNotFound:
            return False
        return True

    def has_removed(self, message: MessageRef) -> bool:
        """Return True if the bot itself recently deleted the message."""
        return message in self._removed

    async def link(self, message: MessageRef) -> str | None:
        response = await self._api.read("chat.getPermalink", channel=message.channel, message_ts=message.id)
        return at(response, "permalink")

    async def earlier(self, place: Place) -> tuple[HistoryMessage, ...]:
        return await self._history.earlier(place)

    async def alone(self, place: Place, person: Actor, groups: tuple[str, ...]) -> Actor | None:
        return await self._groups.fill(person.evolve(groups=()), groups) if is_direct(place.channel) else None

    async def members(self, place: Place, groups: tuple[str, ...]) -> Mapping[str, tuple[Actor, ...]]:
        del place  # a group has the same members everywhere in a workspace
        return await self._groups.members(groups)

    async def grouped(self, place: Place, people: tuple[Actor, ...], groups: tuple[str, ...]) -> tuple[Actor, ...]:
        del place  # a group has the same members everywhere in a workspace
        return tuple([await self._groups.fill(person.evolve(groups=()), groups) for person in people])

    def presence(self, place: Place, mood: Mood, reader: Actor) -> None:
        del reader  # everyone in the thread sees it
        self._presence.show(place, mood)

    def presence_again(self, place: Place, *, nothing: bool) -> None:
        """Show the agent's presence again, because people may see the state of a process that ended.

        `nothing` is True if no process works there, neither this one nor another.
        """
        self._presence.again(place, nothing=nothing)

    async def close(self) -> None:
        """Stop the tasks that show the agent's presence."""
        await self._presence.close()

    async def post(self, place: Place, text: str, blocks: Blocks, nonce: str, part: int) -> MessageRef:
        """Post one message under a name. Raises `MessageNotFound`, `DeliveryError` or `RetryableError`."""
        response = await self._api.write(
            "chat.postMessage",
            channel=place.channel,
            thread_ts=place.thread,
            text=text,
            blocks=list(blocks) or None,
            mrkdwn=False if not blocks else None,
            metadata=self.named(nonce, part),
            unfurl_links=False,
            unfurl_media=False,
            parse="none",
        )
        ts = at(response, "ts")
        if ts is None:
            raise RetryableError("Slack did not say which message it posted.")
        # A person's id as the channel addresses a direct message; Slack returns the real channel.
        return MessageRef(channel=at(response, "channel") or place.channel, id=ts)

    async def change(
        self, message: MessageRef, text: str, blocks: Blocks, nonce: str | None = None, part: int = 0
    ) -> None:
        """Edit one of our messages, and name it if it has no name.

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
            metadata=None if nonce is None else self.named(nonce, part),
        )

    async def _unstream(self, message: MessageRef, nonce: str) -> None:
        """End and name a stream that a restart interrupted. Slack refuses edits while a stream is open."""
        if not self.streams:
            return
        try:
            await self._api.write(
                "chat.stopStream", channel=message.channel, ts=message.id, metadata=self.named(nonce, 0)
            )
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.debug("No stream had to be ended: %s", error)

    async def _remove(self, message: MessageRef) -> None:
        self._removed[message] = None
        try:
            await self._api.write("chat.delete", channel=message.channel, ts=message.id)
        except MessageNotFound as gone:
            log.debug("A part that is not needed any more is gone already: %s", gone)
        except DeliveryError as error:
            log.warning("A part that is not needed any more stays: %s", error, extra={"action": "remove_refused"})

    @staticmethod
    def named(nonce: str, part: int) -> dict[str, object]:
        """Return the metadata by which `find` recognises a message."""
        return {"event_type": EVENT, "event_payload": {"nonce": nonce, "part": part}}
