"""People on Discord besides their clicks: they write, edit, delete, and join groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from askback_sandbox.attached import Attached
from askback_sandbox.discord.faults import DiscordFault
from askback_sandbox.discord.values import Member, Post
from askback_sandbox.discord.values import Place as Room
from askback_sandbox.json_values import JsonObject
from contract.bots.driver import GENERAL, GROUPS, Card, Talk

from .view import View

USER_JOIN = 7


class People(View):
    """Messages of people, and the groups that they belong to."""

    async def mention(self, person: str, text: str, channel: str = GENERAL) -> Talk:
        post = self.services.discord.people.write(person, channel, f"@askback {text}")
        return Talk(post.channel, post.id)

    async def thread(self, person: str, text: str) -> Talk:
        post = self.services.discord.people.write(person, GENERAL, text)
        thread = Room(id=post.id, name=text, kind="thread", parent=post.channel, owner=post.author)
        self.services.discord.posting.start_thread(thread, post)
        return Talk(post.channel, post.id)

    async def direct(self, person: str, text: str, *, thread: bool = False) -> Talk:
        assert not thread, "there are no threads in direct messages"
        room = self.guild.dm(self._person(person).id)
        assert room is not None
        self.services.discord.people.write(person, room.id, text)
        return Talk(room.id, None)

    async def say(self, person: str, text: str, talk: Talk) -> None:
        self.services.discord.people.write(person, (await self.room(talk)).id, text)

    async def attach(self, person: str, text: str, talk: Talk, *files: str | Attached) -> None:
        room = await self.room(talk)
        attached = tuple(Attached(file) if isinstance(file, str) else file for file in files)
        self.services.discord.people.write(person, room.id, text, files=attached)

    def delete_files(self, person: str, talk: Talk) -> None:
        post = self._own(person, talk)[-1]
        for file in post.attachments:
            self.services.discord.people.delete_file(person, post.channel, post.id, str(file["id"]))

    def refuse_files(self, status: int, location: str = "", *, times: int = 1) -> None:
        fault = DiscordFault(kind="foreign", operation="attachment", status=status, location=location, times=times)
        self.guild.faults.add(fault)

    def delay_files(self, seconds: float) -> None:
        self.guild.faults.add(DiscordFault(kind="delay", operation="attachment", seconds=seconds))

    async def share(self, person: str, text: str, author: str, talk: Talk) -> None:
        snapshot: JsonObject = {
            "content": text,
            "embeds": [],
            "attachments": [],
            "timestamp": "2025-09-01T10:00:00.000000+00:00",
            "edited_timestamp": None,
            "flags": 0,
            "mentions": [],
            "type": 0,
        }
        await self._post(talk, author=self._person(person).id, snapshots=(snapshot,))

    async def program(self, text: str, talk: Talk) -> str:
        self.guild.people["1100000000000000298"] = Member("1100000000000000298", "deploys", "Deploys")
        await self._post(talk, author="1100000000000000298", content=text, webhook=True)
        return "1100000000000000298"

    async def mention_in(self, person: str, text: str, talk: Talk) -> None:
        await self.say(person, f"@askback {text}", talk)

    async def edit(self, person: str, text: str, talk: Talk, *, which: int = -1) -> None:
        post = self._own(person, talk)[which]
        # An edit keeps the mention of the bot.
        text = f"@askback {text}" if post.content.startswith("<@") else text
        self.services.discord.people.edit(person, post.channel, post.id, text)

    def _own(self, person: str, talk: Talk) -> list[Post]:
        who = self._person(person).id
        return [post for post in self._posts(talk) if post.author == who and post.content]

    async def take_back(self, person: str, talk: Talk) -> None:
        post = self._own(person, talk)[-1]
        self.services.discord.people.delete(person, post.channel, post.id)

    async def redeliver_edit(self, which: int = -1) -> None:
        kind, post, data = self._updates[which]
        self._dispatch_post(kind, post, data)

    async def unfurl(self, person: str, talk: Talk) -> None:
        self.services.discord.posting.change(self._own(person, talk)[-1])

    async def other_bot(self, text: str, talk: Talk) -> None:
        other = Member("1100000000000000299", "other", "Other", bot=True)
        self.guild.people[other.id] = other
        bot = self.guild.bot.id
        await self._post(talk, author=other.id, content=f"<@{bot}> {text}", mentions=(bot,))
        await self._post(talk, author=self._person("ben").id, content=f"<@{bot}> {text}", mentions=(bot,), webhook=True)

    async def joins(self, person: str, talk: Talk) -> None:
        await self._post(talk, author=self._person(person).id, type=USER_JOIN)

    async def deliver_twice(self, times: int) -> None:
        self._twice += times

    async def _post(self, talk: Talk, **fields: Any) -> None:
        room = await self.room(talk)
        post = Post(id=self.guild.next_id(), channel=room.id, sent=self.guild.clock.time(), **fields)
        self.services.discord.posting.post(post)

    def speaks(self, person: str, locale: str) -> None:
        self.guild.add_person(replace(self._person(person), locale=locale))

    def server_speaks(self, locale: str) -> None:
        self.guild.locale = locale

    def join_group(self, person: str) -> None:
        self._put_roles(person, {*self._person(person).roles, GROUPS[self.platform]})

    def leave_group(self, person: str) -> None:
        self._put_roles(person, {*self._person(person).roles} - {GROUPS[self.platform]})

    def _put_roles(self, person: str, roles: set[str]) -> None:
        self.guild.add_person(replace(self._person(person), roles=tuple(sorted(roles))))

    async def delete(self, card: Card) -> None:
        self.services.discord.people.moderate("cy", self.guild.posts[card.id].channel, card.id)

    async def delete_twice(self, card: Card) -> None:
        self.guild.faults.add(DiscordFault(kind="replay", operation="MESSAGE_DELETE"))
        await self.delete(card)

    async def delete_part(self, card: Card, number: int) -> None:
        self.services.discord.people.moderate("cy", self.guild.posts[card.id].channel, self.parts(card.talk)[number])

    async def lose(self, card: Card) -> None:
        self.guild.remove_post(self.guild.posts[card.id])

    async def close_room(self, talk: Talk) -> None:
        self.services.discord.posting.remove_place(await self.room(talk))
