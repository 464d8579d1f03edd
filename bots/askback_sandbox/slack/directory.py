"""The methods that list and look up channels and people, page by page."""

import base64
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from askback_sandbox.json_values import JsonObject, json_list

from . import limits
from .arguments import Arguments
from .checks import SlackRefusalError
from .places import known_channel
from .values import Channel, Person
from .workspace import Workspace

SCOPES = {
    "conversations.info": ("channels:read", "groups:read", "im:read", "mpim:read"),
    "conversations.open": ("im:write", "mpim:write"),
    "files.info": ("files:read",),
    "users.info": ("users:read",),
    "users.list": ("users:read",),
    "usergroups.list": ("usergroups:read",),
    "usergroups.users.list": ("usergroups:read",),
}
"""The scopes of each method, from Slack's documentation: the bot needs one of them.

Methods without an entry are not checked.
"""
_OF_TYPE = {"public_channel": "channels:read", "private_channel": "groups:read", "im": "im:read", "mpim": "mpim:read"}


def needed(method: str, arguments: Arguments, held: tuple[str, ...]) -> str | None:
    """Return a scope that the call lacks; None if the call is allowed."""
    if method == "conversations.list":
        return next((_OF_TYPE[kind] for kind in _types(arguments) if _OF_TYPE[kind] not in held), None)
    asked = SCOPES.get(method)
    return None if asked is None or set(asked) & set(held) else asked[0]


def _types(arguments: Arguments) -> list[str]:
    kinds = [kind.strip() for kind in (arguments.text("types") or "public_channel").split(",")]
    if any(kind not in _OF_TYPE for kind in kinds):
        raise SlackRefusalError("invalid_types")
    return kinds


class DirectoryMethods:
    """The methods with which a bot looks up names."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def person_object(self, user_id: str, person: Person | None) -> JsonObject:
        """Return a user object; without a person, it is the bot's."""
        name = person.name if person else self._workspace.bot.name
        real_name = person.real_name if person else self._workspace.bot.name
        zone = person.tz if person else "Etc/UTC"
        return {
            "id": user_id,
            "team_id": (person.team if person else None) or self._workspace.team.id,
            "name": name,
            "real_name": real_name,
            "deleted": bool(person and person.deleted),
            "is_bot": person is None,
            "tz": zone,
            "tz_offset": int((datetime.now(ZoneInfo(zone)).utcoffset() or timedelta()).total_seconds()),
            "profile": {"real_name": real_name, "display_name": name},
        }

    def channel_object(self, channel: Channel) -> JsonObject:
        """Return a conversation object."""
        if channel.kind == "dm":
            return {"id": channel.id, "is_im": True, "user": channel.person, "is_archived": channel.archived}
        return {
            "id": channel.id,
            "name": channel.name,
            "is_channel": not channel.private,
            "is_group": channel.private,
            "is_im": False,
            "is_private": channel.private,
            "is_archived": channel.archived,
            "is_member": channel.bot_in,
        }

    def channels(self, arguments: Arguments) -> JsonObject:
        """conversations.list: private channels only if the bot is a member"""
        kinds = _types(arguments)
        found = [
            channel
            for channel in self._workspace.channels.values()
            if _type(channel) in kinds
            and (channel.bot_in or not channel.private)
            and not (channel.archived and arguments.flag("exclude_archived"))
        ]
        return self._page("channels", [self.channel_object(channel) for channel in found], arguments)

    def people(self, arguments: Arguments) -> JsonObject:
        """users.list: includes people who have left, and the bot"""
        bot = self._workspace.bot.id
        found = [self.person_object(person.id, person) for person in self._workspace.people.values()]
        return self._page("members", [*found, self.person_object(bot, None)], arguments)

    def conversation_info(self, arguments: Arguments) -> JsonObject:
        """conversations.info"""
        return {"channel": self.channel_object(known_channel(self._workspace, arguments))}

    def conversation_open(self, arguments: Arguments) -> JsonObject:
        """conversations.open"""
        if "channel" in arguments:
            return {"channel": self.channel_object(known_channel(self._workspace, arguments))}
        user_id = arguments.need("users")
        if user_id == self._workspace.bot.id:
            raise SlackRefusalError("cannot_dm_bot")
        channel = self._workspace.dm(user_id)
        if channel is None:
            raise SlackRefusalError("user_not_found")
        shown: JsonObject = {"id": channel.id}
        if arguments.flag("return_im"):
            shown = self.channel_object(channel)
        return {"channel": shown}

    def _page(self, name: str, entries: list[JsonObject], arguments: Arguments) -> JsonObject:
        asked = arguments.text("limit")
        size = int(asked) if asked and asked.isascii() and asked.isdigit() else limits.LIST_PAGE
        if not 0 < size <= limits.LARGEST_PAGE:
            raise SlackRefusalError("invalid_limit")
        size = min(size, self._workspace.largest_page)
        cursor, start = arguments.text("cursor"), 0
        if cursor:
            try:
                start = int(base64.b64decode(cursor, validate=True))
            except ValueError:
                raise SlackRefusalError("invalid_cursor") from None
        end = start + size
        following = base64.b64encode(str(end).encode()).decode() if end < len(entries) else ""
        return {name: json_list(entries[start:end]), "response_metadata": {"next_cursor": following}}


def _type(channel: Channel) -> str:
    if channel.kind == "dm":
        return "im"
    return "private_channel" if channel.private else "public_channel"
