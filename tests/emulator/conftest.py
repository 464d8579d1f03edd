"""A real bolt bot connected to the services, and the people's actions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from askback_sandbox.clock import ManualClock
from askback_sandbox.model.model import Model
from askback_sandbox.services import Services
from emulator.model_service import Service, serving

if TYPE_CHECKING:
    from support.discord_client import DiscordBot

OPENAPI = Path(__file__).resolve().parents[3] / "shared" / "schemas" / "discord-openapi.json"

# slack_sdk logs every lost socket as an error; some of these tests lose sockets on purpose.
logging.getLogger("slack_sdk").setLevel(logging.CRITICAL)
logging.getLogger("slack_bolt").setLevel(logging.CRITICAL)


class Bot:
    """A bolt app in Socket Mode, connected to the services."""

    def __init__(self, app: AsyncApp, services: Services, session: aiohttp.ClientSession) -> None:
        self.app = app
        self.client: AsyncWebClient = app.client
        self._services = services
        self._session = session
        self.handlers: list[AsyncSocketModeHandler] = []

    async def connect(self, *, ping_interval: float = 5.0) -> AsyncSocketModeHandler:
        """Open one more socket and return when it is open.

        The SDK opens another one if it hears nothing for four intervals. The default is the SDK's own: with a shorter
        one, a busy machine costs the bot its socket in the middle of a click.
        """
        before = self._services.socket.connections
        handler = AsyncSocketModeHandler(self.app, "xapp-local", ping_interval=ping_interval)
        self.handlers.append(handler)
        await handler.connect_async()
        await self._services.workspace.until(lambda _: self._services.socket.connections > before)
        return handler

    async def close(self) -> None:
        for handler in self.handlers:
            client = handler.client
            await handler.close_async()
            tasks = [client.message_processor, client.current_session_monitor, client.message_receiver]
            await asyncio.gather(*(task for task in tasks if task), return_exceptions=True)
        self.handlers.clear()


class Hands:
    """The people's HTTP endpoints, as the page uses them."""

    def __init__(self, services: Services, session: aiohttp.ClientSession) -> None:
        self._services = services
        self._session = session

    async def post(self, path: str, **body: Any) -> dict[str, Any]:
        async with self._session.post(f"{self._services.url}{path}", json=body) as reply:
            return await reply.json()

    async def get(self, path: str) -> Any:
        async with self._session.get(f"{self._services.url}{path}") as reply:
            return await reply.json()

    async def state(self) -> dict[str, Any]:
        return await self.get("/people/state")

    async def write(self, person: str, channel: str, text: str, **more: Any) -> str:
        answer = await self.post("/people/write", person=person, channel=channel, text=text, **more)
        assert answer["ok"], answer
        return answer["ts"]


MakeServices = Callable[..., Awaitable[Services]]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
async def services(clock: ManualClock) -> AsyncIterator[Services]:
    document = OPENAPI if OPENAPI.is_file() else None
    async with Services(port=0, clock=clock, discord_openapi=document) as services:
        yield services


@asynccontextmanager
async def bot_for(services: Services, session: aiohttp.ClientSession) -> AsyncIterator[Bot]:
    """A bolt bot that is not connected yet."""
    client = AsyncWebClient(token="xoxb-local", base_url=services.slack_api_url, session=session)
    app = AsyncApp(client=client, process_before_response=True)
    bot = Bot(app, services, session)
    try:
        yield bot
    finally:
        await bot.close()


@pytest.fixture
async def bot(services: Services, session: aiohttp.ClientSession) -> AsyncIterator[Bot]:
    async with bot_for(services, session) as bot:
        yield bot


@pytest.fixture
async def discord_bot(services: Services) -> AsyncIterator[DiscordBot]:
    """A connected discord.py client."""
    pytest.importorskip("discord", reason="discord.py is not installed")
    from support import discord_client

    with discord_client.pointed_at(services):
        bot = discord_client.DiscordBot(services)
        try:
            await bot.run_until_ready()
            yield bot
        finally:
            await bot.stop()


@pytest.fixture
def client(bot: Bot) -> AsyncWebClient:
    return bot.client


@pytest.fixture
def hands(services: Services, session: aiohttp.ClientSession) -> Hands:
    return Hands(services, session)


async def rounds(count: int = 20) -> None:
    """Let everything run that needs no time to pass."""
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    """The local Messages API alone."""
    async with serving(Model()) as service:
        yield service


@pytest.fixture
async def discord_card(discord_bot) -> dict[str, str]:
    """Post a message with one component of each kind; return the fields that identify it to the people's endpoints."""
    from emulator.interactions import MESSAGES
    from support.discord_client import GENERAL, button, row, select

    components = [
        row(
            button("go"),
            button("off", disabled=True),
            {"type": 2, "style": 5, "label": "x", "url": "https://example.com"},
        ),
        row(select("one", "a", "b")),
        row(select("some", "a", "b", "c", min_values=0, max_values=2)),
        row({"type": 5, "custom_id": "who", "max_values": 2}),
        row({"type": 7, "custom_id": "whom"}),
    ]
    sent = await discord_bot.request("POST", MESSAGES, content="card", components=components)
    return {"channel": GENERAL, "message": sent["id"]}


@pytest.fixture
def click(hands, discord_card) -> Any:
    """Presses a button of the card, as a person."""

    async def press(custom_id: str = "go", person: str = "ada", **more: Any) -> dict[str, Any]:
        return await hands.post("/people/discord/click", person=person, custom_id=custom_id, **{**discord_card, **more})

    return press


@pytest.fixture
def choose(hands, discord_card) -> Any:
    """Chooses values in a menu of the card, as a person."""

    async def pick(custom_id: str, *values: str, **more: Any) -> dict[str, Any]:
        body = {"person": "ada", "custom_id": custom_id, "values": list(values), **discord_card, **more}
        return await hands.post("/people/discord/select", **body)

    return pick


@pytest.fixture
def submit(hands) -> Any:
    """Submits the modal that a person has open."""

    async def send(person: str = "ada", custom_id: str = "form", **values: Any) -> dict[str, Any]:
        return await hands.post("/people/discord/submit", person=person, custom_id=custom_id, values=values)

    return send
