"""The state of the desk on Discord: its services, and the look-ups that every part needs."""

from __future__ import annotations

from askback.domain.open_ask_limits import Limits
from askback.runtime.app import Host
from askback_sandbox.discord.values import Done, Member, Post
from askback_sandbox.discord.values import Place as Room
from askback_sandbox.json_values import JsonObject
from askback_sandbox.model.model import Model
from askback_sandbox.services import Services
from contract.bots.driver import Journal, Talk, until


class DiscordBase:
    """The services of a desk on Discord, and what it remembers."""

    platform = "discord"
    host: Host

    def __init__(self, services: Services, journal: Journal, handled: list[int], limits: Limits) -> None:
        self.services = services
        self.guild = services.discord.guild
        self.gateway = services.discord.gateway
        self.journal = journal
        self.model: Model = services.model
        self.handled = handled
        """The interactions that the bot has finished, in order."""
        self._limits = limits
        self._last: JsonObject = {}
        self._last_done: Done | None = None
        self._errors: dict[str, tuple[str, ...]] = {}
        self._unanswered = False
        self._twice = 0
        self._updates: list[tuple[str, Post, JsonObject]] = []
        self._dispatch_post = self.gateway.dispatch_post
        self.gateway.dispatch_post = self._dispatch  # type: ignore[method-assign]

    def _dispatch(self, kind: str, post: Post, data: JsonObject) -> None:
        self._dispatch_post(kind, post, data)
        if kind == "MESSAGE_UPDATE" and post.author != self.guild.bot.id:
            self._updates.append((kind, post, data))
        if self._twice and kind == "MESSAGE_CREATE" and post.author != self.guild.bot.id:
            self._twice -= 1
            self._dispatch_post(kind, post, data)

    async def room(self, talk: Talk) -> Room:
        """Return the thread, or the channel, once it exists."""
        return await until(lambda: self.guild.place(talk.thread or talk.channel), "the thread begins")

    def told(self, person: str) -> list[Post]:
        who = self._person(person).id
        found = [post for post in self.guild.posts.values() if post.ephemeral_to == who]
        return sorted(found, key=lambda post: int(post.id))

    def _person(self, name: str) -> Member:
        person = self.guild.person(name)
        assert person is not None, name
        return person

    def _posts(self, talk: Talk) -> list[Post]:
        room = talk.thread or talk.channel
        found = [
            post
            for post in self.guild.posts.values()
            if post.ephemeral_to is None and (post.channel == room or post.id == talk.thread)
        ]
        return sorted(found, key=lambda post: int(post.id))
