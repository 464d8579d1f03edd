"""The floor for memory and start: `python -m tests.bench.sdks slack|discord`.

A program that imports the SDKs of such a bot, all before it connects, and then does nothing.
"""

from __future__ import annotations

import asyncio
import os
import sys

import anthropic  # noqa: F401
import pydantic  # noqa: F401
import sqlalchemy  # noqa: F401


async def slack() -> None:
    from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
    from slack_bolt.async_app import AsyncApp
    from slack_sdk.web.async_client import AsyncWebClient

    client = AsyncWebClient(os.environ["SLACK_BOT_TOKEN"], base_url=os.environ["ASKBACK_SLACK_API_URL"])
    await AsyncSocketModeHandler(AsyncApp(client=client), os.environ["SLACK_APP_TOKEN"]).start_async()


async def discord() -> None:
    import yarl
    from discord import Client, Intents
    from discord.gateway import DiscordWebSocket
    from discord.http import Route

    Route.BASE = os.environ["ASKBACK_DISCORD_API_URL"]
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(os.environ["ASKBACK_DISCORD_GATEWAY_URL"])
    async with Client(intents=Intents.default()) as client:
        await client.start(os.environ["DISCORD_TOKEN"])


if __name__ == "__main__":
    asyncio.run({"slack": slack, "discord": discord}[sys.argv[1]]())
