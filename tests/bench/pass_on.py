"""The time of a text without askback: `python -m tests.bench.pass_on slack|discord CHANNEL`.

For each line on standard input, it streams an answer of the model with the model's library, and posts it with the
platform's. A line on standard output reports each post.
"""

from __future__ import annotations

import asyncio
import os
import sys

import discord
from anthropic import AsyncAnthropic
from discord.http import Route
from slack_sdk.web.async_client import AsyncWebClient


async def main(platform: str, channel: str) -> None:
    model = AsyncAnthropic()
    slack = AsyncWebClient(os.environ["SLACK_BOT_TOKEN"], base_url=os.environ["ASKBACK_SLACK_API_URL"])
    Route.BASE = os.environ["ASKBACK_DISCORD_API_URL"]
    async with discord.Client(intents=discord.Intents.default()) as client:
        if platform == "discord":
            await client.login(os.environ["DISCORD_TOKEN"])
        print("ready", flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            async with model.messages.stream(
                model="claude-sonnet-5-5", max_tokens=1000, messages=[{"role": "user", "content": "paint it"}]
            ) as stream:
                text = await stream.get_final_text()
            if platform == "slack":
                await slack.chat_postMessage(channel=channel, text=text)
            else:
                await client.get_partial_messageable(int(channel)).send(text)
            print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
