"""The frameworks' own time: `python -m tests.bench.empty slack|slack-http|discord [--documented]`.

A bot whose handler acks a click and does nothing. With `--documented` it is set up as in the framework's
documentation, otherwise with the same options as askback.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
from typing import Any, cast

import discord
import yarl
from aiohttp import web
from discord.gateway import DiscordWebSocket
from discord.http import Route
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.app.async_server import AsyncSlackAppServer
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient


def slack_app(*, documented: bool) -> AsyncApp:
    app = AsyncApp(
        client=AsyncWebClient(os.environ["SLACK_BOT_TOKEN"], base_url=os.environ["ASKBACK_SLACK_API_URL"]),
        signing_secret=os.environ.get("SLACK_SIGNING_SECRET"),
        process_before_response=not documented,
    )

    async def empty(ack: Any) -> None:
        await ack()

    cast("Any", app).action(re.compile(".*"))(empty)
    return app


async def slack(*, documented: bool) -> None:
    await AsyncSocketModeHandler(slack_app(documented=documented), os.environ["SLACK_APP_TOKEN"]).start_async()


async def slack_http(address: str, *, documented: bool) -> None:
    host, _, port = address.rpartition(":")
    app = slack_app(documented=documented)

    async def take(request: web.Request) -> web.Response:
        server.path = request.path  # the local app has more than one address
        return await server.handle_post_requests(request)

    server = AsyncSlackAppServer(int(port), "/slack/events", app, host)
    application = web.Application()
    application.add_routes([web.post("/slack/events", take), web.post("/slack/interactions", take)])
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, host, int(port)).start()
    await asyncio.Event().wait()


class SameOptions(discord.Client):
    """discord.py set up as in askback."""

    def __init__(self) -> None:
        super().__init__(
            intents=discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True),
            max_messages=None,
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
            allowed_mentions=discord.AllowedMentions.none(),
            guild_ready_timeout=0.5,
        )

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer()


class Colours(discord.ui.View):
    """A view that outlives restarts, as in the library's examples."""

    def __init__(self, custom_id: str) -> None:
        super().__init__(timeout=None)
        button = discord.ui.Button[discord.ui.View](label="Green", custom_id=custom_id)
        button.callback = self.pressed
        self.add_item(button)

    async def pressed(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer()


class Documented(discord.Client):
    """discord.py set up as in its examples."""

    def __init__(self, custom_id: str) -> None:
        super().__init__(intents=discord.Intents.default())
        self.custom_id = custom_id

    async def setup_hook(self) -> None:
        self.add_view(Colours(self.custom_id))


async def discord_bot(*, documented: bool) -> None:
    Route.BASE = os.environ["ASKBACK_DISCORD_API_URL"]
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(os.environ["ASKBACK_DISCORD_GATEWAY_URL"])
    client = Documented(os.environ["BENCH_CUSTOM_ID"]) if documented else SameOptions()
    async with client:
        await client.start(os.environ["DISCORD_TOKEN"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=["slack", "slack-http", "discord"])
    parser.add_argument("--documented", action="store_true")
    parser.add_argument("--http", default="")
    options = parser.parse_args()
    match options.name:
        case "slack":
            asyncio.run(slack(documented=options.documented))
        case "slack-http":
            asyncio.run(slack_http(options.http, documented=options.documented))
        case _:
            asyncio.run(discord_bot(documented=options.documented))


if __name__ == "__main__":
    main()
