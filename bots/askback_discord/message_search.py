"""Finds messages that the bot may have posted before: cards, unfinished texts, and texts without controls."""

from __future__ import annotations

__all__ = ["MessageSearch", "describe_message"]

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

import discord
from cachetools import FIFOCache

from askback.domain.identity import MessageRef, Place
from askback.domain.outgoing_message import OFFER, TURN_TEXT, OutgoingMessage
from askback.ports.platform import Messages
from askback_discord import control_ids
from askback_discord.api_calls import NO_CHANNEL, DiscordApi, DiscordRejection, Json
from askback_discord.bot_sentences import to_markdown
from askback_discord.markdown import neutralize_markdown, split_markdown
from askback_discord.thread_api import to_channel_id

PAGE_MESSAGES = 100
"""Number of messages in one page of a channel's history, the maximum that Discord allows."""
MAX_PAGES = 25
"""Maximum number of pages to search for the messages of an earlier try."""
CLOCK_SKEW = timedelta(seconds=5)
"""The most that Discord's clock may be behind the clock that records the tries."""
MAX_CHANNELS = 2000
"""Maximum number of channels and threads whose last text is remembered."""


@dataclass(frozen=True, slots=True)
class _LastText:
    """The last text in a channel or thread."""

    name: str
    newest: int
    """The id of its last message."""
    earlier: int
    """The id of the newest message before the text."""

    def find_start(self, name: str) -> int:
        """Return the id after which the messages of this text begin."""
        return self.earlier if name == self.name else self.newest


class MessageSearch:
    """Searches the latest messages of a channel or thread for those of the bot."""

    def __init__(self, api: DiscordApi, bot_id: str) -> None:
        self._api = api
        self._bot_id = bot_id
        self._last_texts: FIFOCache[str, _LastText] = FIFOCache(MAX_CHANNELS)
        """The text that was said last in each channel or thread."""

    async def find(
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
            posted = await self._list_posted(where, since)
        except DiscordRejection as rejection:
            if rejection.code == NO_CHANNEL:
                return ()  # the thread has not started yet
            raise
        if name.startswith(TURN_TEXT):
            # There may be several, because Discord may accept a call whose answer never arrived.
            unfinished = tuple(
                MessageRef(channel=where, id=str(_get_id(one)))
                for one in reversed(posted)
                if any(control.kind == "stop" for control in control_ids.find_controls(one.get("components")))
            )
            if unfinished:
                return unfinished
        else:
            for one in posted:
                controls = control_ids.find_controls(one.get("components"))
                if any(control.ask_id == name.removeprefix(OFFER) for control in controls):
                    return (MessageRef(channel=where, id=str(_get_id(one))),)
        if message is None or since is None or message.gone:
            return ()
        return self._find_by_text(where, message, since, reversed(posted), after)

    async def _list_posted(self, where: str, since: datetime | None) -> list[Json]:
        """Return the bot's own messages since a time, newest first. Without a time, search only the newest page."""
        found: list[Json] = []
        before, oldest = "", None if since is None else discord.utils.time_snowflake(since - CLOCK_SKEW)
        for _ in range(MAX_PAGES):
            path = f"/channels/{{channel_id}}/messages?limit={PAGE_MESSAGES}{before}"
            page = await self._api.list_objects(path, channel_id=where)
            found += [one for one in page if _get_author_id(one) == self._bot_id]
            if oldest is None or len(page) < PAGE_MESSAGES or _get_id(page[-1]) < oldest:
                break
            before = f"&before={_get_id(page[-1])}"
        return found

    def _find_by_text(
        self, where: str, message: OutgoingMessage, since: datetime, posted: Iterable[Json], last: MessageRef | None
    ) -> Messages:
        """Return the messages that hold the parts of a text, in order. `posted` has the oldest message first."""
        last_text = self._last_texts.get(where)
        # An earlier text may have had the same words.
        if last_text is not None:
            after = last_text.find_start(message.target)
        else:
            after = discord.utils.time_snowflake(since - CLOCK_SKEW)
            if last is not None and last.channel == where:
                after = max(after, int(last.id))
        parts, found = _split_text(message), list[MessageRef]()
        for candidate in posted:
            if len(found) == len(parts):
                break
            if _get_id(candidate) > after and describe_message(candidate)[0] == parts[len(found)].strip():
                found.append(MessageRef(channel=where, id=str(_get_id(candidate))))
        return tuple(found)

    def remember_text(self, place: Place, name: str, messages: Messages) -> None:
        """Remember the last text of a channel or thread."""
        where = to_channel_id(place)
        newest = max((int(message.id) for message in messages), default=0)
        last_text = self._last_texts.get(where)
        self._last_texts[where] = _LastText(name, newest, 0 if last_text is None else last_text.find_start(name))


def describe_message(message: Json) -> tuple[str, list[str]]:
    """Return the text and the control ids of a message, to compare it with another."""
    return str(message.get("content") or "").strip(), [*_list_ids(message.get("components"))]


def _list_ids(components: object) -> Iterator[str]:
    for component in cast("list[object]", components) if isinstance(components, list) else ():
        if isinstance(component, dict):
            fields = cast("Json", component)
            yield str(fields.get("custom_id") or fields.get("content") or "").strip()
            yield from _list_ids(fields.get("components"))
            yield from _list_ids([fields.get("accessory")])


def _split_text(message: OutgoingMessage) -> list[str]:
    """Return the text of each message of an `OutgoingMessage`."""
    return split_markdown(neutralize_markdown(message.text)) if message.markdown else [to_markdown(message)]


def _get_id(message: Json) -> int:
    return int(str(message.get("id") or 0))


def _get_author_id(message: Json) -> str | None:
    author = message.get("author")
    return str(cast("Json", author).get("id")) if isinstance(author, dict) else None
