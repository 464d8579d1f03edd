"""Reads Slack's payloads tolerantly: what a person did, and what a person wrote."""

from __future__ import annotations

__all__ = [
    "NOWHERE",
    "Click",
    "Home",
    "Json",
    "Written",
    "actor",
    "at",
    "click",
    "dig",
    "file_names",
    "indexes",
    "is_direct",
    "items",
    "key_of",
    "mapping",
    "stopped",
    "tenant_of",
    "text_of",
    "written",
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
from askback_slack import id_patterns, ids

Json: TypeAlias = Mapping[str, object]

PLATFORM = "slack"


@dataclass(frozen=True, slots=True)
class Home:
    """The workspace and organisation where the app is installed, as far as Slack names them."""

    team: str | None = None
    org: str | None = None

    @property
    def tenant(self) -> str | None:
        return self.org or self.team


NOWHERE = Home()


@dataclass(frozen=True, slots=True)
class Click:
    """A press on one control of a message."""

    control: ids.Control | None
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
class Written:
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


def dig(data: object, *path: str | int) -> object:
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


def at(data: object, *path: str | int) -> str | None:
    """Return the text at a path; None if it is missing, empty or not a text."""
    value = dig(data, *path)
    return value if isinstance(value, str) and value else None


def items(data: object, *path: str | int) -> Sequence[object]:
    """Return the list at a path; empty if there is none."""
    value = dig(data, *path)
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


def mapping(data: object, *path: str | int) -> Json:
    """Return the object at a path; empty if there is none."""
    value = dig(data, *path)
    return cast("Json", value) if isinstance(value, dict) else {}


def actor(body: Json, home: Home = NOWHERE) -> Actor | None:
    """Return the sender of an interactive payload, or None if it names no one."""
    identity = at(body, "user", "id")
    if identity is None:
        return None
    own = at(body, "user", "team_id") or at(body, "team", "id")
    name = at(body, "user", "name") or at(body, "user", "username") or ""
    return Actor(platform=PLATFORM, id=identity, tenant=tenant_of(own, _here(body), _org(body), home), name=name)


def _here(body: Json) -> str | None:
    return at(body, "team", "id") or at(body, "team_id")


def _org(body: Json) -> str | None:
    return at(body, "enterprise", "id") or at(body, "team", "enterprise_id") or at(body, "enterprise_id")


def tenant_of(own: str | None, here: str | None, org: str | None, home: Home) -> str | None:
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


def click(body: Json, home: Home = NOWHERE) -> Click | None:
    """Read a block_actions payload. Return None if it names no person or no action."""
    who, action = actor(body, home), dig(body, "actions", 0)
    if who is None or action is None:
        return None
    control = ids.parse(at(action, "action_id") or "")
    channel = at(body, "container", "channel_id") or at(body, "channel", "id")
    ts = at(body, "container", "message_ts") or at(body, "message", "ts")
    order = at(action, "action_ts")
    block_id = at(action, "block_id")
    revision = ids.revision(block_id) if block_id else None
    number = float(order) if order and re.fullmatch(r"\d{1,12}(\.\d{1,9})?", order) else None
    return Click(
        control=control,
        actor=who,
        message=MessageRef(channel=channel, id=ts) if channel and ts else None,
        thread=at(body, "container", "thread_ts") or at(body, "message", "thread_ts"),
        picked=_picked(action),
        base=_drawn(body, block_id, at(action, "action_id")),
        revision=revision,
        order=number,
        ticks=_ticks(body, number),
        trigger=at(body, "trigger_id"),
        response_url=at(body, "response_url"),
        view=at(body, "view", "id"),
    )


def _picked(element: object) -> tuple[str, ...]:
    one = at(element, "selected_option", "value")
    many = [value for entry in items(element, "selected_options") if (value := at(entry, "value"))]
    return (one,) if one is not None else tuple(many)


def _drawn(body: Json, block_id: str | None, action_id: str | None) -> tuple[int, ...] | None:
    """Return the options that the card was drawn with as ticked; the client sends the blocks along."""
    for block in items(body, "message", "blocks"):
        if at(block, "block_id") != block_id:
            continue
        for element in (*items(block, "elements"), dig(block, "accessory"), dig(block, "element")):
            if at(element, "action_id") == action_id:
                return indexes(tuple(v for entry in items(element, "initial_options") if (v := at(entry, "value"))))
    return None


def _ticks(body: Json, order: float | None) -> Select | None:
    """Read the checkboxes or the menu of several on the same card as a pressed button."""
    values = dig(body, "state", "values")
    if not isinstance(values, dict):
        return None
    for block_id, elements in cast("Json", values).items():
        if not isinstance(elements, dict):
            continue
        for action_id, element in cast("Json", elements).items():
            control = ids.parse(action_id)
            if control is None or control.kind != "tick":
                continue
            chosen, base = indexes(_picked(element)), _drawn(body, block_id, action_id)
            if not chosen and base:
                # Slack has been seen to omit boxes that were drawn ticked and never touched. Unticking arrives as a
                # separate action, so nothing is lost by not reading it here.
                return None
            return Select(chosen=chosen, base=base, revision=ids.revision(block_id), order=order)
    return None


def indexes(values: tuple[str, ...]) -> tuple[int, ...]:
    """Turn option values into indexes; other values are not our options and are left out."""
    return tuple(int(value) for value in values if re.fullmatch(r"\d{1,4}", value))


def written(body: Json, bot_user: str, home: Home = NOWHERE) -> Written | None:
    """Read a message or app_mention event. Return None if it is not a new message from a person."""
    event = dig(body, "event")
    author, channel, ts = at(event, "user"), at(event, "channel"), at(event, "ts")
    subtype = at(event, "subtype")
    if author is None or channel is None or ts is None or author in {bot_user, id_patterns.SLACKBOT}:
        return None
    if at(event, "bot_id") or dig(event, "bot_profile") or subtype not in {None, "file_share", "thread_broadcast"}:
        return None
    own = at(event, "user_team") or at(event, "source_team") or at(event, "team")
    here, org = at(body, "team_id"), at(body, "enterprise_id")
    if at(event, "type") == "app_mention" and dig(event, "edited") is not None:
        return None  # an edit starts nothing; the edit of a known message arrives as message_changed
    raw = at(event, "text") or ""
    direct = at(event, "channel_type") == "im" or is_direct(channel)
    mentions_bot = f"<@{bot_user}>" in raw or f"<@{bot_user}|" in raw or at(event, "type") == "app_mention"
    thread = at(event, "thread_ts")
    text, mentioned = text_of(raw, bot_user)
    files = file_names(event)
    return Written(
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
        key=key_of(channel, ts),
        at=_moment(ts),
        direct=direct,
        mentions_bot=mentions_bot,
        in_thread=thread not in {None, ts},
        mentioned=mentioned,
        files=files,
        ref=MessageRef(channel=channel, id=ts),
    )


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A message after its author edited it."""

    written: Written
    at: datetime


def rewritten(body: Json, bot_user: str, home: Home = NOWHERE) -> Rewritten | None:
    """Read a message_changed event.

    Return None if the author did not change the text, for example if Slack only added a link preview.
    """
    event = mapping(body, "event")
    message = mapping(event, "message")
    edited = at(message, "edited", "ts")
    if edited is None or at(message, "edited", "user") not in {None, at(message, "user")}:
        return None
    if at(event, "previous_message", "text") == at(message, "text"):
        return None
    around = {name: event[name] for name in ("channel", "channel_type") if name in event}
    said = written({**body, "event": {**message, **around}}, bot_user, home)
    return None if said is None else Rewritten(said, _moment(edited))


@dataclass(frozen=True, slots=True)
class Removal:
    """A message that was deleted."""

    ref: MessageRef
    author: str | None
    """The author's id, if Slack names them."""


def removal(body: Json) -> Removal | None:
    """Read a message_deleted event, or the replacement of a thread's first message with a tombstone."""
    event = dig(body, "event")
    subtype, channel = at(event, "subtype"), at(event, "channel")
    if subtype == "message_deleted":
        ts = at(event, "deleted_ts") or at(event, "previous_message", "ts")
    elif subtype == "message_changed" and at(event, "message", "subtype") == "tombstone":
        ts = at(event, "message", "ts")
    else:
        return None
    if channel is None or ts is None:
        return None
    return Removal(MessageRef(channel=channel, id=ts), at(event, "previous_message", "user"))


def key_of(channel: str, ts: str) -> str:
    """Return a key that is unique to a message and the same for all its events."""
    return f"{channel}:{ts}"


def is_direct(channel: str) -> bool:
    """Return True if the channel's id is that of a direct message between the bot and one person."""
    return channel.startswith("D")


def file_names(message: object) -> tuple[str, ...]:
    """Return the names of the files that are attached to a message."""
    return tuple(at(file, "name") or at(file, "title") or "a file without a name" for file in items(message, "files"))


def stopped(body: Json, home: Home = NOWHERE) -> tuple[Place, Actor] | None:
    """Read an agent_session_stopped event: the place of Slack's Stop button, and the person who pressed it.

    Return None if the event does not name them.
    """
    channel, author = at(body, "event", "channel"), at(body, "event", "user")
    if channel is None or author is None:
        return None
    here, org = at(body, "team_id"), at(body, "enterprise_id")
    place = Place(
        platform=PLATFORM, tenant=home.tenant or org or here, channel=channel, thread=at(body, "event", "thread_ts")
    )
    return place, Actor(platform=PLATFORM, id=author, tenant=tenant_of(None, here, org, home))


def _moment(ts: str) -> datetime:
    """Return the time at which a message was written, or now if its ts cannot be read."""
    if re.fullmatch(r"\d{1,10}(\.\d{1,6})?", ts):
        return datetime.fromtimestamp(float(ts), UTC)
    return utc_now()


_ENTITY = re.compile(r"<([^<>]*)>")


def text_of(raw: str, bot_user: str) -> tuple[str, tuple[str, ...]]:
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
