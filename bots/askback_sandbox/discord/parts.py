"""The Discord part of the services, put together."""

from pathlib import Path

from aiohttp import web

from .clicks import DiscordClicks
from .files import DiscordFiles
from .gateway import Gateway
from .guild import Guild
from .openapi import OpenApi
from .page_api import DiscordPageApi
from .people import DiscordPeople
from .posting import Posting
from .rest import ROOT, DiscordRest

GATEWAY = "/discord/gateway"


class Discord:
    """One guild with its REST API, its gateway and the people's routes."""

    def __init__(self, guild: Guild, *, openapi: Path | None = None, gateway: Gateway | None = None) -> None:
        """Create the parts.

        `openapi` is Discord's OpenAPI document; None means that only the rules here apply.
        """
        self.guild = guild
        self.gateway = gateway or Gateway(guild)
        self.posting = Posting(guild, self.gateway)
        self.people = DiscordPeople(guild, self.posting)
        self.clicks = DiscordClicks(guild, self.gateway)
        self.openapi = OpenApi(openapi) if openapi else None
        self._rest = DiscordRest(guild, self.gateway, self.posting, self.openapi)
        self._page_api = DiscordPageApi(guild, self.gateway, self.posting, self.people, self.clicks)

    @staticmethod
    def api_url(base: str) -> str:
        """Return the local replacement for https://discord.com/api/v10."""
        return base + ROOT

    @staticmethod
    def gateway_url(base: str) -> str:
        """Return the local replacement for wss://gateway.discord.gg."""
        return base.replace("http", "ws", 1) + GATEWAY

    def serve_at(self, base: str) -> None:
        """Set the address of the services: http://host:port."""
        url = self.gateway_url(base)
        self.gateway.serve_at(url)
        self.guild.files_url = base
        self._rest.reading.serve_at(url)

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to mount."""
        gateway = [web.get(GATEWAY, self.gateway.handle), web.get(GATEWAY + "/", self.gateway.handle)]
        return [*self._rest.routes(), *gateway, *self._page_api.routes(), *DiscordFiles(self.guild).routes()]

    async def close(self) -> None:
        """Wake everyone who waits, and end every connection."""
        self.guild.close()
        await self.clicks.close()
        await self.gateway.close()
