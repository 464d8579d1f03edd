"""What a bot reads over REST: itself, its application, the gateway, the guild, members and roles."""

from .discord_guild import Guild
from .discord_guild_objects import application_object, guild_object, me_object
from .discord_objects import channel_object, member_object, role_object, sees, user_object
from .discord_refusals import DiscordRefusalError
from .discord_replies import Reply, Request
from .json_values import json_list


class Reading:
    """The operations that change nothing."""

    def __init__(self, guild: Guild) -> None:
        self._guild = guild
        self._gateway_url = ""

    def serve_at(self, gateway_url: str) -> None:
        """Where the gateway is reached."""
        self._gateway_url = gateway_url

    def me(self, request: Request) -> Reply:
        """get_my_user"""
        del request
        return Reply(me_object(self._guild))

    def user(self, request: Request) -> Reply:
        """get_user"""
        member = self._guild.member(request.parts["user_id"])
        if member is None:
            raise DiscordRefusalError(10013)
        return Reply(user_object(member))

    def guilds(self, request: Request) -> Reply:
        """list_my_guilds"""
        del request
        held = self._guild.permissions(self._guild.bot)
        name = {"id": self._guild.id, "name": self._guild.name}
        return Reply([{**name, "icon": None, "owner": False, "permissions": str(int(held)), "features": []}])

    def application(self, request: Request) -> Reply:
        """get_my_application, get_my_oauth2_application"""
        del request
        return Reply(application_object(self._guild))

    def gateway(self, request: Request) -> Reply:
        """get_gateway"""
        del request
        return Reply({"url": self._gateway_url})

    def bot_gateway(self, request: Request) -> Reply:
        """get_bot_gateway"""
        del request
        limit = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}
        return Reply({"url": self._gateway_url, "shards": 1, "session_start_limit": {**limit}})

    def guild(self, request: Request) -> Reply:
        """get_guild"""
        self._check_guild(request)
        return Reply(guild_object(self._guild))

    def channels(self, request: Request) -> Reply:
        """list_guild_channels"""
        self._check_guild(request)
        places = [place for place in self._guild.places.values() if place.kind == "channel"]
        return Reply(json_list([channel_object(self._guild, place) for place in places]))

    def threads(self, request: Request) -> Reply:
        """get_active_guild_threads"""
        self._check_guild(request)
        places = [p for p in self._guild.places.values() if p.kind == "thread" and not p.archived]
        shown = [channel_object(self._guild, place) for place in places if sees(self._guild, place)]
        return Reply({"threads": json_list(shown), "members": [], "has_more": False})

    def member(self, request: Request) -> Reply:
        """get_guild_member"""
        self._check_guild(request)
        member = self._guild.member(request.parts["user_id"])
        if member is None:
            raise DiscordRefusalError(10007)
        return Reply(member_object(member))

    def roles(self, request: Request) -> Reply:
        """list_guild_roles"""
        self._check_guild(request)
        return Reply(json_list([role_object(self._guild, role) for role in self._guild.roles.values()]))

    def _check_guild(self, request: Request) -> None:
        if request.parts["guild_id"] != self._guild.id:
            raise DiscordRefusalError(10004)
