"""The view of people on Discord: cards, messages and notices."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from askback.cli.preview import ASK_ID
from askback.domain.identity import Actor, Place
from askback_discord import control_ids
from askback_discord.layout import CONTINUED
from askback_discord.setup import NOBODY
from askback_sandbox.discord.components import each_component
from askback_sandbox.discord.values import Flag, Kind, Post
from askback_sandbox.json_values import JsonObject, as_object, as_text, copied, copied_all, objects
from contract.bots.driver import Card, Choice, Control, Line, Talk
from support.discord_markdown import read, seen

from .base import DiscordBase


class View(DiscordBase):
    """The view of people."""

    def callbacks(self) -> list[int]:
        """Return the types of the first answers that Discord accepted, in order."""
        return [
            int(str(call.body["type"]))
            for call in self.guild.log
            if call.operation == "create_interaction_response" and call.status < 300
        ]

    def operations(self) -> list[str]:
        return [call.operation for call in self.guild.log]

    def cards(self, talk: Talk) -> tuple[Card, ...]:
        found: list[Card] = []
        for post in self._posts(talk):
            if not is_card(post):
                continue
            text = component_text(post.components)
            if found and text.startswith(read_text(CONTINUED)):
                found[-1] = replace(found[-1], text=f"{found[-1].text}\n{text}")
                continue
            found.append(
                Card(
                    id=post.id,
                    talk=talk,
                    text=text,
                    notification=text,
                    controls=tuple(controls(post.components)),
                    handle=tuple(copied_all(list(post.components))),
                )
            )
        return tuple(found)

    def lines(self, talk: Talk) -> tuple[Line, ...]:
        return tuple(
            Line(
                author=post.author,
                text=component_text(post.components) if is_card(post) else read_text(post.content),
                bot=post.author == self.guild.bot.id,
                card=is_card(post),
                links=tuple(node.text for node in read(post.content) if node.kind == "address"),
            )
            for post in self._posts(talk)
        )

    def notices(self, person: str) -> tuple[str, ...]:
        return tuple(read_text(post.content) for post in self.told(person))

    def alone(self, person: str) -> str:
        return "\n".join(self.notices(person))

    def replies(self, person: str) -> tuple[str, ...]:
        who, posts = self._person(person).id, self.guild.posts
        return tuple(
            read_text(post.content)
            for post in sorted(posts.values(), key=lambda post: int(post.id))
            if post.author == self.guild.bot.id and post.reference in posts and posts[post.reference].author == who
        )

    def pings(self) -> tuple[str, ...]:
        found: list[str] = []
        posts: set[str] = set()
        for call in self.guild.log:
            new = as_text(as_object(call.answer).get("id"))
            if call.operation != "create_message" or call.status >= 300 or new in posts:
                continue
            posts.add(new)
            text = "\n".join([as_text(call.body.get("content")), *_displays(call.body.get("components"))])
            allowed = as_object(call.body.get("allowed_mentions"))
            told = {*_texts(allowed.get("users")), *_texts(allowed.get("roles")), *_texts(allowed.get("parse"))}
            found += [f"@{one}" for one in dict.fromkeys(re.findall(r"<@[!&]?(\d+)>", text)) if one in told]
        return tuple(found)

    def actor(self, person: str) -> Actor:
        who = self._person(person)
        return Actor(platform="discord", id=who.id, name=who.global_name)

    def place(self, talk: Talk) -> Place:
        room = self.guild.places[talk.channel]
        if room.kind == "dm":
            return Place(platform="discord", channel=talk.channel)
        return Place(platform="discord", tenant=self.guild.id, channel=talk.channel, thread=talk.thread)

    def parts(self, talk: Talk) -> tuple[str, ...]:
        return tuple(post.id for post in self._posts(talk) if is_card(post))

    def posted(self, card: Card) -> list[dict[str, Any]]:
        control = control_ids.parse(next(one.handle["custom_id"] for one in card.controls))
        assert control is not None
        # A temporarily refused call is repeated with the same nonce.
        found = {
            nonce: {name: value for name, value in call.body.items() if name not in ("nonce", "enforce_nonce")}
            for call in self.guild.log
            if call.operation == "create_message"
            and (nonce := as_text(call.body.get("nonce"))).startswith(control.ask_id)
        }
        names = {control.ask_id: ASK_ID, **{person.id: NOBODY for person in self.guild.people.values()}}
        text = re.sub("|".join(map(re.escape, names)), lambda match: names[match[0]], json.dumps(list(found.values())))
        return json.loads(text)

    def api_calls(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        return tuple((call.operation, dict(call.body)) for call in self.guild.log)


def is_card(post: Post) -> bool:
    """Return True if the post is a card: cards are made of components, texts are not."""
    return bool(post.flags & Flag.COMPONENTS_V2)


def controls(components: tuple[JsonObject, ...]) -> Iterator[Control]:
    for component, _ in each_component([*components]):
        if component.get("type") == Kind.BUTTON:
            yield Control(kind="button", label=as_text(component.get("label")), handle=copied(component))
        elif component.get("type") == Kind.STRING_SELECT:
            options = objects(component.get("options"))
            yield Control(
                kind="menu" if component.get("max_values") == 1 and component.get("min_values") == 1 else "several",
                label=as_text(component.get("placeholder")),
                choices=tuple(
                    Choice(as_text(option.get("label")), option.get("default") is True) for option in options
                ),
                handle=copied(component),
            )
        elif component.get("type") in (Kind.USER_SELECT, Kind.CHANNEL_SELECT):
            yield Control(
                kind="several" if component.get("min_values") == 0 else "menu",
                label=as_text(component.get("placeholder")),
                choices=tuple(Choice(as_text(one.get("id")), True) for one in objects(component.get("default_values"))),
                handle=copied(component),
            )


def _displays(components: object) -> list[str]:
    return [
        as_text(one.get("content"))
        for one, _ in each_component(components)  # type: ignore[arg-type]
        if one.get("type") == Kind.TEXT_DISPLAY
    ]


def component_text(components: tuple[JsonObject, ...]) -> str:
    return "\n".join(map(read_text, _displays([*components])))


@lru_cache(maxsize=20_000)
def read_text(markdown: str) -> str:
    """Return the text as people see it, without invisible marks."""
    text = re.sub("[\u200b\u200e\u200f\u2060\u2066-\u2069]", "", seen(read(markdown)))
    return re.sub(r"<t:(\d+):\w>", lambda match: f"{datetime.fromtimestamp(int(match[1]), UTC):%d %B %Y %H:%M}", text)


def _texts(values: object) -> list[str]:
    return [str(value) for value in values] if isinstance(values, list) else []
