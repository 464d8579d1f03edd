"""The time from a connection's silent death to the next connection, next to the clients of the SDKs.

Everything runs with the local platform in one process, with the default settings. The moments of death are spread
over the heartbeat's period.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from .figures import Figure, measured
from .runner import Bench, Unavailable

SDKS = {"discord": "discord.py's `Client.start`", "slack": "slack_sdk's `SocketModeClient`"}


async def silence(platform: str, folder: Path) -> float:
    try:
        import pytest
    except ImportError:
        raise Unavailable("it needs what the tests need: pip install -e '.[dev]'") from None
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from contract.bots import discord, slack

    tests = {"discord": discord, "slack": slack}[platform]
    with pytest.MonkeyPatch.context() as patch:
        # Each run has its own desk: after short connections, the bot pauses before it opens the next one.
        async with tests.open_desk(folder, patch) as desk:
            return await _measure(
                lambda: desk.connection_count() if desk.host.connections[platform].is_connected() else -1,
                desk.fall_silent,
            )


async def silence_of_slack_sdk() -> float:
    from slack_sdk.socket_mode.aiohttp import SocketModeClient
    from slack_sdk.web.async_client import AsyncWebClient

    from askback_sandbox.services import Services
    from askback_sandbox.slack.socket import SlackSocket
    from askback_sandbox.slack.workspace import Workspace

    workspace = Workspace()
    socket = SlackSocket(workspace)

    async def freeze() -> None:
        socket.freeze()

    async with Services(port=0, workspace=workspace, socket=socket) as services:
        web = AsyncWebClient(token=workspace.bot.token, base_url=services.slack_api_url)
        client = SocketModeClient(app_token=workspace.bot.app_token, web_client=web)
        try:
            await client.connect()
            return await _measure(lambda: socket.ticket_count, freeze)
        finally:
            await client.close()


async def silence_of_discord_py() -> float:
    import discord

    from askback_sandbox.services import Services
    from support.discord_client import pointed_at

    async with Services(port=0) as services:
        gateway = services.discord.gateway

        async def freeze() -> None:
            gateway.freeze()

        with pointed_at(services):
            client = discord.Client(intents=discord.Intents.default())
            running = asyncio.create_task(client.start(services.discord.guild.app.token))
            try:
                while not client.is_ready():  # noqa: ASYNC110 - without an event that exists before the login
                    await asyncio.sleep(0.01)
                return await _measure(lambda: gateway.identified + gateway.resumed, freeze)
            finally:
                await client.close()
                await asyncio.gather(running, return_exceptions=True)


async def _measure(count: Callable[[], int], freeze: Callable[[], Awaitable[None]]) -> float:
    """Return the seconds from the death until there is a connection more. `count` returns -1 while none is usable."""
    await asyncio.sleep(1.0 + random.random())
    before, began = count(), time.monotonic()
    await freeze()
    while count() <= before:  # noqa: ASYNC110 - without an event to wait for
        await asyncio.sleep(0.001)
    return time.monotonic() - began


async def run(bench: Bench) -> AsyncIterator[Figure]:
    for platform in ("discord", "slack"):
        seconds: list[float] = []
        for number in range(bench.times(4, 1)):
            folder = bench.folder / f"{platform}{number}"
            folder.mkdir()
            seconds.append(await silence(platform, folder))
        yield measured(f"a connection's silent death until the next one, {platform.title()}", "s", seconds)
    if bench.quick:
        return
    for platform, by_sdk in (("discord", silence_of_discord_py), ("slack", silence_of_slack_sdk)):
        bench.say(f"{SDKS[platform]} takes up to two minutes")
        yield measured(f"the same with {SDKS[platform]}", "s", [await by_sdk()])
