"""The desk on Discord: a local guild, and the real bot with discord.py connected to it."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import pytest
from discord.gateway import KeepAliveHandler

from askback.cli.preview import ASK_ID
from askback.domain.ask_limits import Limits
from askback.domain.identity import Actor, Place
from askback.ports.installed_bots import get_bot
from askback.runtime.app import Host, running
from askback.settings.core import Settings
from askback.settings.loader import load
from askback.store import transactions
from askback_discord import control_ids
from askback_discord.clicks import TAKEN, Clicks
from askback_discord.layout import CONTINUED
from askback_discord.setup import NOBODY
from askback_sandbox.attached import Attached
from askback_sandbox.discord import payloads as discord_payloads
from askback_sandbox.discord.clicks import Delivery, Target
from askback_sandbox.discord.components import each_component
from askback_sandbox.discord.faults import DiscordFault
from askback_sandbox.discord.guild import Guild
from askback_sandbox.discord.values import Done, DoneKind, Flag, Kind, Member, Post
from askback_sandbox.discord.values import Place as Room
from askback_sandbox.json_values import JsonObject, as_object, as_text, copied, copied_all, objects
from askback_sandbox.model.model import Model
from askback_sandbox.services import Services
from support import discord_cards as cards
from support.clocks import SharedClock
from support.discord_markdown import read, seen
from support.stores import url_in

from .driver import (
    ACK_MS,
    COMMIT_SECONDS,
    GENERAL,
    GROUPS,
    Card,
    Choice,
    Clicked,
    Control,
    Journal,
    Line,
    Talk,
    TextField,
    What,
    until,
)

OPENAPI = Path(__file__).parents[4] / "shared" / "schemas" / "discord-openapi.json"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy")
TOOLS = "AskUserQuestion,question,askQuestion,ask"
OPERATIONS: dict[What, str] = {
    "post": "create_message",
    "text": "create_message",
    "change": "update_message",
    "field": "create_interaction_response",
    "answer": "create_interaction_response",
    "look": "list_messages",
}
REFUSALS: dict[What, tuple[int, int]] = {
    "post": (403, 50013),
    "change": (404, 10008),
    "field": (404, 10062),
    "answer": (404, 10062),
}
WHY: dict[What, str] = {"post": "I lack one of these permissions there", "change": "", "field": "", "answer": ""}
TRY_AGAIN = "Try again"
TO_COPY = "Here is your text, so that you can copy it:"
USER_JOIN = 7


@asynccontextmanager
async def open_desk(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    limits: Limits | None = None,
    privileged: int | None = None,
    public: bool = False,
    start: bool = True,
    connections: int = 1,
    database: str | None = None,
) -> AsyncGenerator[DiscordDesk]:
    """Yield a guild with the bot in it, until the block ends.

    `privileged`: the intents that its application may use; `public`: True if anyone may add it to a server.
    Without `start`, the scenario runs the bot itself. `connections`: the number of independent connections, like that
    many processes on one database.
    """
    for name in (*PROXIES, "ASKBACK_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    journal = Journal()
    logging.getLogger().addHandler(journal)
    clock = SharedClock()
    guild = Guild(clock=clock)
    guild.app = replace(guild.app, public=public)
    if privileged is not None:
        guild.app = replace(guild.app, privileged=privileged)
    for person in guild.people.values():
        guild.people[person.id] = replace(person, global_name=person.name)
    handled: list[int] = []
    interaction = Clicks.handle_interaction

    async def counted(self: Clicks, one: Any) -> None:
        await interaction(self, one)
        handled.append(one.id)

    monkeypatch.setattr(Clicks, "handle_interaction", counted)
    monkeypatch.setattr(transactions, "CLICK_SECONDS", COMMIT_SECONDS)
    try:
        async with (
            clock.running(),
            Services(port=0, guild=guild, discord_openapi=OPENAPI if OPENAPI.exists() else None) as services,
        ):
            environment = {
                **services.environment,
                "ASKBACK_DATABASE_URL": database or url_in(tmp_path) or str(tmp_path / "desk.db"),
                "ASKBACK_TOOLS": TOOLS,
            }
            for name, value in environment.items():
                monkeypatch.setenv(name, value)
            desk = DiscordDesk(services, journal, handled, limits or Limits(seconds_between_asks=0))
            if start:
                async with desk.bot(connections):
                    yield desk
            else:
                yield desk
            audit(desk)
    finally:
        logging.getLogger().removeHandler(journal)
    assert not [one for one in threading.enumerate() if isinstance(one, KeepAliveHandler)], "a heartbeat goes on"


def allow(monkeypatch: pytest.MonkeyPatch, **lists: Sequence[str]) -> None:
    """Set the people who may talk to the bot, by names if they have any."""
    guild = Guild()
    ids = {thing.name: thing.id for thing in (*guild.places.values(), *guild.people.values(), *guild.roles.values())}
    words = {"groups": "ALLOW_ROLES", "admin_groups": "ADMIN_ROLES", "admins": "ADMINS"}
    for name, entries in lists.items():
        variable = f"ASKBACK_DISCORD_{words.get(name, f'ALLOW_{name.upper()}')}"
        monkeypatch.setenv(variable, ",".join(ids.get(entry, entry) for entry in entries))


def accepted(messages: list[dict[str, Any]]) -> None:
    """Fail if Discord, or its OpenAPI document, would reject the output of `askback preview`."""
    for message in messages:
        cards.accepted([message])


def readable(messages: list[dict[str, Any]]) -> str:
    """Return all readable text in the output of `askback preview`, except the controls'."""
    return "\n".join(_text(tuple(message["components"])) for message in messages)


def audit(desk: DiscordDesk) -> None:
    """Check the rules for everything that a bot sends, in every scenario."""
    answers: Counter[str] = Counter()
    for call in desk.guild.log:
        assert as_object(call.answer).get("code") != 50035, (call.operation, call.answer)
        body = call.body
        if call.operation == "create_interaction_response":
            answers[call.path] += call.status < 300
            if body.get("type") not in (4, 7):
                continue
            body = as_object(body.get("data"))
        elif call.operation not in ("create_message", "update_message", "execute_webhook"):
            continue
        allowed = as_object(body.get("allowed_mentions"))
        assert allowed.get("parse") == [], (call.operation, body)
        if call.operation != "create_message":
            assert not set(allowed) - {"parse"}, (call.operation, allowed)
        else:
            assert body.get("enforce_nonce") is True
            assert 1 <= len(as_text(body.get("nonce"))) <= 25, body.get("nonce")
    assert not [path for path, count in answers.items() if count > 1], "an interaction was answered twice"


def archived(thread: Room) -> Room:
    return replace(thread, archived=True)


class DiscordDesk:
    """See `Desk`."""

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

    @asynccontextmanager
    async def bot(self, connections: int = 1) -> AsyncGenerator[None]:
        """Run the bot until the block ends, like one process."""
        async with running([get_bot("discord")] * connections, load(Settings), limits=self._limits) as self.host:
            await until(lambda: self.gateway.connections == connections, "it is connected")
            yield

    def forget_nonces(self) -> None:
        for post in tuple(self.guild.posts.values()):
            self.guild.posts[post.id] = replace(post, nonce=None)

    def drop_undelivered(self) -> None:
        """Discord delivers nothing later."""

    def _dispatch(self, kind: str, post: Post, data: JsonObject) -> None:
        self._dispatch_post(kind, post, data)
        if kind == "MESSAGE_UPDATE" and post.author != self.guild.bot.id:
            self._updates.append((kind, post, data))
        if self._twice and kind == "MESSAGE_CREATE" and post.author != self.guild.bot.id:
            self._twice -= 1
            self._dispatch_post(kind, post, data)

    async def handled_since(self, count: int) -> None:
        """Wait until the bot has finished more interactions than that."""
        await until(lambda: len(self.handled) > count, "the bot is done with it")

    def callbacks(self) -> list[int]:
        """Return the types of the first answers that Discord accepted, in order."""
        return [
            int(str(call.body["type"]))
            for call in self.guild.log
            if call.operation == "create_interaction_response" and call.status < 300
        ]

    def operations(self) -> list[str]:
        return [call.operation for call in self.guild.log]

    # people write

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

    async def attach(self, person: str, text: str, talk: Talk, *files: str) -> None:
        room = await self.room(talk)
        self.services.discord.people.write(person, room.id, text, files=tuple(map(Attached, files)))

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

    async def room(self, talk: Talk) -> Room:
        """Return the thread, or the channel, once it exists."""
        return await until(lambda: self.guild.place(talk.thread or talk.channel), "the thread begins")

    def can_stop(self, talk: Talk) -> bool:
        return bool(self.stop_buttons(talk))

    def stop_buttons(self, talk: Talk) -> list[tuple[Post, Control]]:
        """Return the stop buttons below texts that are being streamed."""
        return [
            (post, control)
            for post in self._posts(talk)
            for control in _controls(post.components)
            if as_text(control.handle["custom_id"]).startswith("askback:stop:")
        ]

    async def stop(self, person: str, talk: Talk) -> None:
        ((post, control),) = self.stop_buttons(talk)
        await self.press_stop(person, post, control)

    async def press_stop(self, person: str, post: Post, control: Control) -> Done:
        """Press such a button, even if it is gone."""
        custom_id, before = as_text(control.handle["custom_id"]), len(self.handled)
        target = Target(
            person=person, channel=post.channel, message=post.id, custom_id=custom_id, components=post.components
        )
        done = await self.services.discord.clicks.click(target, Delivery())
        _checked(_clicked(done))
        await self.handled_since(before)
        return done

    def mood(self, talk: Talk) -> str | None:
        room = talk.thread or talk.channel
        types = any(one.channel == room and one.user == self.guild.bot.id for one in self.guild.typing)
        return "working" if types or self.stop_buttons(talk) else None

    # people use controls

    async def press(self, person: str, card: Card, label: str) -> Clicked:
        control = card.control(label)
        assert not control.handle.get("disabled"), f"{label!r} cannot be pressed"
        return await self._act(person, card, control, None)

    async def pick(self, person: str, card: Card, *labels: str) -> Clicked:
        wanted, now = list(labels), card
        for _ in range(1 + len(labels) * 50):
            here = [label for label in wanted if any(_is(choice.label, label) for choice in now.menu.choices)]
            if here:
                values = [
                    as_text(option.get("value"))
                    for option in objects(now.menu.handle.get("options"))
                    if any(_is(as_text(option.get("label")), label) for label in here)
                ]
                clicked = await self._act(person, now, now.menu, values)
                wanted = [label for label in wanted if label not in here]
                if not wanted:
                    return clicked
            await self.flip(person, now)
            now = self.newest(now)
        raise AssertionError(f"no {wanted} on any page")

    async def flip(self, person: str, card: Card) -> Clicked:
        """Turn to the next page of a long menu, from the last one back to the first."""
        while card.control("▶").handle.get("disabled"):
            await self.press(person, card, "◀")
            card = self.newest(card)
            if card.control("◀").handle.get("disabled"):
                return Clicked(acked=True, ms=0.0, error=None)
        return await self.press(person, card, "▶")

    def newest(self, card: Card) -> Card:
        """Return the current state of the same message."""
        return next(one for one in self.cards(card.talk) if one.id == card.id)

    async def search(self, person: str, card: Card, query: str) -> tuple[str, ...]:
        raise NotImplementedError("Discord has no menus that are searched")

    async def open_field(self, person: str, card: Card, label: str = "Something else…") -> TextField:
        who = self._person(person)
        self.guild.modals.pop(who.id, None)
        self._errors.pop(person, None)
        await self.press(person, card, label)
        await until(lambda: who.id in self.guild.modals, "a text field opens")
        found = self.field(person)
        assert found is not None
        return found

    def field(self, person: str) -> TextField | None:
        opened = self.guild.modals.get(self._person(person).id)
        if opened is None:
            return None
        components = [one for one, _ in each_component(opened.modal.get("components"))]
        (entry,) = (one for one in components if one.get("type") == Kind.TEXT_INPUT)
        texts = [_read(as_text(one.get("content"))) for one in components if one.get("type") == Kind.TEXT_DISPLAY]
        return TextField(
            text="\n".join([as_text(opened.modal.get("title")), *texts]),
            placeholder=as_text(entry.get("placeholder")),
            value=as_text(entry.get("value")),
            errors=self._errors.get(person, ()),
        )

    async def submit(self, person: str, text: str) -> tuple[str, ...]:
        """Submit the text. A field of Discord's closes in any case; if a notice offers it again, it is reopened."""
        if self.field(person) is None:
            await self.press_on_notice(person, TRY_AGAIN)
        before = self._told(person)
        done = await self.submit_once(person, text)
        _checked(_clicked(done))
        self._errors.pop(person, None)
        new = [post for post in self._told(person) if post not in before]
        if not new or _read(new[-1].content) == TAKEN:
            return ()
        reason = _read(new[-1].content).partition(TO_COPY)[0].strip()
        again = next((one for one in _controls(new[-1].components) if one.label == TRY_AGAIN), None)
        if again is not None:
            await self.press_on_notice(person, TRY_AGAIN)
            self._errors[person] = (reason,)
        return (reason,)

    async def submit_once(self, person: str, text: str) -> Done:
        """Send the open text field; any outcome is accepted."""
        opened = self.guild.modals[self._person(person).id]
        return await self.services.discord.clicks.submit(person, opened.custom_id, {control_ids.TEXT: text}, Delivery())

    async def press_on_notice(self, person: str, label: str) -> Done:
        """Press a button on the newest ephemeral notice."""
        notice, control = next(
            (notice, one)
            for notice in reversed(self._told(person))
            for one in _controls(notice.components)
            if one.label == label
        )
        target = Target(
            person=person, channel=notice.channel, message=notice.id, custom_id=as_text(control.handle["custom_id"])
        )
        return await self.services.discord.clicks.click(target, Delivery())

    def kept(self, person: str) -> str:
        told = self._told(person)
        given_back = _read(told[-1].content).partition(TO_COPY)[2].strip() if told else ""
        field = self.field(person)
        return given_back or ("" if field is None else field.value)

    async def close_field(self, person: str) -> None:
        self.services.discord.clicks.dismiss(person)

    async def replay(self, times: int = 1) -> list[Clicked]:
        done = self._last_done
        assert done is not None
        before = len(self.handled)
        for _ in range(times):
            self.gateway.dispatch("INTERACTION_CREATE", {**self._last, "id": done.id, "token": done.token})
        await until(lambda: len(self.handled) >= before + times, "the bot has taken them")
        return [_checked(_clicked(self.guild.done_by_id(done.id) or done))] * times

    async def forged(self, person: str, card: Card, what: Literal["unknown", "foreign", "outsider"]) -> Clicked:
        control = next(one for one in card.controls if one.kind == "button")
        component: JsonObject = dict(control.handle)
        match what:
            case "unknown":
                kind, _, *rest = str(component["custom_id"]).removeprefix("askback:").split(":")
                component["custom_id"] = ":".join(("askback", kind, "A" * 22, *rest))
            case "foreign":
                component["custom_id"] = "approve_deploy"
            case "outsider":
                raise NotImplementedError("a person's id is the same everywhere on Discord")
        return await self._act(person, card, replace(control, handle=component), None)

    async def _act(self, person: str, card: Card, control: Control, values: list[str] | None) -> Clicked:
        before = len(self.handled)
        self._last = self.payload(person, card, control, values)
        done = await self.services.discord.clicks.raw(self._last, Delivery())
        self._last_done = done
        if not self._unanswered:
            _checked(_clicked(done))
            await self.handled_since(before)
        return _clicked(done)

    def payload(self, person: str, card: Card, control: Control, values: list[str] | None = None) -> JsonObject:
        """Return the payload that Discord sends for a click on the card as it was seen."""
        room = self.guild.places[card.talk.thread or card.talk.channel]
        component: JsonObject = control.handle
        kind: DoneKind = "component"
        done = Done(
            id="0", token="", kind=kind, person=self._person(person).id, channel=room.id, message=card.id, issued=0.0
        )
        data = discord_payloads.component_data(component, values, {})
        payload = discord_payloads.interaction(self.guild, self._person(person), room, done, data)
        if "message" in payload:
            payload["message"] = {**as_object(payload["message"]), "components": [*copied_all(list(card.handle))]}
        return payload

    # what people see

    def cards(self, talk: Talk) -> tuple[Card, ...]:
        found: list[Card] = []
        for post in self._posts(talk):
            if not _is_card(post):
                continue
            text = _text(post.components)
            if found and text.startswith(_read(CONTINUED)):
                found[-1] = replace(found[-1], text=f"{found[-1].text}\n{text}")
                continue
            found.append(
                Card(
                    id=post.id,
                    talk=talk,
                    text=text,
                    notification=text,
                    controls=tuple(_controls(post.components)),
                    handle=tuple(copied_all(list(post.components))),
                )
            )
        return tuple(found)

    def lines(self, talk: Talk) -> tuple[Line, ...]:
        return tuple(
            Line(
                author=post.author,
                text=_text(post.components) if _is_card(post) else _read(post.content),
                bot=post.author == self.guild.bot.id,
                card=_is_card(post),
                links=tuple(node.text for node in read(post.content) if node.kind == "address"),
            )
            for post in self._posts(talk)
        )

    def notices(self, person: str) -> tuple[str, ...]:
        return tuple(_read(post.content) for post in self._told(person))

    def alone(self, person: str) -> str:
        return "\n".join(self.notices(person))

    def replies(self, person: str) -> tuple[str, ...]:
        who, posts = self._person(person).id, self.guild.posts
        return tuple(
            _read(post.content)
            for post in sorted(posts.values(), key=lambda post: int(post.id))
            if post.author == self.guild.bot.id and post.reference in posts and posts[post.reference].author == who
        )

    def _told(self, person: str) -> list[Post]:
        who = self._person(person).id
        found = [post for post in self.guild.posts.values() if post.ephemeral_to == who]
        return sorted(found, key=lambda post: int(post.id))

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

    # who is who

    def join_group(self, person: str) -> None:
        self._put_roles(person, {*self._person(person).roles, GROUPS[self.platform]})

    def leave_group(self, person: str) -> None:
        self._put_roles(person, {*self._person(person).roles} - {GROUPS[self.platform]})

    def _put_roles(self, person: str, roles: set[str]) -> None:
        self.guild.add_person(replace(self._person(person), roles=tuple(sorted(roles))))

    def actor(self, person: str) -> Actor:
        who = self._person(person)
        return Actor(platform="discord", id=who.id, name=who.global_name)

    def place(self, talk: Talk) -> Place:
        room = self.guild.places[talk.channel]
        if room.kind == "dm":
            return Place(platform="discord", channel=talk.channel)
        return Place(platform="discord", tenant=self.guild.id, channel=talk.channel, thread=talk.thread)

    # what goes wrong

    def slow_down(self, what: What, *, seconds: int = 1, times: int = 1) -> None:
        # Without Via, like the proxy in front of Discord; discord.py waits automatically for the other kind.
        self.guild.faults.ratelimit(OPERATIONS[what], retry_after=seconds, via=False, times=times)

    def cut(self, what: What) -> None:
        self.guild.faults.add(DiscordFault(kind="drop", operation=OPERATIONS[what]))

    def delay(self, what: What, *, seconds: float) -> Callable[[], bool]:
        faults = self.guild.faults
        added = faults.add(DiscordFault(kind="delay", operation=OPERATIONS[what], seconds=seconds))
        return lambda: added not in faults.active

    def refuse(self, what: What | Literal["everything"], *, times: int | None = 1) -> str:
        if what == "everything":
            self.guild.faults.fail("*", 401, times=times)
            return "rejects DISCORD_TOKEN"
        self._unanswered = self._unanswered or what in ("answer", "field")
        status, code = REFUSALS[what]
        self.guild.faults.fail(OPERATIONS[what], status, code, times=times)
        return WHY[what]

    def lose_answer(self, what: What, *, times: int | None = 1) -> None:
        self.guild.faults.add(DiscordFault(kind="lost_answer", operation=OPERATIONS[what], times=times))

    def end_faults(self) -> None:
        self.guild.faults.clear()

    async def lose_connection(self, *, politely: bool = False) -> None:
        before = self.connection_count()
        if politely:
            self.gateway.reconnect()
            await until(lambda: self.connection_count() > before, "the bot comes back")
            return
        self.gateway.drop()
        await until(lambda: self.gateway.connections == 0 or self.connection_count() > before, "the socket is gone")

    async def lose_session(self) -> None:
        before = self.connection_count()
        self.gateway.drop(resumable=False)
        await until(lambda: self.connection_count() > before, "another session")

    async def reconnected(self) -> None:
        await until(lambda: self.gateway.connections > 0, "the bot is back", within=30)

    async def fall_silent(self) -> None:
        self.gateway.freeze()

    def signs_of_life(self) -> int:
        return self.gateway.heartbeats

    async def press_into_silence(self, person: str, card: Card, label: str) -> Callable[[], Awaitable[Clicked]]:
        pressed = asyncio.create_task(self.press(person, card, label))

        async def again() -> Clicked:
            return await pressed  # resuming replays it

        return again

    async def press_in_vain(self, person: str, card: Card, label: str) -> str:
        raise NotImplementedError("a click that the bot misses is delivered when it resumes")

    def connection_count(self) -> int:
        return self.gateway.identified + self.gateway.resumed

    async def delete(self, card: Card) -> None:
        self.services.discord.people.moderate("cy", self.guild.posts[card.id].channel, card.id)

    async def delete_twice(self, card: Card) -> None:
        self.guild.faults.add(DiscordFault(kind="replay", operation="MESSAGE_DELETE"))
        await self.delete(card)

    async def delete_part(self, card: Card, number: int) -> None:
        self.services.discord.people.moderate("cy", self.guild.posts[card.id].channel, self.parts(card.talk)[number])

    def parts(self, talk: Talk) -> tuple[str, ...]:
        return tuple(post.id for post in self._posts(talk) if _is_card(post))

    async def lose(self, card: Card) -> None:
        self.guild.remove_post(self.guild.posts[card.id])

    async def close_room(self, talk: Talk) -> None:
        self.services.discord.posting.remove_place(await self.room(talk))

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


def _is_card(post: Post) -> bool:
    """Return True if the post is a card: cards are made of components, texts are not."""
    return bool(post.flags & Flag.COMPONENTS_V2)


def _controls(components: tuple[JsonObject, ...]) -> Iterator[Control]:
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


def _displays(components: object) -> list[str]:
    return [
        as_text(one.get("content"))
        for one, _ in each_component(components)  # type: ignore[arg-type]
        if one.get("type") == Kind.TEXT_DISPLAY
    ]


def _text(components: tuple[JsonObject, ...]) -> str:
    return "\n".join(map(_read, _displays([*components])))


@lru_cache(maxsize=20_000)
def _read(markdown: str) -> str:
    """Return the text as people see it, without invisible marks."""
    text = re.sub("[\u200b\u200e\u200f\u2060\u2066-\u2069]", "", seen(read(markdown)))
    return re.sub(r"<t:(\d+):\w>", lambda match: f"{datetime.fromtimestamp(int(match[1]), UTC):%d %B %Y %H:%M}", text)


def _texts(values: object) -> list[str]:
    return [str(value) for value in values] if isinstance(values, list) else []


def _is(shown: str, wanted: str) -> bool:
    bare = re.sub(r"^\d+\. ", "", shown)
    return bare == wanted or shown == wanted or (bare.endswith("…") and wanted.startswith(bare[:-1]))


def _clicked(done: Done) -> Clicked:
    return Clicked(done.acked is True, done.ack_ms, done.error)


def _checked(clicked: Clicked) -> Clicked:
    """Check that the click was acked in time; this holds for every click of every scenario."""
    assert clicked.acked, clicked
    assert clicked.ms is not None
    assert clicked.ms < ACK_MS, clicked
    return clicked
