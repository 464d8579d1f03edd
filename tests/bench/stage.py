"""A local platform for one bot, a model that asks one question and then says thanks, and Ada.

The services run in the measuring process, the bot in its own.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from askback.domain.ask_policy import Policy
from askback.domain.card import build_card
from askback.domain.identity import Actor
from askback.domain.interview import start_interview
from askback.domain.who import Who
from askback.ports.installed_bots import get_bot
from askback_sandbox.discord.clicks import Delivery
from askback_sandbox.discord.clicks import Target as DiscordTarget
from askback_sandbox.discord.controls import controls as discord_controls
from askback_sandbox.json_values import JsonObject
from askback_sandbox.model.model import Model
from askback_sandbox.model.request import ReceivedRequest
from askback_sandbox.model.script import Turn, call, turn
from askback_sandbox.play.controls import Control, find
from askback_sandbox.services import Services
from askback_sandbox.slack.clicks import Target as SlackTarget
from askback_sandbox.slack.controls import controls as slack_controls
from askback_sandbox.slack.http import SlackHttp
from askback_sandbox.slack.socket import Ack, SlackSocket
from askback_sandbox.slack.values import Message
from askback_sandbox.slack.workspace import Workspace

from .asked import FORM

WITHIN = 30.0
CALM_SECONDS = 0.02
"""Seconds for the commits after the last visible change; people do not click that quickly."""
BUTTON = "Green"
THANKS = "Thank you, green it is."
WRITING = {"chat.stopStream", "chat.postMessage", "chat.update"}
ASK_ID = "A" * 22
"""The id of the card in front of an empty bot."""


@dataclass(frozen=True, slots=True)
class Pressed:
    """A click."""

    sent: float
    """The time at which it left the platform, in seconds since the epoch."""
    ms: float
    """Milliseconds until its ack."""

    @property
    def acked(self) -> float:
        return self.sent + self.ms / 1000


class AskingModel(Model):
    """A model that asks, and says thanks for the answer. It records its last call and the end of its last text."""

    def __init__(self, thanks: str = THANKS) -> None:
        super().__init__(persona=self._next)
        self.thanks = thanks
        self.called = 0.0
        self.spoke = 0.0

    def _next(self, asked: ReceivedRequest) -> Turn:
        self.called = time.time()
        return turn(self.thanks) if asked.turns or not asked.tools else ask_colour()

    def heard(self, asked: ReceivedRequest, answer: Any) -> None:
        self.spoke = time.time()
        super().heard(asked, answer)


def ask_colour() -> Turn:
    """Return the model's turn that asks for a colour."""
    (question,) = FORM.questions
    options = [{"label": one.label, "description": one.description or ""} for one in question.options]
    asking = {"question": question.prompt, "header": question.header, "options": options, "multiSelect": False}
    return turn(call("AskUserQuestion", questions=[asking]))


class _Timed(SlackSocket):
    """A socket that records the time of the last click."""

    sent_at = 0.0

    async def interact(self, payload: JsonObject, *, wants_answer: bool) -> Ack:
        self.sent_at = time.time()
        return await super().interact(payload, wants_answer=wants_answer)


class _TimedHttp(_Timed, SlackHttp):
    """The same recording over signed HTTP."""


class Stage(ABC):
    """One platform with a bot, a model and Ada."""

    channel: str
    """The id of the channel in which Ada writes."""

    def __init__(self, services: Services, model: AskingModel) -> None:
        self.services = services
        self.model = model
        self.environment = services.environment
        self.button = BUTTON
        """The label of the button that is pressed."""

    @staticmethod
    @asynccontextmanager
    async def open(name: str, model: AskingModel | None = None) -> AsyncGenerator[Stage]:
        """Open `slack`, `slack-http` or `discord`. By default, its model asks one question."""
        workspace, model = Workspace(), model or AskingModel()
        delivery = _TimedHttp(workspace) if name == "slack-http" else _Timed(workspace)
        async with Services(port=0, workspace=workspace, socket=delivery, model=model) as services:
            yield DiscordStage(services, model) if name == "discord" else SlackStage(services, model, delivery)

    async def asks(self) -> Any:
        """Mention the bot as Ada; return the card that it posts."""
        before = self.newest()
        self.mention()
        return await self.next_card(before)

    async def next_card(self, before: Any) -> Any:
        """Return the next card that can be used."""
        await self.until(lambda: self.newest() not in (None, before))
        await asyncio.sleep(CALM_SECONDS)
        return self.newest()

    @abstractmethod
    async def connected(self) -> None: ...
    @abstractmethod
    def mention(self) -> None: ...
    @abstractmethod
    def newest(self) -> Any:
        """Return the id of the newest card that can be used."""

    @abstractmethod
    async def post(self) -> Any:
        """Post a card as askback would, for a bot that posts none."""

    @abstractmethod
    async def press(self, card: Any) -> Pressed: ...
    @abstractmethod
    def is_over(self, card: Any) -> bool:
        """Return True if the card is settled, and the agent has said its thanks."""

    @abstractmethod
    def said_at(self) -> float:
        """Return the time of the call that completed the agent's last text."""

    @abstractmethod
    async def changed(self) -> None: ...

    async def calm(self, card: Any) -> None:
        """Wait until everything after a click is done."""
        await self.until(lambda: self.is_over(card))
        await asyncio.sleep(CALM_SECONDS)

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(WITHIN):
            while not holds():
                await self.changed()


class SlackStage(Stage):
    """Slack, with a socket or over HTTP."""

    def __init__(self, services: Services, model: AskingModel, delivery: _Timed) -> None:
        super().__init__(services, model)
        self.workspace = services.workspace
        self.delivery = delivery
        self.channel = next(one.id for one in self.workspace.channels.values() if one.name == "general")
        if isinstance(delivery, SlackHttp):
            self.environment = {**self.environment, "SLACK_SIGNING_SECRET": delivery.secret}
            del self.environment["SLACK_APP_TOKEN"]

    async def connected(self) -> None:
        await self.delivery.connected()

    async def changed(self) -> None:
        await self.workspace.changed_since(self.workspace.revision)

    def mention(self) -> None:
        self.services.people.write("ada", "general", "@askback paint it")

    def newest(self) -> Message | None:
        for message in reversed(self.workspace.messages.values()):
            if message.bot and _button(slack_controls([*message.blocks]), self.button) is not None:
                return message
        return None

    async def post(self) -> Message:
        body = {**_body("slack"), "channel": self.channel}
        await _send(f"{self.services.slack_api_url}chat.postMessage", f"Bearer {self.workspace.bot.token}", body)
        found = self.newest()
        assert found is not None
        return found

    async def press(self, card: Message) -> Pressed:
        button = find(slack_controls([*card.blocks]), self.button, kinds=("button",), what="button")
        target = SlackTarget(
            person="ada",
            channel=card.channel,
            ts=card.ts,
            block_id=str(button.handle["block_id"]),
            action_id=str(button.handle["action_id"]),
        )
        done = await self.services.clicks.act(target, as_seen=[*card.blocks])
        assert done is not None
        assert done.acked, done
        assert done.ack_ms is not None
        return Pressed(self.delivery.sent_at, done.ack_ms)

    def is_over(self, card: Message) -> bool:
        settled = self.workspace.messages[card.channel, card.ts]
        last = next(reversed(self.workspace.messages.values()))
        said = last.bot and last.root == card.root and not last.streaming and last.ts != card.ts
        return said and _button(slack_controls([*settled.blocks]), self.button) is None

    def said_at(self) -> float:
        for done in reversed(self.workspace.log):
            # A stream was begun with the text; the call that ends it has none.
            if done.method == "chat.stopStream" or (
                done.method in WRITING and self.model.thanks in str(done.arguments)
            ):
                return done.at
        raise AssertionError("nothing was said")


class DiscordStage(Stage):
    """Discord, with its gateway."""

    def __init__(self, services: Services, model: AskingModel) -> None:
        super().__init__(services, model)
        self.guild = services.discord.guild
        self.channel = next(one.id for one in self.guild.places.values() if one.name == "general")

    async def connected(self) -> None:
        await self.services.discord.gateway.connected()

    async def changed(self) -> None:
        await self.guild.changed_since(self.guild.revision)

    def mention(self) -> None:
        self.services.discord.people.write("ada", "general", "@askback paint it")

    def newest(self) -> Any:
        for post in reversed(self.guild.posts.values()):
            if post.author == self.guild.bot.id and _button(discord_controls(post.components), self.button) is not None:
                return post
        return None

    async def post(self) -> Any:
        url = f"{self.services.discord_api_url}/channels/{self.channel}/messages"
        await _send(url, f"Bot {self.guild.app.token}", _body("discord"))
        return self.newest()

    async def press(self, card: Any) -> Pressed:
        button = find(discord_controls(card.components), self.button, kinds=("button",), what="button")
        target = DiscordTarget(
            person="ada",
            channel=card.channel,
            message=card.id,
            custom_id=str(button.handle["custom_id"]),
            components=card.components,
        )
        done = await self.services.discord.clicks.click(target, Delivery())
        assert done.acked, done
        assert done.ack_ms is not None
        return Pressed(done.issued, done.ack_ms)

    def is_over(self, card: Any) -> bool:
        settled = self.guild.posts[card.id]
        last = next(reversed(self.guild.posts.values()))
        said = last.author == self.guild.bot.id and last.channel == card.channel and last.content == self.model.thanks
        return said and _button(discord_controls(settled.components), self.button) is None

    def said_at(self) -> float:
        for done in reversed(self.guild.log):
            if str(done.body.get("content") or "") == self.model.thanks:
                return done.at
        raise AssertionError("nothing was said")


def _button(controls: tuple[Control, ...], label: str) -> Control | None:
    return next((one for one in controls if one.kind == "button" and label in one.label), None)


def _body(platform: str) -> dict[str, Any]:
    policy = Policy(who=Who.from_people(Actor(platform=platform, id="1000000000000000000", name="you")))
    (message,) = get_bot(platform).setup.preview(build_card(ASK_ID, start_interview(FORM), policy))
    return dict(message)


async def _send(url: str, authorization: str, body: dict[str, Any]) -> None:
    async with (
        aiohttp.ClientSession(headers={"Authorization": authorization}) as session,
        session.post(url, json=body) as response,
    ):
        assert response.status == 200, await response.text()
        said = await response.json()
        assert said.get("ok", True), said
