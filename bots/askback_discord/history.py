"""Reads the messages of a Discord thread from before somebody mentioned the agent in it."""

from __future__ import annotations

__all__ = ["History", "read_message"]

import re
from collections.abc import Iterator
from datetime import datetime
from typing import cast

import discord

from askback.agent.thread_history import MAX_MESSAGES, select_newest
from askback.domain.identity import Actor, Place
from askback.domain.incoming_message import FORWARDED, HistoryMessage
from askback.ports.platform import DeliveryError, MessageNotFound
from askback.text.literal import to_single_line
from askback_discord.api_calls import DiscordApi, DiscordRejection, Json
from askback_discord.id_patterns import PLATFORM
from askback_discord.limits import COMPONENTS_V2
from askback_discord.stop_button import is_placeholder

_WRITTEN = frozenset(
    {discord.MessageType.default.value, discord.MessageType.reply.value, discord.MessageType.chat_input_command.value}
)
_NO_PERMISSION = "I lack the permission Read Message History there."
_NO_CONTENT = (
    "Discord shows me only messages that mention me. My operator has to turn on Message Content Intent on the page Bot "
    "of the application."
)


class History:
    """Reads the earlier messages of threads that the bot may read."""

    def __init__(self, api: DiscordApi, me: str, *, reads_everything: bool) -> None:
        self._api = api
        self._me = me
        self._reads_everything = reads_everything

    async def read(self, place: Place) -> tuple[HistoryMessage, ...]:
        """Return a thread's first message and its newest ones, as many as one call returns; oldest first.

        Raises `MessageNotFound`, `RetryableError` or `DeliveryError`.
        """
        if place.thread is None:
            return ()
        newest_first = await self._api.list_objects(
            f"/channels/{{channel_id}}/messages?limit={MAX_MESSAGES}", channel_id=place.thread
        )
        if not newest_first:
            # At least the message that mentioned the bot exists. Without the permission, Discord returns nothing
            # instead of an error.
            raise DeliveryError(_NO_PERMISSION)
        found = [*await self._fetch_starter(place), *reversed(newest_first)]
        if not self._reads_everything and any(self._is_hidden(one) for one in found):
            raise DeliveryError(_NO_CONTENT)
        return select_newest(one for message in found if (one := read_message(message, self._me)))

    async def _fetch_starter(self, place: Place) -> list[Json]:
        """Return the message that the thread started from. A thread in a forum has none outside itself."""
        try:
            return [await self._api.fetch_message(place.channel, place.thread or "")]
        except (MessageNotFound, DiscordRejection):
            return []

    def _is_hidden(self, message: Json) -> bool:
        """Return True if a person wrote it and Discord hides its content."""
        return (
            message.get("type") in _WRITTEN
            and _read_id(message.get("author")) != self._me
            and not any(
                message.get(part) for part in ("content", "embeds", "attachments", "components", "message_snapshots")
            )
            and not message.get("sticker_items")
        )


def read_message(message: Json, me: str) -> HistoryMessage | None:
    """Read a message that a person or a program wrote.

    Return None for one of Discord's notices, one of the bot's cards, or a message without content.
    """
    author = message.get("author")
    who, channel, identity = _read_id(author), str(message.get("channel_id") or ""), str(message.get("id") or "")
    if not (who and channel and identity) or message.get("type") not in _WRITTEN:
        return None
    flags = message.get("flags")
    # The author of a webhook's message has the webhook's id, which no one else has.
    program = bool(message.get("webhook_id")) or _is_bot(author)
    text = _read_text(message, me, program=program)
    if who == me and ((isinstance(flags, int) and flags & COMPONENTS_V2) or is_placeholder(message.get("components"))):
        return None
    files = tuple(str(one.get("filename") or "unnamed file") for one in _iter_objects(message, "attachments"))
    files += tuple(f"the sticker {one.get('name')}" for one in _iter_objects(message, "sticker_items"))
    files += tuple(FORWARDED for _ in _iter_objects(message, "message_snapshots"))
    if not text and not files:
        return None
    return HistoryMessage(
        key=f"{channel}:{identity}",
        author=Actor(platform=PLATFORM, id=who, name=_read_name(author), is_program=program),
        text=text,
        files=files,
        edited_at=_read_time(message.get("edited_timestamp")),
        ours=who == me,
    )


def _read_text(message: Json, me: str, *, program: bool) -> str:
    """Return the readable text of the author's own. Programs often write only embeds."""
    text = str(message.get("content") or "")
    for person in _iter_objects(message, "mentions"):
        name = "" if str(person.get("id")) == me else f"@{_read_name(person)}"
        text = re.sub(rf"<@!?{re.escape(str(person.get('id')))}>", lambda _, name=name: name, text)
    embeds = [
        "\n".join(str(one[part]) for part in ("title", "description", "url") if one.get(part))
        for one in _iter_objects(message, "embeds")
        if program
    ]
    return text.strip() or "\n\n".join(filter(None, embeds)).strip()


def _iter_objects(message: Json, name: str) -> Iterator[Json]:
    entries = message.get(name)
    for one in cast("list[object]", entries) if isinstance(entries, list) else ():
        if isinstance(one, dict):
            yield cast("Json", one)


def _read_id(person: object) -> str:
    return str(cast("Json", person).get("id") or "") if isinstance(person, dict) else ""


def _read_time(timestamp: object) -> datetime | None:
    return discord.utils.parse_time(timestamp) if isinstance(timestamp, str) else None


def _is_bot(person: object) -> bool:
    return isinstance(person, dict) and cast("Json", person).get("bot") is True


def _read_name(person: object) -> str:
    if not isinstance(person, dict):
        return ""
    known = cast("Json", person)
    return to_single_line(str(known.get("global_name") or known.get("username") or ""))
