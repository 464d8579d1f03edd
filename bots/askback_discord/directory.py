"""Looks up Discord channels, people and roles by name over REST, which needs no privileged intent."""

from __future__ import annotations

__all__ = ["DiscordDirectory"]

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import quote

from askback.domain.identity import Actor, Place
from askback.errors import OperatorError
from askback.ports.directory import (
    ANYONE,
    SHOWN,
    Found,
    Named,
    UnknownName,
    build_ambiguous_name_error,
    build_unknown_name_error,
    join_names,
    normalize_name,
)
from askback_discord import id_patterns
from askback_discord.api_calls import INVALID, NO_CHANNEL, Body, DiscordApi, DiscordRejection, Json
from askback_discord.id_patterns import PLATFORM

GUILDS = 200
"""Servers per page."""
MEMBERS = 100
TEXT: Final = frozenset({0, 5})
"""Types of channels in which a card can be posted: text and announcement channels."""
THREADS: Final = frozenset({10, 11, 12})
DIRECT: Final = 1
_ID: Final = re.compile(id_patterns.SNOWFLAKE)
_CHANNEL: Final = re.compile(rf"(?:<#)?({id_patterns.SNOWFLAKE})>?")
_LINK: Final = re.compile(
    rf"<?https://(?:\w+\.)?discord(?:app)?\.com/channels/(?:@me|{id_patterns.SNOWFLAKE})/({id_patterns.SNOWFLAKE})"
    rf"(?:/({id_patterns.SNOWFLAKE}))?>?"
)
"""The link of a channel, a thread or a message."""
_PERSON: Final = re.compile(rf"<?@!?({id_patterns.SNOWFLAKE})>?")
_ROLE: Final = re.compile(rf"<?@&({id_patterns.SNOWFLAKE})>?")
EVERYBODY: Final = frozenset({"everyone", "here"})
_NO_ROLES = (
    "Discord does not send roles in direct messages, so the bot cannot ask {name} there: ask in a channel of the "
    "server, or name people."
)
_NO_TEXTS = "The bot cannot ask in #{name}, because it is not a text channel. Give a text channel, or a thread's id."
_COPY_CHANNEL = (
    "No server of the bot has that channel: copy the id again (“Copy Channel ID”), or add the bot to the channel's "
    "server with the address that askback discord --invite prints."
)
_COPY_ROLE = "No server of the bot has that role: copy the id again (“Copy Role ID”)."
_COPY_PERSON = (
    "Nobody on a server of the bot has that id: copy it again (“Copy User ID”), or invite the person to the server."
)


@dataclass(frozen=True, slots=True)
class _Guild:
    id: str
    name: str


class DiscordDirectory:
    """The names that the bot's token can look up. See `Directory`."""

    def __init__(self, api: DiscordApi) -> None:
        self._api = api

    async def find_place(self, name: str) -> Found:
        if by_id := _CHANNEL.fullmatch(name):
            return await self._find_channel(by_id[1])
        if link := _LINK.fullmatch(name):
            return await self._find_linked(link[1], link[2])
        guilds = await self._list_guilds()
        guild, slash, rest = name.rpartition("/")
        if slash:
            wanted = normalize_name(guild)
            within = [one for one in guilds if wanted in {one.id, normalize_name(one.name)}]
            if not within:
                raise build_unknown_name_error(
                    "server", guild, (one.name for one in guilds), _advise(guilds, "name one of them")
                )
            guilds, name = within, rest
        if name.startswith("@") or _PERSON.fullmatch(name):
            return await self._find_direct_message(name, guilds)
        lists = await asyncio.gather(*(self._list_channels(guild) for guild in guilds))
        known = [(guild, one) for guild, channels in zip(guilds, lists, strict=True) for one in channels]
        called = [
            (guild, one) for guild, one in known if normalize_name(_read_text(one, "name")) == normalize_name(name)
        ]
        found = [(guild, one) for guild, one in called if one.get("type") in TEXT]
        if called and not found:
            raise UnknownName(_NO_TEXTS.format(name=_read_text(called[0][1], "name")))
        if not found:
            others = (f"#{_read_text(one, 'name')}" for _, one in known if one.get("type") in TEXT)
            raise build_unknown_name_error(
                "channel", f"#{name.lstrip('#')}", others, _advise(guilds, "check the name there")
            )
        if len(found) > 1:
            if len({normalize_name(guild.name) for guild, _ in found}) == len(found):
                raise build_ambiguous_name_error(
                    "channel", name, (f"{guild.name}/#{_read_text(one, 'name')}" for guild, one in found)
                )
            raise build_ambiguous_name_error("channel", name, (_read_text(one, "id") for _, one in found))
        guild, one = found[0]
        place = Place(platform=PLATFORM, tenant=guild.id, channel=_read_text(one, "id"))
        return Found(place=place, name=f"#{_read_text(one, 'name')}")

    async def find_addressee(self, name: str, at: Place) -> Named:
        role, person = _ROLE.fullmatch(name), _PERSON.fullmatch(name)
        guilds = [_Guild(at.tenant, "")] if at.tenant is not None else await self._list_guilds()
        if person is None:
            roles = [one for guild in guilds for one in await self._list_roles(guild)]
            wanted = role[1] if role else name
            found = [one for one in roles if wanted == _read_text(one, "id") or (not role and _is_called(one, name))]
            if len(found) > 1 and at.tenant is not None:
                raise build_ambiguous_name_error("role", name, (_read_text(one, "id") for one in found))
            if found and at.tenant is None:
                raise UnknownName(_NO_ROLES.format(name=name))
            if found:
                return await self._to_named_role(guilds[0], found[0])
            if role:
                raise build_unknown_name_error("role", name, (), _COPY_ROLE)
            if normalize_name(name) in EVERYBODY:
                raise build_unknown_name_error(
                    "person or role", name, (), f"To let everybody answer who sees the question, use {ANYONE}."
                )
            return await self._find_person(name, guilds, roles)
        return await self._find_person(person[1], guilds)

    # Channels

    async def _list_guilds(self) -> list[_Guild]:
        found: list[_Guild] = []
        while True:
            after = f"&after={found[-1].id}" if found else ""
            page = await self._api.list_objects(f"/users/@me/guilds?limit={GUILDS}{after}")
            found += [_Guild(_read_text(one, "id"), _read_text(one, "name")) for one in page]
            if len(page) < GUILDS:
                return found

    async def _list_channels(self, guild: _Guild) -> list[Json]:
        return await self._api.list_objects("/guilds/{guild_id}/channels", guild_id=guild.id)

    async def _find_channel(self, channel: str) -> Found:
        try:
            one = await self._api.call("GET", "/channels/{channel_id}", channel_id=channel)
        except DiscordRejection as rejection:
            if rejection.code in {NO_CHANNEL, INVALID}:
                raise build_unknown_name_error("channel", channel, (), _COPY_CHANNEL) from None
            raise
        kind, name = one.get("type"), _read_text(one, "name")
        if kind == DIRECT:
            others = _to_objects(cast("list[object]", one.get("recipients") or []))
            if not others:
                raise OperatorError(f"Discord does not say whose direct message {channel} is: give the person instead.")
            other = _to_named({"user": others[0]})
            return Found(place=Place(platform=PLATFORM, channel=channel), name=other.name, person=other.person)
        guild = _read_text(one, "guild_id")
        if kind in THREADS:
            place = Place(platform=PLATFORM, tenant=guild, channel=_read_text(one, "parent_id"), thread=channel)
        elif kind in TEXT:
            place = Place(platform=PLATFORM, tenant=guild, channel=channel)
        else:
            raise UnknownName(_NO_TEXTS.format(name=name))
        return Found(place=place, name=f"#{name}")

    async def _find_linked(self, channel: str, message: str | None) -> Found:
        """Return a channel or a thread; with a message of a channel, its thread, which has the same id."""
        found = await self._find_channel(channel)
        if message is None or found.place.thread is not None or found.person is not None:
            return found
        try:
            return await self._find_channel(message)
        except UnknownName:
            raise UnknownName(
                f"The message of that link in {found.name} has no thread: start one there, or give the channel."
            ) from None

    async def _find_direct_message(self, name: str, guilds: Sequence[_Guild]) -> Found:
        by_id = _PERSON.fullmatch(name)
        named = await self._find_person(by_id[1] if by_id else name, guilds)
        if named.person is None:
            raise build_unknown_name_error("person", name, (), _COPY_PERSON)
        body: Body = {"recipient_id": named.person.id}
        opened = await self._api.call("POST", "/users/@me/channels", body)
        place = Place(platform=PLATFORM, channel=_read_text(opened, "id"))
        return Found(place=place, name=named.name, person=named.person)

    # People and roles

    async def _list_roles(self, guild: _Guild) -> list[Json]:
        """Return the roles that people have, without @everyone and the roles of bots."""
        listed = await self._api.list_objects("/guilds/{guild_id}/roles", guild_id=guild.id)
        return [one for one in listed if not _is_of_a_bot(one) and _read_text(one, "id") != guild.id]

    async def _to_named_role(self, guild: _Guild, role: Json) -> Named:
        identity = _read_text(role, "id")
        return Named(
            name=f"@{_read_text(role, 'name')}", group=identity, count=await self._count_members(guild, identity)
        )

    async def _count_members(self, guild: _Guild, role: str) -> int | None:
        try:
            counts = await self._api.call("GET", "/guilds/{guild_id}/roles/member-counts", guild_id=guild.id)
        except DiscordRejection:
            return None  # the number only improves the wording; it gives no one access
        count = counts.get(role)
        return count if isinstance(count, int) else None

    async def _find_person(self, name: str, guilds: Sequence[_Guild], roles: Sequence[Json] = ()) -> Named:
        if _ID.fullmatch(name):
            return await self._find_member(name, guilds)
        found = {_get_id(one): one for guild in guilds for one in await self._search(guild, name.lstrip("@"))}
        matching = [
            one
            for one in found.values()
            if _is_human(one) and normalize_name(name) in map(normalize_name, _list_names(one))
        ]
        # A user name belongs to one person, but anyone can choose any display name.
        matching = [one for one in matching if normalize_name(_list_names(one)[0]) == normalize_name(name)] or matching
        if len(matching) > 1:
            raise build_ambiguous_name_error(
                "person called", name, (f"{_get_id(one)} (@{_list_names(one)[0]})" for one in matching)
            )
        if matching:
            return _to_named(matching[0])
        near = [
            one for guild in guilds for one in await self._search(guild, normalize_name(name)[:1]) if _is_human(one)
        ]
        known = [*(f"@{_read_text(one, 'name')}" for one in roles), *(f"@{_list_names(one)[0]}" for one in near)]
        advice = "The bot looks among the people and roles of the server: check the name there, or give the id."
        raise build_unknown_name_error("person or role", name, known, advice)

    async def _find_member(self, user: str, guilds: Sequence[_Guild]) -> Named:
        for guild in guilds:
            try:
                path = "/guilds/{guild_id}/members/{user_id}"
                found = await self._api.call("GET", path, guild_id=guild.id, user_id=user)
            except DiscordRejection:
                continue  # not on this server
            if _is_human(found):
                return _to_named(found)
        raise build_unknown_name_error("person or role", user, (), _COPY_PERSON)

    async def _search(self, guild: _Guild, begins: str) -> list[Json]:
        if not begins:
            return []
        query = f"query={quote(begins[:MEMBERS], safe='')}&limit={MEMBERS}"
        return await self._api.list_objects(f"/guilds/{{guild_id}}/members/search?{query}", guild_id=guild.id)


def _advise(guilds: Sequence[_Guild], step: str) -> str:
    """Return the servers on which the bot looks, and the next step."""
    add = "add the bot to {} with the address that askback discord --invite prints."
    if not guilds:
        return f"The bot is on no server: {add.format('yours')}"
    servers = "server" if len(guilds) == 1 else "servers"
    names = join_names([guild.name for guild in guilds], "and")
    more = f" and {len(guilds) - SHOWN} more" if len(guilds) > SHOWN else ""
    return f"The bot looks on the {servers} {names}{more}: {step}, or {add.format('another one')}"


def _to_objects(entries: list[object]) -> list[Json]:
    return [cast("Json", one) for one in entries if isinstance(one, dict)]


def _read_text(one: Json, name: str) -> str:
    value = one.get(name)
    return value if isinstance(value, str) else ""


def _get_user(member: Json) -> Json:
    user = member.get("user")
    return cast("Json", user) if isinstance(user, dict) else {}


def _get_id(member: Json) -> str:
    return _read_text(_get_user(member), "id")


def _is_human(member: Json) -> bool:
    return _get_user(member).get("bot") is not True and _get_id(member) != ""


def _list_names(member: Json) -> list[str]:
    """Return the user name first, then the display names."""
    user = _get_user(member)
    others = (_read_text(user, "global_name"), _read_text(member, "nick"))
    return [_read_text(user, "username"), *(name for name in others if name)]


def _to_named(member: Json) -> Named:
    name = _list_names(member)[0]
    return Named(name=f"@{name}", person=Actor(platform=PLATFORM, id=_get_id(member), name=name))


def _is_of_a_bot(role: Json) -> bool:
    """Return True if the role belongs to a bot. Other managed roles belong to people, such as boosters."""
    tags = role.get("tags")
    return isinstance(tags, dict) and "bot_id" in tags


def _is_called(role: Json, name: str) -> bool:
    return normalize_name(_read_text(role, "name")) == normalize_name(name)
