"""The read operations over REST: the bot, its application, the gateway, the guild, members and roles."""

from askback_sandbox.json_values import JsonObject, json_list

from .guild import Guild
from .guild_objects import application_object, guild_object, me_object
from .objects import channel_object, member_object, role_object, sees, user_object
from .refusals import DiscordRefusalError
from .replies import Reply, Request

LARGEST_SEARCH = 1000


class Reading:
    """The operations that change nothing."""

    def __init__(self, guild: Guild) -> None:
        self._guild = guild
        self._gateway_url = ""

    def serve_at(self, gateway_url: str) -> None:
        """Set the URL of the gateway."""
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
        name: JsonObject = {"id": self._guild.id, "name": self._guild.name}
        others: list[JsonObject] = [{"id": other.id, "name": other.name} for other in self._guild.neighbours]
        plain: JsonObject = {"icon": None, "owner": False, "permissions": str(int(held)), "features": []}
        return Reply([{**one, **plain} for one in (name, *others)])

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
        app = self._guild.app
        limit = {"total": 1000, "remaining": app.sessions_left, "reset_after": 14_400_000, "max_concurrency": 1}
        return Reply({"url": self._gateway_url, "shards": app.shards, "session_start_limit": {**limit}})

    def guild(self, request: Request) -> Reply:
        """get_guild"""
        self._check_guild(request)
        return Reply(guild_object(self._guild))

    def channels(self, request: Request) -> Reply:
        """list_guild_channels"""
        for other in self._guild.neighbours:
            if request.parts["guild_id"] == other.id:
                shown = [{**channel_object(self._guild, place), "guild_id": other.id} for place in other.channels]
                return Reply(json_list(shown))
        self._check_guild(request)
        places = [place for place in self._guild.places.values() if place.kind in ("channel", "forum")]
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

    def search(self, request: Request) -> Reply:
        """search_guild_members: members with a name that begins with the query"""
        self._check_guild(request)
        query, limit = request.query.get("query", "").casefold(), request.query.get("limit", "1")
        if not (query and limit.isdigit() and 1 <= int(limit) <= LARGEST_SEARCH):
            raise DiscordRefusalError(50035)
        found = [
            member
            for member in self._guild.people.values()
            if any(name.casefold().startswith(query) for name in (member.name, member.global_name))
        ]
        return Reply(json_list([member_object(member) for member in found[: int(limit)]]))

    def role_counts(self, request: Request) -> Reply:
        """guild_role_member_counts: without @everyone"""
        self._check_guild(request)
        people = self._guild.people.values()
        roles = [role for role in self._guild.roles if role != self._guild.id]
        return Reply({role: sum(role in person.roles for person in people) for role in roles})

    def roles(self, request: Request) -> Reply:
        """list_guild_roles"""
        self._check_guild(request)
        return Reply(json_list([role_object(self._guild, role) for role in self._guild.roles.values()]))

    def _check_guild(self, request: Request) -> None:
        if request.parts["guild_id"] != self._guild.id:
            raise DiscordRefusalError(10004)
