"""The rig on Discord."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from askback_discord.control_ids import TEXT, find_controls
from askback_sandbox.discord import limits as discord_limits
from askback_sandbox.discord.clicks import Delivery, Target
from askback_sandbox.discord.controls import controls
from askback_sandbox.discord.drawing import body
from askback_sandbox.discord.guild import Guild
from askback_sandbox.discord.values import Done, Post, PostType
from askback_sandbox.json_values import as_object, objects
from askback_sandbox.model.model import Model
from askback_sandbox.play.controls import Control, find
from askback_sandbox.revisions import Revisions
from askback_sandbox.services import Services
from support.clocks import SharedClock
from support.outage import End, of_discord
from support.processes import Launcher

from .rig import ACK_SECONDS, LONGEST_CALL, STREAM_SECONDS, THREAD, Link, Rig

DELIVERING = (
    "create_message", "update_message", "delete_message", "list_messages", "get_message", "create_thread_from_message",
)  # fmt: skip
DRAWINGS = ("create_interaction_response", "update_message")


class DiscordRig(Rig):
    """The rig with Discord's services."""

    platform = "discord"
    receives = 1

    def __init__(self, services: Services, folder: Path, launcher: Launcher) -> None:
        super().__init__(services, folder, launcher)
        self.guild: Guild = services.discord.guild

    @property
    def link(self) -> Link:
        return self.services.discord.gateway

    @property
    def state(self) -> Revisions:
        return self.guild

    def write(self, text: str = f"@askback {THREAD}", thread: str | None = None) -> str:
        return self.services.discord.people.write("ada", thread or "general", text).id

    async def press(self, message: Post, label: str) -> Done:
        button = find(self.buttons(message), label, kinds=("button",), what="button")
        target = Target(
            person="ada",
            channel=message.channel,
            message=message.id,
            custom_id=str(button.handle["custom_id"]),
            components=message.components,
        )
        return await self.services.discord.clicks.click(target, Delivery())

    async def open_field(self, message: Post, label: str) -> None:
        await self.press(message, label)
        await self.until(lambda: self.guild.modals)

    async def send_field(self, text: str) -> bool:
        (opened,) = self.guild.modals.values()
        done = await self.services.discord.clicks.submit("ada", opened.custom_id, {TEXT: text}, Delivery())
        return done.acked is True

    def outage(self, kind: str) -> End:
        return of_discord(self.guild.faults, kind, operations=DELIVERING, retry_after=1.0)

    def hold_drawings(self) -> None:
        for operation in DRAWINGS:
            self.guild.faults.fail(operation, 503, times=None)

    def release_drawings(self) -> None:
        self.guild.faults.clear()

    def drawings(self) -> int:
        return sum(call.operation == "update_message" and "components" in call.body for call in self.guild.log)

    def calls(self) -> str:
        return "\n".join(
            f"{call.at:.3f} {call.operation} {call.path} {call.status} {json.dumps(call.body)[:LONGEST_CALL]}"
            for call in self.guild.log
            if call.method != "GET"
        )

    def shown(self) -> list[Post]:
        return self.bots()

    def bots(self) -> list[Post]:
        bot = self.guild.bot.id
        shown = [post for post in self.guild.posts.values() if post.author == bot and post.ephemeral_to is None]
        return sorted(shown, key=lambda post: int(post.id))

    def reads(self, message: Post) -> str:
        # A text that is still being streamed has both its words and a button.
        return message.content + (body([*message.components], {}) if message.components else "")

    def buttons(self, message: Post) -> tuple[Control, ...]:
        return tuple(controls([*message.components]))

    def is_finished(self, message: Post) -> bool:
        return True

    def posts(self) -> list[tuple[str, str]]:
        """Leave out an unfinished text that the bot deleted: another process may begin it once more.

        Discord answers a repeated nonce with the first message, so the two count as one.
        """
        done = [call for call in self.guild.log if call.status < 300]
        deleted = {call.path.rpartition("/")[2] for call in done if call.operation == "delete_message"}
        posts = {
            (str(call.body.get("nonce")), str(as_object(call.answer).get("id"))): call.body
            for call in done
            if call.operation == "create_message"
        }
        return [
            (name, body(objects(sent.get("components")), {}))
            for (name, message), sent in posts.items()
            if message not in deleted or all(one.kind != "stop" for one in find_controls(sent.get("components")))
        ]

    def written(self) -> list[str]:
        bot = f"<@{self.guild.bot.id}>"
        written = PostType.DEFAULT, PostType.REPLY
        posts = [post for post in self.guild.posts.values() if post.type in written]
        return [post.content.replace(bot, "").strip() for post in posts if post.author != self.guild.bot.id]


@asynccontextmanager
async def rigged(folder: Path, launcher: Launcher) -> AsyncGenerator[Rig]:
    before, clock = discord_limits.RESPONSE_SECONDS, SharedClock()
    discord_limits.RESPONSE_SECONDS = ACK_SECONDS  # type: ignore[misc]
    try:
        async with (
            clock.running(),
            Services(port=0, guild=Guild(clock=clock), model=Model(delay=STREAM_SECONDS)) as services,
        ):
            rig = DiscordRig(services, folder, launcher)
            try:
                yield rig
            finally:
                await rig.close()
    finally:
        discord_limits.RESPONSE_SECONDS = before  # type: ignore[misc]
