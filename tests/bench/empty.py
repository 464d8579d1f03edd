"""The frameworks' own time: `python -m tests.bench.empty slack|slack-http|discord [--documented|--durable FILE]`.

A bot whose handler acks a click and does nothing. With `--documented` it is set up as in the framework's
documentation, otherwise with the same options as askback. With `--durable` its handler first commits one row to that
SQLite file, in the same thread and with a flush to the disk, and on Discord it draws the message again.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
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

Commit = Callable[[], None]


def nothing() -> None:
    """Commit nothing."""


def rows_in(file: Path) -> Commit:
    """Return a function that commits one row, as durably as askback does."""
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE clicks (id INTEGER PRIMARY KEY, answer TEXT NOT NULL)")

    def commit() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO clicks (answer) VALUES ('green')")
        connection.execute("COMMIT")

    return commit


def slack_app(commit: Commit, *, documented: bool) -> AsyncApp:
    app = AsyncApp(
        client=AsyncWebClient(os.environ["SLACK_BOT_TOKEN"], base_url=os.environ["ASKBACK_SLACK_API_URL"]),
        signing_secret=os.environ.get("SLACK_SIGNING_SECRET"),
        process_before_response=not documented,
    )

    async def empty(ack: Any) -> None:
        commit()
        await ack()

    cast("Any", app).action(re.compile(".*"))(empty)
    return app


async def slack(commit: Commit, *, documented: bool) -> None:
    app = slack_app(commit, documented=documented)
    await AsyncSocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).start_async()


async def slack_http(address: str, commit: Commit, *, documented: bool) -> None:
    host, _, port = address.rpartition(":")
    app = slack_app(commit, documented=documented)

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

    def __init__(self, commit: Commit | None = None) -> None:
        self._commit = commit
        super().__init__(
            intents=discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True),
            max_messages=None,
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
            allowed_mentions=discord.AllowedMentions.none(),
            guild_ready_timeout=0.5,
        )

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        if self._commit is None or interaction.message is None:
            await interaction.response.defer()
            return
        self._commit()
        await interaction.response.edit_message(view=discord.ui.LayoutView.from_message(interaction.message))


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


async def discord_bot(commit: Commit | None, *, documented: bool) -> None:
    Route.BASE = os.environ["ASKBACK_DISCORD_API_URL"]
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(os.environ["ASKBACK_DISCORD_GATEWAY_URL"])
    client = Documented(os.environ["BENCH_CUSTOM_ID"]) if documented else SameOptions(commit)
    async with client:
        await client.start(os.environ["DISCORD_TOKEN"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=["slack", "slack-http", "discord"])
    parser.add_argument("--documented", action="store_true")
    parser.add_argument("--durable", type=Path)
    parser.add_argument("--http", default="")
    options = parser.parse_args()
    commit = None if options.durable is None else rows_in(options.durable)
    match options.name:
        case "slack":
            asyncio.run(slack(commit or nothing, documented=options.documented))
        case "slack-http":
            asyncio.run(slack_http(options.http, commit or nothing, documented=options.documented))
        case _:
            asyncio.run(discord_bot(commit, documented=options.documented))


if __name__ == "__main__":
    main()
