"""Slack's payloads, read tolerantly: what a person did, and what a person wrote."""

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
from askback_slack import ids, shapes

Json: TypeAlias = Mapping[str, object]

PLATFORM = "slack"


@dataclass(frozen=True, slots=True)
class Home:
    """Where the app is installed, as far as Slack says."""

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
    """None: not one of ours."""
    actor: Actor
    message: MessageRef | None
    thread: str | None
    picked: tuple[str, ...]
    """Values that a menu or a set of boxes shows as chosen."""
    base: tuple[int, ...] | None
    """Indexes that the clicked card was drawn with as ticked."""
    revision: int | None
    """The drawing that was clicked."""
    order: float | None
    ticks: Select | None
    """What else was ticked on the card."""
    trigger: str | None
    """Opens one text field, and tells this click from every other."""
    response_url: str | None
    view: str | None
    """The modal in which it was pressed, if it was one."""
    at: float = field(default_factory=time.monotonic, compare=False)
    """When it came in, by a clock that nobody sets: for how long its trigger lives."""


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
    """Whether it was written below another message."""
    mentioned: tuple[str, ...]
    """Ids of the people whose names stand in the text as `@ID`."""
    files: tuple[str, ...]
    """Names of what is attached."""
    ref: MessageRef


def dig(data: object, *path: str | int) -> object:
    """The value at a path; None as soon as something on it is not there."""
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
    """The same for a text; an empty one counts as none."""
    value = dig(data, *path)
    return value if isinstance(value, str) and value else None


def items(data: object, *path: str | int) -> Sequence[object]:
    """The same for a list; anything else counts as an empty one."""
    value = dig(data, *path)
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


def mapping(data: object, *path: str | int) -> Json:
    """The same for an object; anything else counts as an empty one."""
    value = dig(data, *path)
    return cast("Json", value) if isinstance(value, dict) else {}


def actor(body: Json, home: Home = NOWHERE) -> Actor | None:
    """Who sent an interactive payload."""
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
    """A person's own tenant, the same for each payload about them, which names now a team, now its organisation.

    Of people at home it is that of the app. Of guests it is their team, and unknown where only their organisation
    (E…) is told: which of its teams it is, other payloads tell.
    """
    own = own or here or org
    if own is None:
        return None
    at_home = own in {home.team, home.org} or (org is not None and org == home.org and here in {None, own})
    if at_home:
        return home.tenant
    return None if own.startswith("E") else own


def click(body: Json, home: Home = NOWHERE) -> Click | None:
    """A block_actions payload. None: it names nobody or nothing."""
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
    """What the card itself was drawn with as ticked: the client sends the blocks along."""
    for block in items(body, "message", "blocks"):
        if at(block, "block_id") != block_id:
            continue
        for element in (*items(block, "elements"), dig(block, "accessory"), dig(block, "element")):
            if at(element, "action_id") == action_id:
                return indexes(tuple(v for entry in items(element, "initial_options") if (v := at(entry, "value"))))
    return None


def _ticks(body: Json, order: float | None) -> Select | None:
    """Boxes and menus of several on the same card as a button that was pressed."""
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
                # Slack has been seen to leave out boxes that were drawn ticked and never touched. Unticking
                # comes as an action of its own, so nothing is lost by not reading it here.
                return None
            return Select(chosen=chosen, base=base, revision=ids.revision(block_id), order=order)
    return None


def indexes(values: tuple[str, ...]) -> tuple[int, ...]:
    """Option values as indexes; what is no index is no option of ours."""
    return tuple(int(value) for value in values if re.fullmatch(r"\d{1,4}", value))


def written(body: Json, bot_user: str, home: Home = NOWHERE) -> Written | None:
    """A message or app_mention event. None: not from a person, or not a new message."""
    event = dig(body, "event")
    author, channel, ts = at(event, "user"), at(event, "channel"), at(event, "ts")
    subtype = at(event, "subtype")
    if author is None or channel is None or ts is None or author in {bot_user, shapes.SLACKBOT}:
        return None
    if at(event, "bot_id") or dig(event, "bot_profile") or subtype not in {None, "file_share", "thread_broadcast"}:
        return None
    own = at(event, "user_team") or at(event, "source_team") or at(event, "team")
    here, org = at(body, "team_id"), at(body, "enterprise_id")
    if at(event, "type") == "app_mention" and dig(event, "edited") is not None:
        return None  # an edit begins nothing; what was heard before comes as message_changed
    raw = at(event, "text") or ""
    direct = at(event, "channel_type") == "im" or is_direct(channel)
    mentions_bot = f"<@{bot_user}>" in raw or f"<@{bot_user}|" in raw or at(event, "type") == "app_mention"
    thread = at(event, "thread_ts")
    text, mentioned = text_of(raw, bot_user)
    files = file_names(event)
    return Written(
        place=Place(
            platform=PLATFORM,
            # Not the event's own team where it is known better: in a shared channel that is now ours, now the guests'.
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
    """A message as its author has edited it."""

    written: Written
    at: datetime


def rewritten(body: Json, bot_user: str, home: Home = NOWHERE) -> Rewritten | None:
    """Read a message_changed event. None: nobody changed their own words, such as where Slack added a preview."""
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
    """A message that is gone."""

    ref: MessageRef
    author: str | None
    """Who wrote it, where Slack says so."""


def removal(body: Json) -> Removal | None:
    """Read a message_deleted event, or the change of the head of a thread to a tombstone."""
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
    """What tells a message apart from every other, however often it is announced."""
    return f"{channel}:{ts}"


def is_direct(channel: str) -> bool:
    """Whether a channel's id is that of a direct message between the bot and one person."""
    return channel.startswith("D")


def file_names(message: object) -> tuple[str, ...]:
    """What is attached to a message."""
    return tuple(at(file, "name") or at(file, "title") or "a file without a name" for file in items(message, "files"))


def stopped(body: Json, home: Home = NOWHERE) -> tuple[Place, Actor] | None:
    """An agent_session_stopped event: where somebody pressed Slack's own Stop, and who. None: it does not say."""
    channel, author = at(body, "event", "channel"), at(body, "event", "user")
    if channel is None or author is None:
        return None
    here, org = at(body, "team_id"), at(body, "enterprise_id")
    place = Place(
        platform=PLATFORM, tenant=home.tenant or org or here, channel=channel, thread=at(body, "event", "thread_ts")
    )
    return place, Actor(platform=PLATFORM, id=author, tenant=tenant_of(None, here, org, home))


def _moment(ts: str) -> datetime:
    """When a message was written; now, where its ts does not tell."""
    if re.fullmatch(r"\d{1,10}(\.\d{1,6})?", ts):
        return datetime.fromtimestamp(float(ts), UTC)
    return utc_now()


_ENTITY = re.compile(r"<([^<>]*)>")


def text_of(raw: str, bot_user: str) -> tuple[str, tuple[str, ...]]:
    """What a person wrote, as they see it: no mention of the bot, no codes."""
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
