"""A real discord.py client connected to the services, and the actions of people in Discord."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from askback_sandbox.services import Services

# These tests provoke lost connections and refusals.
logging.getLogger("discord").setLevel(logging.CRITICAL)

GENERAL, DEPLOYS, PRIVATE = "1100000000000000301", "1100000000000000302", "1100000000000000303"
ADA, BEN, CY = "1100000000000000201", "1100000000000000202", "1100000000000000203"
APP = "1100000000000000100"
FAILED = "This interaction failed"
INTENTS = discord.Intents(guilds=True, guild_messages=True, dm_messages=True)

Handler = Callable[[discord.Interaction], Awaitable[None]]


@contextmanager
def pointed_at(services: Services) -> Iterator[None]:
    """Point discord.py to the services, and back to Discord afterwards."""
    base, gateway = Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY
    Route.BASE = services.discord_api_url
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(services.discord_gateway_url)
    try:
        yield
    finally:
        Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = base, gateway


class DiscordBot(discord.Client):
    """A client that records its events. The test sets its reaction to an interaction."""

    def __init__(self, services: Services, *, intents: discord.Intents = INTENTS, **options: Any) -> None:
        super().__init__(intents=intents, guild_ready_timeout=0.05, enable_debug_events=True, **options)
        self.services = services
        self.messages: list[discord.Message] = []
        self.edits: list[discord.RawMessageUpdateEvent] = []
        self.interactions: list[discord.Interaction] = []
        self.events: list[str] = []
        self.raw: list[dict[str, Any]] = []
        self.errors: list[BaseException] = []
        self.answer: Handler | None = None
        self._running: asyncio.Task[None] | None = None
        self._heard = asyncio.Event()

    async def run_until_ready(self, token: str = "local-discord-token") -> None:
        self._running = asyncio.create_task(self.start(token))
        ready = asyncio.create_task(self.wait_until_ready_soon())
        await asyncio.wait({ready, self._running}, return_when=asyncio.FIRST_COMPLETED)
        if self._running.done():
            ready.cancel()
            await asyncio.gather(ready, return_exceptions=True)
            self._running.result()

    async def wait_until_ready_soon(self) -> None:
        async with asyncio.timeout(30):
            await self.services.discord.gateway.connected()
            await self.wait_until_ready()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """discord.py sleeps five seconds here."""

    async def stop(self) -> None:
        await self.close()
        if self._running is not None:
            await asyncio.gather(self._running, return_exceptions=True)
        # discord.py does not keep the tasks of its events; leftover ones would end with the loop, or never begin.
        events = [task for task in asyncio.all_tasks() if task.get_name().startswith("discord.py: ")]
        for task in events:
            task.cancel()
        await asyncio.gather(*events, return_exceptions=True)

    @property
    def stopped(self) -> BaseException | None:
        """The error with which the client gave up; None if it still runs."""
        assert self._running is not None
        return self._running.exception() if self._running.done() else None

    async def until(self, condition: Callable[[], object], within: float = 30) -> None:
        """Wait until the condition holds, checking after each event."""
        async with asyncio.timeout(within):
            while not condition():
                self._heard.clear()
                revision = self.services.discord.guild.revision
                changed = asyncio.ensure_future(self.services.discord.guild.changed_since(revision))
                heard = asyncio.ensure_future(self._heard.wait())
                await asyncio.wait({changed, heard}, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
                heard.cancel()
                await asyncio.gather(changed, heard, return_exceptions=True)

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        super().dispatch(event, *args, **kwargs)
        asyncio.get_running_loop().call_soon(self._heard.set)

    async def on_message(self, message: discord.Message) -> None:
        self.messages.append(message)

    async def on_raw_message_edit(self, event: discord.RawMessageUpdateEvent) -> None:
        self.edits.append(event)

    async def on_socket_event_type(self, event: str) -> None:
        self.events.append(event)

    async def on_socket_raw_receive(self, message: str) -> None:
        self.raw.append(discord.utils._from_json(message))

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        self.interactions.append(interaction)
        if self.answer is None:
            return
        try:
            await self.answer(interaction)
        except discord.HTTPException as error:
            self.errors.append(error)
            self._heard.set()

    def payloads(self, event: str) -> list[dict[str, Any]]:
        """Return the raw payloads of an event from the gateway."""
        return [frame["d"] for frame in self.raw if frame.get("t") == event]

    async def request(self, method: str, path: str, **body: Any) -> Any:
        """Make one request with discord.py's own HTTP client."""
        return await self.http.request(Route(method, path), **({"json": body} if body else {}))


def button(custom_id: str, label: str = "Go", **more: Any) -> dict[str, Any]:
    return {"type": 2, "style": 2, "label": label, "custom_id": custom_id, **more}


def row(*components: dict[str, Any]) -> dict[str, Any]:
    return {"type": 1, "components": list(components)}


def select(custom_id: str, *values: str, **more: Any) -> dict[str, Any]:
    options = [{"label": value.title(), "value": value} for value in values]
    return {"type": 3, "custom_id": custom_id, "options": options, **more}


def label(component: dict[str, Any], text: str = "Answer") -> dict[str, Any]:
    return {"type": 18, "label": text, "component": component}


def text_input(custom_id: str = "text", **more: Any) -> dict[str, Any]:
    return {"type": 4, "style": 2, "custom_id": custom_id, **more}


def modal(*components: dict[str, Any], custom_id: str = "form", title: str = "Form") -> dict[str, Any]:
    return {"type": 9, "data": {"custom_id": custom_id, "title": title, "components": list(components)}}


async def callback(interaction: discord.Interaction, body: dict[str, Any]) -> Any:
    """Send the initial response, as a raw body."""
    client: Any = interaction.client
    path = f"/interactions/{interaction.id}/{interaction.token}/callback?with_response=true"
    return await client.http.request(Route("POST", path), json=body)


def places(error: Any) -> set[str]:
    """Return the paths and codes of the errors in a 50035: "components.0.type:CODE"."""

    def walk(node: dict[str, Any], path: str) -> Iterator[str]:
        for name, inner in node.items():
            if name == "_errors":
                yield from (f"{path}:{one['code']}" for one in inner)
            else:
                yield from walk(inner, f"{path}.{name}".lstrip("."))

    return set(walk(error["errors"], ""))
