"""An office on the local Discord."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from askback_discord import control_ids
from askback_sandbox.discord.clicks import Delivery
from askback_sandbox.discord.clicks import Target as DiscordTarget
from askback_sandbox.discord.controls import controls as discord_controls
from askback_sandbox.discord.drawing import body
from askback_sandbox.discord.values import Place, Role
from askback_sandbox.json_values import objects
from askback_sandbox.play.controls import Control, find
from askback_sandbox.revisions import Revisions

from .office import CHOICE, Office


class DiscordOffice(Office):
    """Discord's implementation."""

    platform = "discord"

    @property
    def state(self) -> Revisions:
        return self.services.discord.guild

    @property
    def connections(self) -> int:
        return self.services.discord.gateway.connections

    def shown(self) -> list[Any]:
        guild = self.services.discord.guild
        return [post for post in guild.posts.values() if post.author == guild.bot.id and post.ephemeral_to is None]

    def private(self) -> list[str]:
        return [self.reads(post) for post in self.services.discord.guild.posts.values() if post.ephemeral_to]

    def reads(self, message: Any) -> str:
        return message.content + (body([*message.components], {}) if message.components else "")

    def buttons(self, message: Any) -> tuple[Control, ...]:
        return tuple(discord_controls([*message.components]))

    async def press(self, person: str, message: Any, label: str) -> bool:
        button = find(self.buttons(message), label, kinds=("button",), what="button")
        target = DiscordTarget(
            person=person,
            channel=message.channel,
            message=message.id,
            custom_id=str(button.handle["custom_id"]),
            components=message.components,
        )
        return (await self.services.discord.clicks.click(target, Delivery())).acked is True

    async def choose(self, person: str, message: Any, name: str) -> str:
        picker = next(one for one in self.buttons(message) if one.kind == "menu")
        who = self.services.discord.guild.person(name)
        assert who is not None
        target = DiscordTarget(
            person=person,
            channel=message.channel,
            message=message.id,
            custom_id=str(picker.handle["custom_id"]),
            components=message.components,
        )
        await self.services.discord.clicks.select(target, [who.id], Delivery())
        return who.id

    async def tick(self, person: str, message: Any, *labels: str) -> None:
        found, values = self.find_list(message, labels)
        target = DiscordTarget(
            person=person,
            channel=message.channel,
            message=message.id,
            custom_id=str(found.handle["custom_id"]),
            components=message.components,
        )
        await self.services.discord.clicks.select(target, values, Delivery())

    def _modal(self, person: str) -> Any:
        who = self.services.discord.guild.person(person)
        assert who is not None
        return self.services.discord.guild.modals.get(who.id)

    def has_field(self, person: str) -> bool:
        return self._modal(person) is not None

    async def submit(self, person: str, text: str, option: int | None = None) -> None:
        values: dict[str, Any] = {control_ids.TEXT: text} | ({} if option is None else {CHOICE: str(option)})
        done = await self.services.discord.clicks.submit(person, self._modal(person).custom_id, values, Delivery())
        assert done.acked

    async def send_fields(self, person: str, entries: Mapping[str, str]) -> bool:
        modal, before = self._modal(person), len(self.private())
        fields = {
            one.label.partition(":")[0]: str(one.handle["custom_id"])
            for one in discord_controls(objects(modal.modal.get("components")))
        }
        values = {fields[name]: entry for name, entry in entries.items()}
        done = await self.services.discord.clicks.submit(person, modal.custom_id, {**values}, Delivery())
        assert done.acked
        return len(self.private()) > before

    def write(self, person: str, message: Any, text: str) -> None:
        self.services.discord.people.write(person, message.channel, text)

    def write_under(self, person: str, message: Any, text: str) -> None:
        self.services.discord.people.write(person, message.channel, text, message.id)

    def write_in_thread(self, person: str, message: Any, text: str) -> None:
        guild = self.services.discord.guild
        if message.id not in guild.places:
            thread = Place(id=message.id, name="card", kind="thread", parent=message.channel, owner=guild.bot.id)
            self.services.discord.posting.start_thread(thread, message)
        self.services.discord.people.write(person, message.id, text)

    def told(self, person: str) -> list[str]:
        posts = self.services.discord.guild.posts
        who = self.services.discord.guild.person(person)
        mine = {post.id for post in posts.values() if who is not None and post.author == who.id}
        return [self.reads(one) for one in self.shown() if one.reference in mine]

    def refuse_posts(self) -> None:
        self.services.discord.guild.faults.fail("create_message", 403, code=50013, times=None)

    def put_group(self, name: str, *people: str) -> None:
        guild = self.services.discord.guild
        role = Role(f"11000000000000{len(guild.roles):05d}", name)
        guild.roles[role.id] = role
        for person in guild.people.values():
            if person.name in people:
                guild.people[person.id] = replace(person, roles=(*person.roles, role.id))

    def take_from_group(self, name: str, person: str) -> None:
        guild = self.services.discord.guild
        (role,) = (one.id for one in guild.roles.values() if one.name == name)
        for one in guild.people.values():
            if one.name == person:
                guild.people[one.id] = replace(one, roles=tuple(other for other in one.roles if other != role))
