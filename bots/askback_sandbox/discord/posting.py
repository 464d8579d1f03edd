"""Stores messages, shows them to people, and notifies the bot."""

import re
from collections.abc import Iterable
from dataclasses import replace

from askback_sandbox.json_values import JsonObject

from .gateway import Gateway
from .guild import Guild
from .objects import channel_object, event_object
from .values import Flag, Place, Post, PostType

_USER = re.compile(r"<@!?(\d{1,20})>")
_ROLE = re.compile(r"<@&(\d{1,20})>")
_CODE = re.compile(r"```.*?```|``.*?``|`[^`\n]*`", re.DOTALL)
_EVERYONE = re.compile(r"@(everyone|here)\b")


class Posting:
    """Posts, changes and deletes messages and threads."""

    def __init__(self, guild: Guild, gateway: Gateway) -> None:
        self._guild = guild
        self._gateway = gateway

    def post(self, post: Post) -> Post:
        """Post a message and notify the bot, even of messages that it posted, but not of ephemeral ones.

        A message reopens an archived thread.
        """
        self._guild.put_post(post)
        place = self._guild.places[post.channel]
        if place.archived:
            self.change_place(replace(place, archived=False))
        if post.ephemeral_to is None:
            self._gateway.dispatch_post("MESSAGE_CREATE", post, event_object(self._guild, post))
        return post

    def change(self, post: Post) -> Post:
        """Replace a message with a newer version and notify the bot."""
        self._guild.put_post(post)
        if post.ephemeral_to is None:
            self._gateway.dispatch_post("MESSAGE_UPDATE", post, event_object(self._guild, post))
        return post

    def remove(self, *posts: Post) -> None:
        """Delete a message, or several of one channel at once."""
        for post in posts:
            self._guild.remove_post(post)
        seen = [post for post in posts if post.ephemeral_to is None]
        if not seen:
            return
        place = self._guild.places[seen[0].channel]
        where: JsonObject = {"channel_id": place.id, **({} if place.kind == "dm" else {"guild_id": self._guild.id})}
        if len(seen) == 1:
            self._gateway.dispatch_in(place, "MESSAGE_DELETE", {"id": seen[0].id, **where})
        else:
            self._gateway.dispatch_in(place, "MESSAGE_DELETE_BULK", {"ids": [post.id for post in seen], **where})

    def start_thread(self, place: Place, starter: Post | None) -> Place:
        """Create a thread, from a message or alone."""
        self._guild.put_place(place)
        if starter is not None:
            self.change(replace(starter, flags=starter.flags | Flag.HAS_THREAD))
            # A thread begins with an empty message that refers to the message from which it was started.
            self._guild.put_post(
                Post(
                    id=self._guild.next_id(),
                    channel=place.id,
                    author=starter.author,
                    sent=self._guild.clock.time(),
                    type=PostType.THREAD_STARTER,
                    reference=starter.id,
                    reference_channel=starter.channel,
                )
            )
        self._gateway.dispatch("THREAD_CREATE", {**channel_object(self._guild, place), "newly_created": True})
        return place

    def change_place(self, place: Place) -> Place:
        """Change a channel or thread."""
        changed = replace(place, changed=self._guild.clock.time())
        self._guild.put_place(changed)
        kind = "THREAD_UPDATE" if place.kind == "thread" else "CHANNEL_UPDATE"
        self._gateway.dispatch(kind, channel_object(self._guild, changed))
        return changed

    def remove_place(self, place: Place) -> None:
        """Delete a channel or thread, with its messages."""
        for post in [post for post in self._guild.posts.values() if post.channel == place.id]:
            self._guild.posts.pop(post.id, None)
        self._guild.places.pop(place.id, None)
        self._guild.touch()
        kind = "THREAD_DELETE" if place.kind == "thread" else "CHANNEL_DELETE"
        gone = {"id": place.id, "guild_id": self._guild.id, "parent_id": place.parent, "type": 11}
        if place.kind == "channel":
            gone["type"] = 0
        self._gateway.dispatch(kind, {**gone, "name": place.name})


def mentioned(content: str) -> tuple[list[str], list[str], bool]:
    """Return the mentioned users and roles, and True if everyone is mentioned; mentions in code do not count."""
    text = _CODE.sub(" ", content)
    return _unique(_USER.findall(text)), _unique(_ROLE.findall(text)), _EVERYONE.search(text) is not None


def _unique(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))
