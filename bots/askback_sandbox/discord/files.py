"""The contents of files in messages. Their addresses are signed, need no token, and expire."""

from aiohttp import web

from .guild import Guild


class DiscordFiles:
    """The route under /attachments/."""

    def __init__(self, guild: Guild) -> None:
        self._guild = guild

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to mount."""
        return [web.get("/attachments/{channel}/{file}/{name}", self._send)]

    async def _send(self, request: web.Request) -> web.StreamResponse:
        guild, faults = self._guild, self._guild.faults
        if fault := faults.take("delay", "attachment"):
            await guild.clock.sleep(fault.seconds)
        if fault := faults.take("error", "attachment"):
            return web.Response(status=fault.status)
        if fault := faults.take("foreign", "attachment"):
            return fault.to_response()
        content = guild.files.get(request.match_info["file"])
        if content is None or request.query.get("hm") != str(guild.files_signature):
            return web.Response(status=404, text="This content is no longer available.")
        return web.Response(body=content, content_type="application/octet-stream")
