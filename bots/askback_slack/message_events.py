"""Reads Slack's events about messages tolerantly: new, edited and deleted ones, and the Stop button."""

from __future__ import annotations

__all__ = [
    "DeletionEvent",
    "EditEvent",
    "UserMessage",
    "build_dedupe_key",
    "contains_mention",
    "is_direct",
    "is_share",
    "is_timestamp",
    "read_deletion",
    "read_edit",
    "read_mentions",
    "read_message",
    "read_missed",
    "read_stop",
    "to_datetime",
    "to_visible_text",
]

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from typing import Final

from askback.domain.attached_file import AttachedFile
from askback.domain.choice_words import Picks
from askback.domain.form_limits import MAX_PICKED_ID
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.incoming_message import NO_TEXT, SHARED, Mentions
from askback.domain.outcome import Picked
from askback.internal.clock import utc_now
from askback_slack import id_patterns
from askback_slack.files import list_files
from askback_slack.id_patterns import PLATFORM
from askback_slack.installation import UNKNOWN_INSTALLATION, Installation, find_tenant
from askback_slack.json_access import Json, get_list, get_object, get_text, get_value

_ENTITY = re.compile(r"<([^<>]*)>")
_MENTIONS: Final[Mapping[Picks, re.Pattern[str]]] = {
    "people": re.compile(rf"<@({id_patterns.PERSON})(?:\|([^<>]*))?>"),
    "channels": re.compile(rf"<#({id_patterns.CHANNEL})(?:\|([^<>]*))?>"),
}
_BETWEEN = re.compile(r"[\s,;&.!]|\band\b")
"""The separators between mentions, and the punctuation after them."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message from a person."""

    place: Place
    author: Actor
    text: str
    key: str
    at: datetime
    direct: bool
    mentions_bot: bool
    in_thread: bool
    """True if it was written below another message."""
    mentioned: tuple[str, ...]
    """Ids of the people who appear in the text as `@ID`."""
    mentions: Mentions | None
    """The people or channels that it mentions, if it says nothing else."""
    files: tuple[AttachedFile, ...]
    """The attached files, and `SHARED` for each message that it shares."""
    ref: MessageRef

    @property
    def begins(self) -> bool:
        """True if it is written to the bot, and so begins a conversation where there is none."""
        return self.direct or self.mentions_bot


@dataclass(frozen=True, slots=True)
class EditEvent:
    """A message after its author edited it."""

    message: UserMessage
    at: datetime


@dataclass(frozen=True, slots=True)
class DeletionEvent:
    """A message that was deleted."""

    ref: MessageRef
    author: str | None
    """The author's id, if Slack names them."""
    message: UserMessage | None = None
    """The deleted message, if Slack tells it and a person wrote it."""


def read_message(body: Json, bot_user: str, home: Installation = UNKNOWN_INSTALLATION) -> UserMessage | None:
    """Read a message or app_mention event. Return None if it is not a new message from a person."""
    event = get_value(body, "event")
    author, channel, ts = get_text(event, "user"), get_text(event, "channel"), get_text(event, "ts")
    subtype = get_text(event, "subtype")
    if author is None or channel is None or ts is None or author in {bot_user, id_patterns.SLACKBOT}:
        return None
    if (
        get_text(event, "bot_id")
        or get_value(event, "bot_profile")
        or subtype not in {None, "file_share", "thread_broadcast"}
    ):
        return None
    own = get_text(event, "user_team") or get_text(event, "source_team") or get_text(event, "team")
    here, org = get_text(body, "team_id"), get_text(body, "enterprise_id")
    if get_text(event, "type") == "app_mention" and get_value(event, "edited") is not None:
        return None  # an edit starts nothing; the edit of a known message arrives as message_changed
    raw = get_text(event, "text") or ""
    direct = get_text(event, "channel_type") == "im" or is_direct(channel)
    mentions_bot = contains_mention(raw, bot_user) or get_text(event, "type") == "app_mention"
    thread = get_text(event, "thread_ts")
    text, mentioned = to_visible_text(raw, bot_user)
    shared = sum(map(is_share, get_list(event, "attachments")))
    files = (*list_files(event), *(AttachedFile(name=SHARED),) * shared)
    return UserMessage(
        place=Place(
            platform=PLATFORM,
            # Prefer the app's own tenant to the event's team, since in a shared channel the event names either the
            # app's team or the guests'.
            tenant=home.tenant or org or here,
            channel=channel,
            thread=thread if direct else thread or ts,
        ),
        author=Actor(platform=PLATFORM, id=author, tenant=find_tenant(own, here, org, home)),
        text=text or ("" if files else NO_TEXT),
        key=build_dedupe_key(channel, ts),
        at=to_datetime(ts),
        direct=direct,
        mentions_bot=mentions_bot,
        in_thread=thread not in {None, ts},
        mentioned=mentioned,
        mentions=read_mentions(raw, bot_user),
        files=files,
        ref=MessageRef(channel=channel, id=ts),
    )


def read_edit(body: Json, bot_user: str, home: Installation = UNKNOWN_INSTALLATION) -> EditEvent | None:
    """Read a message_changed event.

    Return None if the author did not change the text, for example if Slack only added a link preview.
    """
    event = get_object(body, "event")
    message = get_object(event, "message")
    edited = get_text(message, "edited", "ts")
    if edited is None or get_text(message, "edited", "user") not in {None, get_text(message, "user")}:
        return None
    if get_text(event, "previous_message", "text") == get_text(message, "text"):
        return None
    edit = _read_nested(body, message, bot_user, home)
    return None if edit is None else EditEvent(edit, to_datetime(edited))


def read_deletion(body: Json, bot_user: str, home: Installation = UNKNOWN_INSTALLATION) -> DeletionEvent | None:
    """Read a message_deleted event, or the replacement of a thread's first message with a tombstone."""
    event = get_value(body, "event")
    subtype, channel = get_text(event, "subtype"), get_text(event, "channel")
    if subtype == "message_deleted":
        ts = get_text(event, "deleted_ts") or get_text(event, "previous_message", "ts")
    elif subtype == "message_changed" and get_text(event, "message", "subtype") == "tombstone":
        ts = get_text(event, "message", "ts")
    else:
        return None
    if channel is None or ts is None:
        return None
    previous = get_object(event, "previous_message")
    return DeletionEvent(
        ref=MessageRef(channel=channel, id=ts),
        author=get_text(previous, "user"),
        message=_read_nested(body, previous, bot_user, home),
    )


def _read_nested(body: Json, message: Json, bot_user: str, home: Installation) -> UserMessage | None:
    """Read a message that an event about its edit or deletion contains."""
    event = get_object(body, "event")
    around = {name: event[name] for name in ("channel", "channel_type") if name in event}
    return read_message({**body, "event": {**message, **around}}, bot_user, home)


def read_missed(
    message: Json, place: Place, bot_user: str, home: Installation
) -> tuple[UserMessage, EditEvent | None] | None:
    """Read a message for which the bot got no event, and the last edit by its author.

    Return None if no person wrote it. Unlike an event, the message may not name its author's workspace.
    """
    event = {**message, "type": "message", "channel": place.channel}
    user_message = read_message({"event": event}, bot_user, home)
    if user_message is None:
        return None
    edited = get_text(message, "edited", "ts")
    if edited is None or get_text(message, "edited", "user") not in {None, user_message.author.id}:
        return user_message, None
    return user_message, EditEvent(user_message, to_datetime(edited))


def read_stop(body: Json, home: Installation = UNKNOWN_INSTALLATION) -> tuple[Place, Actor] | None:
    """Read an agent_session_stopped event: the place of Slack's Stop button, and the person who pressed it.

    Return None if the event does not name them.
    """
    channel, author = get_text(body, "event", "channel"), get_text(body, "event", "user")
    if channel is None or author is None:
        return None
    here, org = get_text(body, "team_id"), get_text(body, "enterprise_id")
    place = Place(
        platform=PLATFORM,
        tenant=home.tenant or org or here,
        channel=channel,
        thread=get_text(body, "event", "thread_ts"),
    )
    return place, Actor(platform=PLATFORM, id=author, tenant=find_tenant(None, here, org, home))


def build_dedupe_key(channel: str, ts: str) -> str:
    """Return a key that is unique to a message and the same for all its events."""
    return f"{channel}:{ts}"


def is_direct(channel: str) -> bool:
    """Return True if the channel's id is that of a direct message between the bot and one person."""
    return channel.startswith("D")


def contains_mention(raw: str, user: str) -> bool:
    """Return True if a text, as Slack writes it, mentions this person or bot."""
    return f"<@{user}>" in raw or f"<@{user}|" in raw


def is_share(attachment: object) -> bool:
    """Return True if an attachment is a message that was shared, and no preview of a link."""
    return get_value(attachment, "is_share") is True


def is_timestamp(ts: str) -> bool:
    """Return True for a `ts`: seconds since 1970, with up to six decimal places."""
    return re.fullmatch(r"\d{1,10}(\.\d{1,6})?", ts) is not None


def to_datetime(ts: str) -> datetime:
    """Return the time at which a message was written, or now if its ts cannot be read."""
    if is_timestamp(ts):
        return datetime.fromtimestamp(float(ts), UTC)
    return utc_now()


def read_mentions(raw: str, bot_user: str) -> Mentions | None:
    """Return the people or the channels that a text mentions, if it says nothing else than that and the bot's name."""
    rest = re.sub(rf"<@{re.escape(bot_user)}(?:\|[^<>]*)?>", " ", raw)
    for picks, pattern in _MENTIONS.items():
        found = [(one, name) for one, name in pattern.findall(rest) if len(one) <= MAX_PICKED_ID]
        if found and not _BETWEEN.sub("", pattern.sub(" ", rest)):
            names = {one: f"#{unescape(name)}" if name and picks == "channels" else "" for one, name in found}
            return Mentions(picks=picks, picked=tuple(Picked(id=one, name=name) for one, name in names.items()))
    return None


def to_visible_text(raw: str, bot_user: str) -> tuple[str, tuple[str, ...]]:
    """Return a person's text as they see it, without the bot's mention and codes, and the ids that it mentions."""
    mentioned: list[str] = []

    def replace_entity(match: re.Match[str]) -> str:
        target, _, label = match[1].partition("|")
        if target.startswith("@"):
            if target[1:] == bot_user:
                return ""
            mentioned.append(target[1:])
            return f"@{label or target[1:]}"
        if target.startswith(("#", "!")):
            return f"{target[0].replace('!', '@')}{label.lstrip('@#') or target[1:]}"
        return f"{label} ({target})" if label and label != target else target

    return unescape(_ENTITY.sub(replace_entity, raw)).strip(), tuple(mentioned)
