"""Reads Slack's payloads tolerantly: what a person did, and what a person wrote."""

from __future__ import annotations

__all__ = [
    "UNKNOWN_INSTALLATION",
    "Click",
    "Installation",
    "Json",
    "UserMessage",
    "dedupe_key",
    "file_names",
    "get_list",
    "get_object",
    "get_text",
    "get_value",
    "indexes",
    "is_direct",
    "read_actor",
    "read_click",
    "read_message",
    "read_stop",
    "tenant_of",
    "to_visible_text",
]

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import unescape
from typing import TypeAlias, cast

from askback.domain.actions import Select
from askback.domain.conversation import NO_TEXT
from askback.domain.identity import Actor, MessageRef, Place
from askback.internal.clock import utc_now
from askback_slack import control_ids, id_patterns

Json: TypeAlias = Mapping[str, object]

PLATFORM = "slack"


@dataclass(frozen=True, slots=True)
class Installation:
    """The workspace and organisation where the app is installed, as far as Slack names them."""

    team: str | None = None
    org: str | None = None

    @property
    def tenant(self) -> str | None:
        return self.org or self.team


UNKNOWN_INSTALLATION = Installation()


@dataclass(frozen=True, slots=True)
class Click:
    """A press on one control of a message."""

    control: control_ids.Control | None
    """None if it is not one of ours."""
    actor: Actor
    message: MessageRef | None
    thread: str | None
    picked: tuple[str, ...]
    """Values that a menu or a set of checkboxes shows as chosen."""
    base: tuple[int, ...] | None
    """Indexes of the options that the clicked card was drawn with as ticked."""
    revision: int | None
    """The card revision that was clicked."""
    order: float | None
    ticks: Select | None
    """The other ticks on the card."""
    trigger: str | None
    """Slack's trigger id. It opens one text field, and identifies this click."""
    response_url: str | None
    view: str | None
    """The id of the modal with the control; None if it was not in a modal."""
    at: float = field(default_factory=time.monotonic, compare=False)
    """The click's arrival by the monotonic clock. The lifetime of its trigger counts from here."""


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
    files: tuple[str, ...]
    """Names of the attached files."""
    ref: MessageRef


def get_value(data: object, *path: str | int) -> object:
    """Return the value at a path, or None if any part of the path is missing."""
    for part in path:
        if isinstance(part, int):
            entries = cast("Sequence[object]", data) if isinstance(data, list) else ()
            data = entries[part] if part < len(entries) else None
        else:
            if not isinstance(data, dict):
                return None
            data = cast("Json", data).get(part)
    return data


def get_text(data: object, *path: str | int) -> str | None:
    """Return the text at a path; None if it is missing, empty or not a text."""
    value = get_value(data, *path)
    return value if isinstance(value, str) and value else None


def get_list(data: object, *path: str | int) -> Sequence[object]:
    """Return the list at a path; empty if there is none."""
    value = get_value(data, *path)
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


def get_object(data: object, *path: str | int) -> Json:
    """Return the object at a path; empty if there is none."""
    value = get_value(data, *path)
    return cast("Json", value) if isinstance(value, dict) else {}


def read_actor(body: Json, home: Installation = UNKNOWN_INSTALLATION) -> Actor | None:
    """Return the sender of an interactive payload, or None if it names no one."""
    identity = get_text(body, "user", "id")
    if identity is None:
        return None
    own = get_text(body, "user", "team_id") or get_text(body, "team", "id")
    name = get_text(body, "user", "name") or get_text(body, "user", "username") or ""
    return Actor(platform=PLATFORM, id=identity, tenant=tenant_of(own, _here(body), _org(body), home), name=name)


def _here(body: Json) -> str | None:
    return get_text(body, "team", "id") or get_text(body, "team_id")


def _org(body: Json) -> str | None:
    return (
        get_text(body, "enterprise", "id") or get_text(body, "team", "enterprise_id") or get_text(body, "enterprise_id")
    )


def tenant_of(own: str | None, here: str | None, org: str | None, home: Installation) -> str | None:
    """Return a person's own tenant, the same for every payload about them.

    Slack's payloads name the team in one case and the organisation in another. For people of the app's own workspace or
    organisation it is the app's tenant. For guests it is their team. It is None if only their organisation (E…) is
    known, because other payloads name the team.
    """
    own = own or here or org
    if own is None:
        return None
    at_home = own in {home.team, home.org} or (org is not None and org == home.org and here in {None, own})
    if at_home:
        return home.tenant
    return None if own.startswith("E") else own


def read_click(body: Json, home: Installation = UNKNOWN_INSTALLATION) -> Click | None:
    """Read a block_actions payload. Return None if it names no person or no action."""
    who, action = read_actor(body, home), get_value(body, "actions", 0)
    if who is None or action is None:
        return None
    control = control_ids.parse(get_text(action, "action_id") or "")
    channel = get_text(body, "container", "channel_id") or get_text(body, "channel", "id")
    ts = get_text(body, "container", "message_ts") or get_text(body, "message", "ts")
    order = get_text(action, "action_ts")
    block_id = get_text(action, "block_id")
    revision = control_ids.revision(block_id) if block_id else None
    number = float(order) if order and re.fullmatch(r"\d{1,12}(\.\d{1,9})?", order) else None
    return Click(
        control=control,
        actor=who,
        message=MessageRef(channel=channel, id=ts) if channel and ts else None,
        thread=get_text(body, "container", "thread_ts") or get_text(body, "message", "thread_ts"),
        picked=_picked(action),
        base=_drawn(body, block_id, get_text(action, "action_id")),
        revision=revision,
        order=number,
        ticks=_ticks(body, number),
        trigger=get_text(body, "trigger_id"),
        response_url=get_text(body, "response_url"),
        view=get_text(body, "view", "id"),
    )


def _picked(element: object) -> tuple[str, ...]:
    one = get_text(element, "selected_option", "value")
    many = [value for entry in get_list(element, "selected_options") if (value := get_text(entry, "value"))]
    return (one,) if one is not None else tuple(many)


def _drawn(body: Json, block_id: str | None, action_id: str | None) -> tuple[int, ...] | None:
    """Return the options that the card was drawn with as ticked; the client sends the blocks along."""
    for block in get_list(body, "message", "blocks"):
        if get_text(block, "block_id") != block_id:
            continue
        for element in (*get_list(block, "elements"), get_value(block, "accessory"), get_value(block, "element")):
            if get_text(element, "action_id") == action_id:
                return indexes(
                    tuple(v for entry in get_list(element, "initial_options") if (v := get_text(entry, "value")))
                )
    return None


def _ticks(body: Json, order: float | None) -> Select | None:
    """Read the checkboxes or the menu of several on the same card as a pressed button."""
    values = get_value(body, "state", "values")
    if not isinstance(values, dict):
        return None
    for block_id, elements in cast("Json", values).items():
        if not isinstance(elements, dict):
            continue
        for action_id, element in cast("Json", elements).items():
            control = control_ids.parse(action_id)
            if control is None or control.kind != "tick":
                continue
            chosen, base = indexes(_picked(element)), _drawn(body, block_id, action_id)
            if not chosen and base:
                # Slack has been seen to omit boxes that were drawn ticked and never touched. Unticking arrives as a
                # separate action, so nothing is lost by not reading it here.
                return None
            return Select(chosen=chosen, base=base, revision=control_ids.revision(block_id), order=order)
    return None


def indexes(values: tuple[str, ...]) -> tuple[int, ...]:
    """Turn option values into indexes; other values are not our options and are left out."""
    return tuple(int(value) for value in values if re.fullmatch(r"\d{1,4}", value))


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
    mentions_bot = f"<@{bot_user}>" in raw or f"<@{bot_user}|" in raw or get_text(event, "type") == "app_mention"
    thread = get_text(event, "thread_ts")
    text, mentioned = to_visible_text(raw, bot_user)
    files = file_names(event)
    return UserMessage(
        place=Place(
            platform=PLATFORM,
            # Prefer the app's own tenant to the event's team. In a shared channel, the event names either our team or
            # the guests'.
            tenant=home.tenant or org or here,
            channel=channel,
            thread=thread if direct else thread or ts,
        ),
        author=Actor(platform=PLATFORM, id=author, tenant=tenant_of(own, here, org, home)),
        text=text or ("" if files else NO_TEXT),
        key=dedupe_key(channel, ts),
        at=_moment(ts),
        direct=direct,
        mentions_bot=mentions_bot,
        in_thread=thread not in {None, ts},
        mentioned=mentioned,
        files=files,
        ref=MessageRef(channel=channel, id=ts),
    )


@dataclass(frozen=True, slots=True)
class EditEvent:
    """A message after its author edited it."""

    written: UserMessage
    at: datetime


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
    around = {name: event[name] for name in ("channel", "channel_type") if name in event}
    said = read_message({**body, "event": {**message, **around}}, bot_user, home)
    return None if said is None else EditEvent(said, _moment(edited))


@dataclass(frozen=True, slots=True)
class DeletionEvent:
    """A message that was deleted."""

    ref: MessageRef
    author: str | None
    """The author's id, if Slack names them."""


def read_deletion(body: Json) -> DeletionEvent | None:
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
    return DeletionEvent(MessageRef(channel=channel, id=ts), get_text(event, "previous_message", "user"))


def dedupe_key(channel: str, ts: str) -> str:
    """Return a key that is unique to a message and the same for all its events."""
    return f"{channel}:{ts}"


def is_direct(channel: str) -> bool:
    """Return True if the channel's id is that of a direct message between the bot and one person."""
    return channel.startswith("D")


def file_names(message: object) -> tuple[str, ...]:
    """Return the names of the files that are attached to a message."""
    return tuple(
        get_text(file, "name") or get_text(file, "title") or "a file without a name"
        for file in get_list(message, "files")
    )


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
    return place, Actor(platform=PLATFORM, id=author, tenant=tenant_of(None, here, org, home))


def _moment(ts: str) -> datetime:
    """Return the time at which a message was written, or now if its ts cannot be read."""
    if re.fullmatch(r"\d{1,10}(\.\d{1,6})?", ts):
        return datetime.fromtimestamp(float(ts), UTC)
    return utc_now()


_ENTITY = re.compile(r"<([^<>]*)>")


def to_visible_text(raw: str, bot_user: str) -> tuple[str, tuple[str, ...]]:
    """Return a person's text as they see it, without the bot's mention and codes, and the ids that it mentions."""
    mentioned: list[str] = []

    def shown(match: re.Match[str]) -> str:
        target, _, label = match[1].partition("|")
        if target.startswith("@"):
            if target[1:] == bot_user:
                return ""
            mentioned.append(target[1:])
            return f"@{label or target[1:]}"
        if target.startswith(("#", "!")):
            return f"{target[0].replace('!', '@')}{label.lstrip('@#') or target[1:]}"
        return f"{label} ({target})" if label and label != target else target

    return unescape(_ENTITY.sub(shown, raw)).strip(), tuple(mentioned)
