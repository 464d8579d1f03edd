"""One person's actions and view in one thread."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from askback_discord import control_ids as discord_ids
from askback_discord.not_now_modal import WAY
from askback_sandbox.discord.clicks import Delivery, Target
from askback_sandbox.discord.values import Done, Member, Post
from askback_sandbox.play.controls import Control, find
from askback_sandbox.slack.clicks import Target as SlackTarget
from askback_sandbox.slack.values import Interaction, Message, Person
from askback_slack import control_ids as slack_ids
from askback_slack import text_modal

from .network_faults import Weather
from .on_discord import DiscordRig
from .on_slack import SlackRig
from .rig import Rig

NOTICE = 4
"""Discord's callback type that answers a click with a new message instead of an updated card."""


@dataclass(frozen=True)
class Click:
    """The outcome of a click."""

    acked: bool
    told: bool | None
    """True if the person was notified that the click changed nothing; None if the ack does not show it."""


class Seat(ABC):
    """One person, and the thread that they began or joined last."""

    may_be_missed: bool
    """True if messages posted while no bot listens are never delivered."""

    def __init__(self, person: str, identity: str) -> None:
        self.person = person
        self.id = identity
        """The person's id on the platform."""
        self.hands = asyncio.Lock()
        """Held while a text field is open; all seats of one person share it."""

    @abstractmethod
    def begin(self, text: str) -> Any:
        """Mention the bot in the channel; return the message."""

    @abstractmethod
    def join(self, other: Seat) -> None:
        """Look into the thread that another person began."""

    @abstractmethod
    def write(self, text: str) -> Any:
        """Write in the thread; return the message."""

    @abstractmethod
    def edit(self, message: Any, text: str) -> None:
        """Change a message of this person; a mention of the bot stays in it."""

    @abstractmethod
    def delete(self, message: Any) -> None:
        """Delete a message, as a moderator may."""

    @abstractmethod
    def shown(self) -> list[Any]:
        """Return the bot's public messages in the thread, oldest first."""

    @abstractmethod
    def told(self) -> list[Any]:
        """Return the bot's messages in the thread that only this person sees."""

    @abstractmethod
    def reads(self, message: Any) -> str: ...

    @abstractmethod
    def controls(self, message: Any) -> tuple[Control, ...]: ...

    @abstractmethod
    def is_whole(self, message: Any) -> bool: ...

    @abstractmethod
    def at(self, message: Any) -> float:
        """Return the time of the post."""

    @abstractmethod
    async def press(self, message: Any, control: Control) -> Click: ...

    @abstractmethod
    async def pick(self, message: Any, control: Control, values: Sequence[str]) -> Click: ...

    @abstractmethod
    def has_field(self, control: Control) -> bool:
        """Return True if a text field is open that belongs to the same question as this control."""

    @abstractmethod
    def close_field(self) -> None: ...

    @abstractmethod
    async def send_field(self, text: str, way: str | None = None) -> Click:
        """Send the open modal. `way` is one of the ways to leave a question for now."""
        ...

    def find(self, message: Any, label: str) -> Control:
        return find(self.controls(message), label, kinds=("button",), what="button")

    def has(self, message: Any, label: str) -> bool:
        return any(control.kind == "button" and control.label == label for control in self.controls(message))


class SlackSeat(Seat):
    """A person on Slack."""

    may_be_missed = False

    def __init__(self, rig: SlackRig, number: int) -> None:
        super().__init__(f"p{number}", slack_id(number))
        self._rig = rig
        self._root = ""
        self._messages: dict[str, str] = {}
        if self.id not in rig.workspace.people:
            rig.workspace.add_person(Person(self.id, self.person, f"Person {number}"))

    def begin(self, text: str) -> Message:
        message = self._rig.services.people.write(self.person, "general", f"@askback {text}")
        self._root = message.ts
        return message

    def write(self, text: str) -> Message:
        return self._rig.services.people.write(self.person, "general", text, self._root)

    def edit(self, message: Message, text: str) -> None:
        words = f"@askback {text}" if message.ts == self._root else text
        self._rig.services.people.edit(self.person, message.channel, message.ts, words)

    def delete(self, message: Message) -> None:
        self._rig.services.people.moderate(self.person, message.channel, message.ts)

    def shown(self) -> list[Message]:
        channel = self._rig.workspace.channel("general")
        assert channel is not None
        return [one for one in self._rig.workspace.thread(channel.id, self._root) if one.bot]

    def told(self) -> list[Message]:
        return [
            one
            for one in self._rig.workspace.messages.values()
            if one.bot and one.ephemeral_to == self.id and one.root == self._root
        ]

    def reads(self, message: Message) -> str:
        return self._rig.reads(message)

    def controls(self, message: Message) -> tuple[Control, ...]:
        return self._rig.buttons(message)

    def is_whole(self, message: Message) -> bool:
        return not message.streaming

    def at(self, message: Message) -> float:
        return float(message.ts)

    def _target(self, message: Message, control: Control) -> SlackTarget:
        handle = control.handle
        return SlackTarget(
            person=self.person,
            channel=message.channel,
            ts=message.ts,
            block_id=str(handle["block_id"]),
            action_id=str(handle["action_id"]),
        )

    async def press(self, message: Message, control: Control) -> Click:
        done = await self._rig.services.clicks.act(self._target(message, control), as_seen=[*message.blocks])
        return _click(done)

    async def pick(self, message: Message, control: Control, values: Sequence[str]) -> Click:
        target = self._target(message, control)
        return _click(await self._rig.services.clicks.act(target, [*values], as_seen=[*message.blocks]))

    def join(self, other: Seat) -> None:
        assert isinstance(other, SlackSeat)
        self._root = other._root

    def has_field(self, control: Control) -> bool:
        stack = self._rig.workspace.stack(self.id)
        field = text_modal.parse_ref(stack[-1].view) if stack else None
        pressed = slack_ids.parse(control.handle["action_id"])
        return field is not None and pressed is not None and field.ask_id == pressed.ask_id

    def close_field(self) -> None:
        self._rig.workspace.close_views(self._rig.workspace.stack(self.id))

    async def send_field(self, text: str, way: str | None = None) -> Click:
        view = self._rig.workspace.stack(self.id)[-1]
        blocks: Any = view.view["blocks"]
        sent = {"plain_text_input": text, "radio_buttons": way}
        values: Any = {
            block["block_id"]: {block["element"]["action_id"]: sent[block["element"]["type"]]}
            for block in blocks
            if block["type"] == "input" and sent.get(block["element"]["type"]) is not None
        }
        done = await self._rig.services.modals.submit(self.person, view.id, values)
        acked = done.interaction is not None and done.interaction.acked is True
        return Click(acked=acked, told=bool(done.errors) if acked else None)


def _click(done: Interaction | None) -> Click:
    return Click(acked=done is not None and done.acked is True, told=None)


class DiscordSeat(Seat):
    """A person on Discord."""

    may_be_missed = True

    def __init__(self, rig: DiscordRig, number: int, weather: Weather) -> None:
        super().__init__(f"p{number}", discord_id(number))
        self._rig = rig
        self._root = ""
        self._weather = weather
        if self.id not in rig.guild.people:
            rig.guild.add_person(Member(self.id, self.person, f"Person {number}"))

    def begin(self, text: str) -> Post:
        post = self._rig.services.discord.people.write(self.person, "general", f"@askback {text}")
        self._root = post.id
        return post

    def write(self, text: str) -> Post:
        return self._rig.services.discord.people.write(self.person, self._root, text)

    def edit(self, message: Post, text: str) -> None:
        words = f"@askback {text}" if message.id == self._root else text
        self._rig.services.discord.people.edit(self.person, message.channel, message.id, words)

    def delete(self, message: Post) -> None:
        self._rig.services.discord.people.moderate(self.person, message.channel, message.id)

    def shown(self) -> list[Post]:
        bot = self._rig.guild.bot.id
        return [one for one in self._rig.guild.history(self._root) if one.author == bot]

    def told(self) -> list[Post]:
        posts = self._rig.guild.posts.values()
        return [one for one in posts if one.channel == self._root and one.ephemeral_to == self.id]

    def reads(self, message: Post) -> str:
        return self._rig.reads(message)

    def controls(self, message: Post) -> tuple[Control, ...]:
        return self._rig.buttons(message)

    def is_whole(self, message: Post) -> bool:
        # A text that is still being streamed has a button.
        return not message.components

    def at(self, message: Post) -> float:
        return message.sent

    def _target(self, message: Post, control: Control) -> Target:
        return Target(
            person=self.person,
            channel=message.channel,
            message=message.id,
            custom_id=str(control.handle["custom_id"]),
            components=message.components,
        )

    async def press(self, message: Post, control: Control) -> Click:
        clicks = self._rig.services.discord.clicks
        return _done(await clicks.click(self._target(message, control), self._delivery()))

    async def pick(self, message: Post, control: Control, values: Sequence[str]) -> Click:
        clicks = self._rig.services.discord.clicks
        return _done(await clicks.select(self._target(message, control), [*values], self._delivery()))

    def _delivery(self) -> Delivery:
        return Delivery(times=self._weather.times(), late=self._weather.delay())

    def join(self, other: Seat) -> None:
        assert isinstance(other, DiscordSeat)
        self._root = other._root

    def has_field(self, control: Control) -> bool:
        modal = self._rig.guild.modals.get(self.id)
        field = None if modal is None else discord_ids.parse(modal.custom_id)
        pressed = discord_ids.parse(control.handle["custom_id"])
        return field is not None and pressed is not None and field.ask_id == pressed.ask_id

    def close_field(self) -> None:
        self._rig.guild.modals.pop(self.id, None)

    async def send_field(self, text: str, way: str | None = None) -> Click:
        modal = self._rig.guild.modals[self.id]
        clicks = self._rig.services.discord.clicks
        values: Any = {discord_ids.TEXT: text} | ({} if way is None else {WAY: way})
        return _done(await clicks.submit(self.person, modal.custom_id, values, self._delivery()))


def _done(done: Done) -> Click:
    return Click(acked=done.acked is True, told=done.callback == NOTICE if done.acked else None)


def slack_id(number: int) -> str:
    return f"U0LOCALP{number}"


def discord_id(number: int) -> str:
    return str(1100000000000000250 + number)


def seated(rig: Rig, number: int, weather: Weather) -> Seat:
    """Return the seat of the person with that number."""
    if isinstance(rig, DiscordRig):
        return DiscordSeat(rig, number, weather)
    assert isinstance(rig, SlackRig)
    return SlackSeat(rig, number)
