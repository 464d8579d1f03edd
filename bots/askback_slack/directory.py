"""Looks up Slack channels, people and user groups by the names that operators write on a command line."""

from __future__ import annotations

__all__ = ["SlackDirectory"]

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final
from urllib.parse import parse_qs

from askback.domain.identity import Actor, Place
from askback.errors import OperatorError
from askback.ports.directory import (
    Found,
    Named,
    UnknownName,
    build_ambiguous_name_error,
    build_unknown_name_error,
    normalize_name,
)
from askback.ports.platform import RetryableError
from askback.text.terminal import to_terminal_text
from askback_slack import id_patterns
from askback_slack.api_calls import SlackApi, SlackRejection
from askback_slack.id_patterns import PLATFORM
from askback_slack.installation import Installation, find_tenant
from askback_slack.json_access import get_list, get_text, get_value

PAGE = 200
"""Entries per request. Slack recommends no more."""
PAGES = 500
PATIENCE = 3
"""Pauses after a rate limit before the error is raised. A large workspace has many pages."""
LONGEST_WAIT = 60.0
_CHANNEL: Final = re.compile(rf"(?:<#)?({id_patterns.CHANNEL})(?:\|[^>]*)?>?")
_THREAD: Final = re.compile(rf"({id_patterns.CHANNEL}):(\d{{10}}\.\d{{6}})")
"""A channel and the timestamp of a message, whose thread is meant."""
_LINK: Final = re.compile(rf"<?https://[\w.-]+/archives/({id_patterns.CHANNEL})/p(\d{{10}})(\d{{6}})(?:\?([^>|]*))?>?")
"""A message's link. In the link of a reply, the query has the timestamp of the thread."""
_DIRECT: Final = re.compile(id_patterns.DIRECT)
_TIMESTAMP: Final = re.compile(r"\d{10}\.\d{6}")
_PERSON: Final = re.compile(rf"(?:<@)?({id_patterns.PERSON})(?:\|[^>]*)?>?")
_GROUP: Final = re.compile(rf"(?:<!subteam\^)?({id_patterns.GROUP})(?:\|[^>]*)?>?")
_INVITE = "The bot cannot see archived channels, or private ones that it is not in: invite it there."
_CHECK_NAME = "The bot looks among the people of this workspace: check the name in Slack, or give the person's id."
_CHECK_NAMES = (
    "The bot looks among the people and the enabled user groups of this workspace: check the name in Slack, or give "
    "the id."
)
_COPY_PERSON = "Nobody in this workspace has that id: copy it again from the person's profile (“Copy member ID”)."
_COPY_GROUP = "No user group of this workspace has that id: give the group's name, such as @release."
_NAME_PERSON = "The bot has no direct message with that id: give the person, such as @ada."
_NO_PRIVATE = (
    "The bot cannot see private channels, because the Slack app lacks the scope groups:read: reinstall it from "
    "manifests/slack.json."
)
_UNKNOWN = frozenset({"channel_not_found", "user_not_found", "users_not_found", "no_such_subteam"})


class SlackDirectory:
    """The names that the bot's token can look up. See `Directory`."""

    def __init__(self, api: SlackApi, home: Installation) -> None:
        self._api = api
        self._home = home

    async def find_place(self, name: str) -> Found:
        if by_id := _CHANNEL.fullmatch(name):
            return await self._find_channel(by_id[1])
        if by_thread := _THREAD.fullmatch(name):
            return await self._find_thread(by_thread[1], by_thread[2])
        if link := _LINK.fullmatch(name):
            of_reply = parse_qs(link[4] or "").get("thread_ts", [])
            return await self._find_thread(link[1], next(iter(of_reply), f"{link[2]}.{link[3]}"))
        if _DIRECT.fullmatch(name):
            return await self._find_by_id(name)
        if name.startswith("@") or _PERSON.fullmatch(name):
            return await self._find_direct_message(name)
        known, advice = await self._list_channels()
        found = [one for one in known if normalize_name(get_text(one, "name") or "") == normalize_name(name)]
        if not found:
            raise build_unknown_name_error(
                "channel", f"#{name.lstrip('#')}", (f"#{get_text(one, 'name')}" for one in known), advice
            )
        if len(found) > 1:
            raise build_ambiguous_name_error("channel", name, (get_text(one, "id") or "" for one in found))
        return Found(place=self._to_place(get_text(found[0], "id") or ""), name=f"#{get_text(found[0], 'name')}")

    async def find_addressee(self, name: str, at: Place) -> Named:
        del at  # anyone in the workspace can be asked anywhere in it
        if by_id := _GROUP.fullmatch(name):
            return await self._find_group(by_id[1], by_id[1])
        if _PERSON.fullmatch(name):
            return await self._find_person(name)
        groups, disabled = await self._list_groups()
        found = [handle for handle in groups if normalize_name(handle) == normalize_name(name)]
        if found:
            return await self._find_group(groups[found[0]], f"@{found[0]}")
        if normalize_name(name) in disabled:
            # The name means the group. A person may have the same name by chance or have taken it on purpose.
            raise UnknownName(
                f"The user group {to_terminal_text(name)!r} is disabled: enable it, or give people's ids."
            )
        return await self._find_person(name, others=groups)

    # Channels

    async def _find_channel(self, channel: str) -> Found:
        try:
            answer = await self._read("conversations.info", channel=channel)
        except SlackRejection as rejection:
            if rejection.code == "missing_scope":
                return Found(
                    place=self._to_place(channel), name=channel
                )  # the call only confirms that the channel exists
            if rejection.code in _UNKNOWN:
                raise build_unknown_name_error("channel", channel, (), _INVITE) from None
            raise
        if get_value(answer, "channel", "is_archived") is True:
            raise UnknownName(f"The channel {channel} is archived: give another one.")
        name = get_text(answer, "channel", "name")
        return Found(place=self._to_place(channel), name=channel if name is None else f"#{name}")

    async def _find_thread(self, channel: str, thread: str) -> Found:
        if _TIMESTAMP.fullmatch(thread) is None:
            raise UnknownName(
                f"{to_terminal_text(thread)!r} is no timestamp of a thread: copy the message's link again."
            )
        found = await self._find_channel(channel)
        return found.evolve(place=found.place.evolve(thread=thread))

    async def _list_channels(self) -> tuple[list[object], str]:
        """Return the channels that have names, and a reason why others may be missing."""
        try:
            return await self._list_conversations("public_channel,private_channel"), _INVITE
        except SlackRejection as rejection:
            if rejection.code != "missing_scope":
                raise
            # Without the scope for private channels, Slack rejects both kinds.
            return await self._list_conversations("public_channel"), _NO_PRIVATE

    async def _list_conversations(self, types: str) -> list[object]:
        every = self._read_pages("conversations.list", "channels", types=types, exclude_archived="true")
        return [one async for one in every if get_text(one, "name") is not None]

    async def _find_direct_message(self, name: str) -> Found:
        person = (await self._find_person(name)).person
        if person is None:
            raise build_unknown_name_error("person", name, (), _CHECK_NAME)
        try:
            answer = await self._api.write("conversations.open", users=person.id)
        except SlackRejection as rejection:
            if rejection.code in _UNKNOWN:
                raise build_unknown_name_error("person", name, (), _COPY_PERSON) from None
            raise
        channel = get_text(answer, "channel", "id")
        if channel is None:
            raise OperatorError("Slack's response has no channel for that direct message. Try again.")
        return Found(place=self._to_place(channel), name=f"@{person.name}", person=person)

    async def _find_by_id(self, channel: str) -> Found:
        """Look up a direct message by its channel id."""
        try:
            answer = await self._api.write("conversations.open", channel=channel, return_im=True)
        except SlackRejection as rejection:
            if rejection.code in _UNKNOWN:
                raise build_unknown_name_error("direct message", channel, (), _NAME_PERSON) from None
            raise
        user = get_text(answer, "channel", "user")
        if user is None:
            raise OperatorError(f"Slack does not say whose direct message {channel} is: give the person instead.")
        person = await self._find_person(user)
        return Found(place=self._to_place(channel), name=person.name, person=person.person)

    def _to_place(self, channel: str) -> Place:
        return Place(platform=PLATFORM, tenant=self._home.tenant, channel=channel)

    # People and groups

    async def _find_person(self, name: str, others: Mapping[str, str] | None = None) -> Named:
        if by_id := _PERSON.fullmatch(name):
            try:
                user = get_value(await self._read("users.info", user=by_id[1]), "user")
            except SlackRejection as rejection:
                if rejection.code in _UNKNOWN:
                    raise build_unknown_name_error("person", name, (), _COPY_PERSON) from None
                raise
            return self._to_named(user)
        people = [one async for one in self._read_pages("users.list", "members") if _can_decide(one)]
        found = [
            one for one in people if normalize_name(name) in {normalize_name(called) for called in _list_names(one)}
        ]
        if len(found) > 1:
            raise build_ambiguous_name_error(
                "person called", name, (f"{get_text(one, 'id')} ({_get_label(one)})" for one in found)
            )
        if not found:
            what, advice = ("person", _CHECK_NAME) if others is None else ("person or user group", _CHECK_NAMES)
            raise build_unknown_name_error(
                what, name, (*(f"@{other}" for other in others or ()), *map(_get_label, people)), advice
            )
        return self._to_named(found[0])

    def _to_named(self, user: object) -> Named:
        if not _can_decide(user):
            raise UnknownName(
                f"{_get_label(user)} cannot decide: this is a bot, or a person who has left the workspace."
            )
        tenant = find_tenant(
            get_text(user, "team_id"), self._home.team, get_text(user, "enterprise_user", "enterprise_id"), self._home
        )
        identity, name = get_text(user, "id"), next(iter(_list_names(user)), "")
        if identity is None:
            raise OperatorError("Slack's response does not say which person that is. Try again.")
        return Named(
            name=f"@{name or identity}", person=Actor(platform=PLATFORM, id=identity, tenant=tenant, name=name)
        )

    async def _list_groups(self) -> tuple[dict[str, str], frozenset[str]]:
        """Return the ids of the enabled user groups by handle, and the plain names of the disabled ones."""
        answer = await self._read("usergroups.list", include_disabled="true")
        every = [one for one in get_list(answer, "usergroups") if get_text(one, "id")]
        disabled = [one for one in every if get_value(one, "date_delete")]
        used = {get_text(one, "handle") or "": get_text(one, "id") or "" for one in every if one not in disabled}
        return used, frozenset(normalize_name(get_text(one, "handle") or "") for one in disabled)

    async def _find_group(self, group: str, name: str) -> Named:
        try:
            answer = await self._read("usergroups.users.list", usergroup=group)
        except SlackRejection as rejection:
            if rejection.code in _UNKNOWN:
                raise build_unknown_name_error("user group", name, (), _COPY_GROUP) from None
            raise
        members = tuple(one for one in get_list(answer, "users") if isinstance(one, str))
        return Named(name=name, group=group, members=members, count=len(members))

    # Calls

    async def _read_pages(self, method: str, of: str, **arguments: str) -> AsyncIterator[object]:
        cursor: str | None = None
        for _ in range(PAGES):
            answer = await self._read(method, limit=str(PAGE), cursor=cursor, **arguments)
            for one in get_list(answer, of):
                yield one
            cursor = get_text(answer, "response_metadata", "next_cursor")
            if cursor is None:
                return

    async def _read(self, method: str, **arguments: str | None) -> Mapping[str, object]:
        for _ in range(PATIENCE):
            try:
                return await self._api.read(method, **arguments)
            except RetryableError as later:
                if later.seconds is None:
                    raise
                await asyncio.sleep(min(later.seconds, LONGEST_WAIT))
        return await self._api.read(method, **arguments)


def _can_decide(user: object) -> bool:
    return (
        get_value(user, "deleted") is not True
        and get_value(user, "is_bot") is not True
        and get_text(user, "id") != id_patterns.SLACKBOT
    )


def _list_names(user: object) -> Sequence[str]:
    names = (get_text(user, "name"), get_text(user, "profile", "display_name"), get_text(user, "profile", "real_name"))
    return [name for name in names if name is not None]


def _get_label(user: object) -> str:
    return f"@{next(iter(_list_names(user)), None) or get_text(user, 'id') or '?'}"
