"""The desk on Slack: a local workspace, and the real bot with slack-bolt connected to it."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from askback.cli.preview import ASK_ID
from askback.domain.ask_limits import Limits
from askback.domain.identity import Actor, Place
from askback.ports.bot import BotOptions
from askback.ports.installed_bots import get_bot
from askback.runtime.app import Host, running
from askback.settings.core import Settings
from askback.settings.loader import load
from askback.store import transactions
from askback_sandbox.attached import Attached
from askback_sandbox.json_values import JsonObject, as_object, copied, objects
from askback_sandbox.model.model import Model
from askback_sandbox.play.controls import Control as Drawn
from askback_sandbox.services import Services
from askback_sandbox.slack import payloads as slack_payloads
from askback_sandbox.slack.clicks import Target
from askback_sandbox.slack.controls import controls, words
from askback_sandbox.slack.drawing import body, message_text
from askback_sandbox.slack.faults import Fault
from askback_sandbox.slack.http import SlackHttp
from askback_sandbox.slack.modals import REQUIRED
from askback_sandbox.slack.socket import Ack, SlackSocket
from askback_sandbox.slack.values import Interaction, Message, Person, UserGroup
from askback_sandbox.slack.workspace import Workspace, scope_of
from askback_slack.render import SlackMessage
from support import slack_cards as cards
from support.clocks import SharedClock
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

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy")
TOOLS = "AskUserQuestion,question,askQuestion,ask"
METHODS: dict[What, str] = {
    "post": "chat.postMessage",
    "text": "chat.startStream",
    "change": "chat.update",
    "field": "views.open",
    "answer": "response_url",
    "look": "conversations.replies",
}
REFUSALS: dict[What, str] = {
    "post": "not_in_channel",
    "change": "message_not_found",
    "field": "expired_trigger_id",
    "answer": "used_url",
}


@asynccontextmanager
async def open_desk(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    limits: Limits | None = None,
    http: bool = False,
    start: bool = True,
    connections: int = 1,
    database: str | None = None,
) -> AsyncGenerator[SlackDesk]:
    """Yield a workspace with the bot in it, until the block ends. `http`: use signed HTTP instead of a socket.

    Without `start`, the scenario runs the bot itself. `connections`: the number of independent connections, like that
    many processes on one database.
    """
    for name in (*PROXIES, "SLACK_CLIENT_ID", "SLACK_CLIENT_SECRET", "ASKBACK_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(transactions, "CLICK_SECONDS", COMMIT_SECONDS)
    journal = Journal()
    logging.getLogger().addHandler(journal)
    try:
        clock = SharedClock()
        workspace = Workspace(clock=clock)
        delivery = SlackHttp(workspace, event_retries=(0.1,) * 5) if http else SlackSocket(workspace)
        async with clock.running(), Services(port=0, workspace=workspace, socket=delivery) as services:
            environment = {
                **services.environment,
                "ASKBACK_DATABASE_URL": database or url_in(tmp_path) or str(tmp_path / "desk.db"),
                "ASKBACK_TOOLS": TOOLS,
            }
            for name, value in environment.items():
                monkeypatch.setenv(name, value)
            if isinstance(delivery, SlackHttp):
                monkeypatch.delenv("SLACK_APP_TOKEN")
                monkeypatch.setenv("SLACK_SIGNING_SECRET", delivery.secret)
            desk = SlackDesk(services, delivery, journal, limits or Limits(seconds_between_asks=0))
            if start:
                async with desk.bot(connections):
                    yield desk
            else:
                yield desk
    finally:
        logging.getLogger().removeHandler(journal)


def allow(monkeypatch: pytest.MonkeyPatch, **lists: Sequence[str]) -> None:
    """Set the people who may talk to the bot, by names if they have any."""
    workspace = Workspace()
    ids = {thing.name: thing.id for thing in (*workspace.channels.values(), *workspace.people.values())}
    ids |= {group.handle: group.id for group in workspace.groups.values()}
    for name, entries in lists.items():
        variable = f"ASKBACK_SLACK_{'' if name.startswith('admin') else 'ALLOW_'}{name.upper()}"
        monkeypatch.setenv(variable, ",".join(ids.get(entry, entry) for entry in entries))


def accepted(messages: list[dict[str, Any]]) -> None:
    """Fail if Slack, its library or blockkit would reject the output of `askback preview`."""
    for message in messages:
        cards.accepted([SlackMessage(text=message["text"], blocks=tuple(message["blocks"]))])


def readable(messages: list[dict[str, Any]]) -> str:
    """Return all readable text in the output of `askback preview`, except the controls'."""
    return "\n".join(body(message["blocks"]) for message in messages)


class SlackDesk:
    """See `Desk`."""

    platform = "slack"

    host: Host

    def __init__(self, services: Services, delivery: SlackSocket | SlackHttp, journal: Journal, limits: Limits) -> None:
        self.services = services
        self.workspace = services.workspace
        self.journal = journal
        self._delivery = delivery
        self._limits = limits
        self.model: Model = services.model
        self._last: JsonObject = {}
        self._told: list[JsonObject] = []
        """The events about messages that people wrote or edited."""
        self._tell = services.socket.tell
        services.socket.tell = self._noted  # type: ignore[method-assign]

    @asynccontextmanager
    async def bot(self, connections: int = 1) -> AsyncGenerator[None]:
        """Run the bot until the block ends, like one process."""
        bots = [get_bot("slack")] * connections
        if isinstance(self._delivery, SlackHttp):
            bots = [get_bot("slack", BotOptions(http="127.0.0.1:0"))]
        async with running(bots, load(Settings), limits=self._limits) as self.host:
            if isinstance(self._delivery, SlackHttp):
                address = await until(lambda: self.host.connections["slack"].address, "the bot listens")
                assert await self._delivery.send_to(f"http://{address}"), self._delivery.sent
            await until(lambda: self.services.socket.connections == connections, "it is connected")
            yield

    def forget_nonces(self) -> None:
        """Slack knows none."""

    def drop_undelivered(self) -> None:
        self._delivery._event_retries = ()

    def _noted(self, payload: JsonObject, done: Callable[[Ack], None] | None = None) -> None:
        if done is not None:
            self._told.append(payload)
        self._tell(payload, done)

    # people write

    async def mention(self, person: str, text: str, channel: str = GENERAL) -> Talk:
        message = self.services.people.write(person, channel, f"@askback {text}")
        return Talk(message.channel, message.ts)

    async def thread(self, person: str, text: str) -> Talk:
        message = self.services.people.write(person, GENERAL, text)
        return Talk(message.channel, message.ts)

    async def direct(self, person: str, text: str, *, thread: bool = False) -> Talk:
        who = self._person(person)
        channel = self.workspace.dm(who.id)
        assert channel is not None
        if not thread:
            self.services.people.write(person, channel.id, text)
            return Talk(channel.id, None)
        root = self.workspace.put_message(
            Message(channel=channel.id, ts=self.workspace.next_ts(), user=who.id, text="(earlier)")
        )
        self.services.people.write(person, channel.id, text, root.ts)
        return Talk(channel.id, root.ts)

    async def say(self, person: str, text: str, talk: Talk) -> None:
        self.services.people.write(person, talk.channel, text, talk.thread)

    async def attach(self, person: str, text: str, talk: Talk, *files: str) -> None:
        self.services.people.write(person, talk.channel, text, talk.thread, files=tuple(map(Attached, files)))

    async def share(self, person: str, text: str, author: str, talk: Talk) -> None:
        other = self._person(author)
        shared: JsonObject = {
            "fallback": f"[September 1st] {author}: {text}",
            "author_id": other.id,
            "author_name": author,
            "is_share": True,
            "is_msg_unfurl": True,
            "text": text,
        }
        self._post(talk, user=self._person(person).id, attachments=(shared,))

    async def program(self, text: str, talk: Talk) -> str:
        self._post(talk, user="", program="B0WORKFLOW", username="Deploy Bot", text=text)
        return "B0WORKFLOW"

    def _post(self, talk: Talk, **fields: Any) -> None:
        message = Message(
            channel=talk.channel, ts=self.workspace.next_ts(), thread_ts=talk.thread, **{"text": "", **fields}
        )
        self.services.posting.post(message)

    async def mention_in(self, person: str, text: str, talk: Talk) -> None:
        self.services.people.write(person, talk.channel, f"@askback {text}", talk.thread)

    async def edit(self, person: str, text: str, talk: Talk, *, which: int = -1) -> None:
        ts = self._own(person, talk)[which].ts
        self.services.people.edit(person, talk.channel, ts, self._as_written(talk, ts, text))

    def _as_written(self, talk: Talk, ts: str, text: str) -> str:
        """Return the text of an edit, which keeps the mention of the bot."""
        return f"@askback {text}" if self.workspace.messages[talk.channel, ts].text.startswith("<@") else text

    def _own(self, person: str, talk: Talk) -> list[Message]:
        who = self._person(person).id
        return [message for message in self._messages(talk) if message.user == who]

    async def take_back(self, person: str, talk: Talk) -> None:
        self.services.people.delete(person, talk.channel, self._own(person, talk)[-1].ts)

    async def redeliver_edit(self, which: int = -1) -> None:
        edits = [one for one in self._told if as_object(one.get("event")).get("subtype") == "message_changed"]
        await self.services.people.raw(copied(edits[which]))

    async def unfurl(self, person: str, talk: Talk) -> None:
        self.services.people.unfurl(person, talk.channel, self._own(person, talk)[-1].ts)

    async def other_bot(self, text: str, talk: Talk) -> None:
        ts = self.workspace.next_ts()
        common: JsonObject = {
            "user": "U0OTHERBOT",
            "bot_id": "B0OTHERBOT",
            "app_id": "A0OTHERAPP",
            "bot_profile": {"id": "B0OTHERBOT", "name": "other"},
            "text": f"<@{self.workspace.bot.id}> {text}",
            "ts": ts,
            "event_ts": ts,
            "thread_ts": talk.thread,
            "channel": talk.channel,
            "team": self.workspace.team.id,
        }
        await self._event({"type": "message", "channel_type": "channel", **common})
        await self._event({"type": "app_mention", **common})

    async def joins(self, person: str, talk: Talk) -> None:
        ts = self.workspace.next_ts()
        who = self._person(person).id
        await self._event(
            {
                "type": "message",
                "subtype": "channel_join",
                "user": who,
                "text": f"<@{who}> has joined the channel",
                "ts": ts,
                "event_ts": ts,
                "thread_ts": talk.thread,
                "channel": talk.channel,
                "channel_type": "channel",
            }
        )
        await self._event({"type": "member_joined_channel", "user": who, "channel": talk.channel, "event_ts": ts})

    async def deliver_twice(self, times: int) -> None:
        self.workspace.faults.add(Fault(kind="duplicate_events", method="events_api", times=times))

    async def _event(self, event: JsonObject) -> None:
        """Send an event, and return when it is acked."""
        before = len(self.workspace.interactions)
        await self.services.people.raw(slack_payloads.event_callback(self.workspace, event))
        told = list(self.workspace.interactions)[before]

        def acked() -> bool | None:
            found = next(one for one in self.workspace.interactions if one.id == told.id)
            return found.acked

        assert await until(acked, "an event is acked")

    def can_stop(self, talk: Talk) -> bool:
        return self.mood(talk) == "working"

    async def stop(self, person: str, talk: Talk) -> None:
        assert talk.thread is not None
        told = self.services.people.stop(person, talk.channel, talk.thread)

        def acked() -> bool | None:
            return next(one for one in self.workspace.interactions if one.id == told.id).acked

        assert await until(acked, "the stop is acked")

    def mood(self, talk: Talk) -> str | None:
        session = None if talk.thread is None else self.workspace.session(talk.channel, talk.thread)
        words = {"processing": "working", "suspended": "waiting"}
        return None if session is None else words.get(session.status)

    # people use controls

    async def press(self, person: str, card: Card, label: str) -> Clicked:
        return await self._act(person, card, card.control(label), [])

    async def pick(self, person: str, card: Card, *labels: str) -> Clicked:
        menu = card.menu
        if menu.searched:
            return await self._pick_found(person, card, labels)
        values = [choice.value for label in labels for choice in menu.handle.choices if _is(choice.label, label)]
        assert len(values) == len(labels), (labels, menu.choices)
        return await self._act(person, card, menu, values)

    async def _pick_found(self, person: str, card: Card, labels: tuple[str, ...]) -> Clicked:
        """Pick one label after the other: a search shows only its matches, and each pick redraws the card."""
        chosen: list[str] = []
        clicked: Clicked | None = None
        for label in labels:
            now = next(one for one in self.cards(card.talk) if one.id == card.id)
            chosen.append(await self._found(person, now, label))
            clicked = await self._act(person, now, now.menu, chosen)
            await until(
                lambda now=now: any(one.id == now.id and one.handle != now.handle for one in self.cards(now.talk)),
                "the card is drawn anew",
            )
        assert clicked is not None
        return clicked

    async def search(self, person: str, card: Card, query: str) -> tuple[str, ...]:
        return tuple(words(option.get("text")) for option in await self._options(person, card, query))

    async def _found(self, person: str, card: Card, label: str) -> str:
        options = await self._options(person, card, label)
        return next(str(option["value"]) for option in options if _is(words(option.get("text")), label))

    async def _options(self, person: str, card: Card, query: str) -> list[JsonObject]:
        return await self.services.clicks.options(self._target(person, card, card.menu.handle), query)

    async def open_field(self, person: str, card: Card, label: str = "Something else…") -> TextField:
        before = {view.id for view in self.workspace.stack(self._person(person).id)}
        await self.press(person, card, label)
        await until(
            lambda: any(view.id not in before for view in self.workspace.stack(self._person(person).id)),
            "a text field opens",
        )
        found = self.field(person)
        assert found is not None
        return found

    def field(self, person: str) -> TextField | None:
        stack = self.workspace.stack(self._person(person).id)
        if not stack:
            return None
        blocks = objects(stack[-1].view.get("blocks"))
        (entry,) = (one for one in controls(blocks) if one.kind == "field")
        element = next(as_object(block.get("element")) for block in blocks if block.get("type") == "input")
        values = self.services.workspace.element_states.values(stack[-1].person, stack[-1].id, blocks)
        typed = as_object(as_object(values.get(entry.handle["block_id"])).get(entry.handle["action_id"])).get("value")
        return TextField(
            text=body(blocks),
            placeholder=words(element.get("placeholder")),
            value=str(typed or ""),
            errors=tuple(text for _, text in stack[-1].errors),
        )

    async def submit(self, person: str, text: str) -> tuple[str, ...]:
        view = self.workspace.stack(self._person(person).id)[-1]
        (entry,) = (one for one in controls(objects(view.view.get("blocks"))) if one.kind == "field")
        done = await self.services.modals.submit(
            person, view.id, {entry.handle["block_id"]: {entry.handle["action_id"]: text}}
        )
        if done.interaction is not None:
            _checked(_clicked(done.interaction))
        else:
            assert tuple(done.errors.values()) == (REQUIRED,), "Slack's client itself refuses an empty field"
        assert done.error is None, done.error
        return tuple(done.errors.values())

    def kept(self, person: str) -> str:
        field = self.field(person)
        return "" if field is None else field.value

    async def close_field(self, person: str) -> None:
        view = self.workspace.stack(self._person(person).id)[-1]
        interaction = await self.services.modals.close(person, view.id)
        if interaction is not None:
            _checked(_clicked(interaction))

    async def press_in_view(self, person: str, label: str) -> Clicked:
        """Press a button of the modal in front of a person."""
        view = self.workspace.stack(self._person(person).id)[-1]
        drawn = next(one for one in controls(objects(view.view.get("blocks"))) if one.label == label)
        interaction = await self.services.clicks.act(
            Target(
                person=person,
                block_id=drawn.handle["block_id"],
                action_id=drawn.handle["action_id"],
                view_id=view.id,
            ),
            [],
        )
        assert interaction is not None
        return _checked(_clicked(interaction))

    async def replay(self, times: int = 1) -> list[Clicked]:
        acks = await asyncio.gather(*(self.services.people.raw(copied(self._last)) for _ in range(times)))
        return [_checked(_acked(ack)) for ack in acks]

    async def forged(self, person: str, card: Card, what: Literal["unknown", "foreign", "outsider"]) -> Clicked:
        control = next(one for one in card.controls if one.kind == "button")
        payload = self._payload(person, card, control, [])
        action = objects(payload["actions"])[0]
        match what:
            case "unknown":
                kind, _, turn, *rest = str(action["action_id"]).removeprefix("askback:").split(":")
                action["action_id"] = ":".join(("askback", kind, "A" * 22, turn, *rest))
            case "foreign":
                action["action_id"] = "approve_deploy"
            case "outsider":
                as_object(payload["user"])["team_id"] = "T0ELSEWHERE"
        payload["actions"] = [action]
        if what == "outsider":
            payload["user"] = {**as_object(payload["user"]), "team_id": "T0ELSEWHERE"}
        return _checked(_acked(await self.services.people.raw(payload)))

    async def _act(self, person: str, card: Card, control: Control, selected: list[str]) -> Clicked:
        self._last = self._payload(person, card, control, selected)
        interaction = await self.services.clicks.act(
            self._target(person, card, control.handle), selected, as_seen=card.handle
        )
        assert interaction is not None
        return _checked(_clicked(interaction))

    def _target(self, person: str, card: Card, drawn: Drawn) -> Target:
        return Target(
            person=person,
            block_id=drawn.handle["block_id"],
            action_id=drawn.handle["action_id"],
            channel=card.talk.channel,
            ts=card.id,
        )

    def _payload(self, person: str, card: Card, control: Control, selected: list[str]) -> JsonObject:
        """Return the payload that Slack sends for a click on the card as it was seen."""
        who, message = self._person(person), self.workspace.messages[card.talk.channel, card.id]
        drawn: Drawn = control.handle
        blocks = [copied(block) for block in card.handle]
        values = self.workspace.element_states.values(who.id, scope_of(message), blocks, earlier=True)
        url = self.workspace.issue_response_url(message, who.id)
        action: JsonObject = {
            "type": "button",
            "action_id": drawn.handle["action_id"],
            "block_id": drawn.handle["block_id"],
            "action_ts": self.workspace.next_ts(),
        }
        if drawn.kind != "button":
            labels = {choice.value: choice.label for choice in drawn.choices}
            options: list[JsonObject] = [
                {"text": {"type": "plain_text", "text": labels.get(value, value)}, "value": value} for value in selected
            ]
            kind = {"menu": "static_select", "checkboxes": "checkboxes"}.get(drawn.kind, "multi_static_select")
            chosen: JsonObject = (
                {"selected_option": options[0]} if drawn.kind == "menu" else {"selected_options": [*options]}
            )
            action = {**action, "type": kind, **chosen}
        return slack_payloads.block_actions(
            self.workspace,
            who,
            message,
            action,
            blocks=blocks,
            state=values,
            trigger_id=self.workspace.issue_trigger(who.id).id,
            response_url=f"{self.services.url}/response/{url.token}",
        )

    # what people see

    def cards(self, talk: Talk) -> tuple[Card, ...]:
        return tuple(self._card(message, talk) for message in self._messages(talk) if _is_card(message))

    def _card(self, message: Message, talk: Talk) -> Card:
        blocks = [*message.blocks]
        return Card(
            id=message.ts,
            talk=talk,
            text=body(blocks),
            notification=words({"type": "mrkdwn", "text": message.text}),
            controls=tuple(map(_control, controls(blocks))),
            handle=blocks,
        )

    def lines(self, talk: Talk) -> tuple[Line, ...]:
        return tuple(
            Line(
                author=message.username or message.user,
                text=message_text(
                    as_object({"blocks": list(message.blocks), "text": message.text, "markdown": message.markdown})
                ),
                bot=message.bot,
                card=_is_card(message),
                links=tuple(_links(list(message.blocks))),
            )
            for message in self._messages(talk)
        )

    def notices(self, person: str) -> tuple[str, ...]:
        who = self._person(person).id
        found = [message for message in self.workspace.messages.values() if message.ephemeral_to == who]
        return tuple(words({"type": "mrkdwn", "text": one.text}) for one in sorted(found, key=lambda one: one.ts))

    def alone(self, person: str) -> str:
        views = [body(objects(view.view.get("blocks"))) for view in self.workspace.stack(self._person(person).id)]
        return "\n".join((*self.notices(person), *views))

    def replies(self, person: str) -> tuple[str, ...]:
        # In a direct message the bot's answer is an ordinary message.
        name = f"tell:{self._person(person).id}"
        direct = [message for message in self.workspace.messages.values() if _nonce(message) == name]
        return (*self.notices(person), *(message.text for message in direct))

    def pings(self) -> tuple[str, ...]:
        found: list[str] = []
        for message in self.workspace.messages.values():
            if message.bot:
                found += _mentions(message.text)
                found += _mentions(message.markdown or "")
                found += [mention for block in message.blocks for mention in _mentions_in(block)]
        return tuple(found)

    # who is who

    def join_group(self, person: str) -> None:
        self._put_members({*self._release.users, self._person(person).id})

    def leave_group(self, person: str) -> None:
        self._put_members({*self._release.users} - {self._person(person).id})

    @property
    def _release(self) -> UserGroup:
        return self.workspace.groups[GROUPS[self.platform]]

    def _put_members(self, people: set[str]) -> None:
        self.workspace.put_group(replace(self._release, users=tuple(sorted(people))))

    def actor(self, person: str) -> Actor:
        who = self._person(person)
        return Actor(platform="slack", id=who.id, tenant=self.workspace.team.id, name=who.name)

    def place(self, talk: Talk) -> Place:
        return Place(platform="slack", tenant=self.workspace.team.id, channel=talk.channel, thread=talk.thread)

    # what goes wrong

    def slow_down(self, what: What, *, seconds: int = 1, times: int = 1) -> None:
        self.workspace.faults.ratelimit(METHODS[what], retry_after=seconds, times=times)

    def cut(self, what: What) -> None:
        self.workspace.faults.add(Fault(kind="drop", method=METHODS[what]))

    def delay(self, what: What, *, seconds: float) -> Callable[[], bool]:
        faults = self.workspace.faults
        added = faults.add(Fault(kind="delay", method=METHODS[what], seconds=seconds))
        return lambda: added not in faults.active

    def refuse(self, what: What | Literal["everything"], *, times: int | None = 1) -> str:
        if what == "everything":
            self.workspace.faults.fail("*", "token_revoked", times=times)
            return "revoked"
        if what == "answer":
            fault = Fault(kind="error", method="response_url", error="used_url", status=404, times=times)
            self.workspace.faults.add(fault)
            return ""
        self.workspace.faults.fail(METHODS[what], REFUSALS[what], times=times)
        return "not in that channel" if what == "post" else ""

    def lose_answer(self, what: What, *, times: int | None = 1) -> None:
        self.workspace.faults.add(Fault(kind="lost_answer", method=METHODS[what], times=times))

    def end_faults(self) -> None:
        self.workspace.faults.clear()

    async def lose_connection(self, *, politely: bool = False) -> None:
        before = self.connection_count()
        if politely:
            await self.services.socket.disconnect("refresh_requested")
            await until(lambda: self.connection_count() > before, "the bot asks for another socket")
            return
        self.services.socket.drop()
        await until(lambda: self.services.socket.connections == 0, "the socket is gone")

    async def lose_session(self) -> None:
        await self.lose_connection()

    async def reconnected(self) -> None:
        await until(lambda: self.services.socket.connections > 0, "the bot is back", within=30)

    async def fall_silent(self) -> None:
        self.services.socket.freeze()

    def signs_of_life(self) -> int:
        return self.services.socket.pings

    async def press_into_silence(self, person: str, card: Card, label: str) -> Callable[[], Awaitable[Clicked]]:
        self._last = self._payload(person, card, card.control(label), [])
        unheard = asyncio.create_task(self.services.people.raw(copied(self._last)))

        async def again() -> Clicked:
            unheard.cancel()  # Slack would show its error after three seconds
            (clicked,) = await self.replay()
            return clicked

        return again

    async def press_in_vain(self, person: str, card: Card, label: str) -> str:
        target = self._target(person, card, card.control(label).handle)
        interaction = await self.services.clicks.act(target, [], as_seen=card.handle)
        assert interaction is not None
        assert interaction.acked is False
        return str(interaction.error)

    def connection_count(self) -> int:
        return self.services.socket.ticket_count

    async def delete(self, card: Card) -> None:
        self.services.people.moderate("cy", card.talk.channel, card.id)

    async def delete_twice(self, card: Card) -> None:
        await self.deliver_twice(1)
        await self.delete(card)

    async def delete_part(self, card: Card, number: int) -> None:
        self.services.people.moderate("cy", card.talk.channel, self.parts(card.talk)[number])

    def parts(self, talk: Talk) -> tuple[str, ...]:
        return tuple(message.ts for message in self._messages(talk) if _is_card(message))

    async def lose(self, card: Card) -> None:
        self.workspace.remove_message(self.workspace.messages[card.talk.channel, card.id])

    async def close_room(self, talk: Talk) -> None:
        self.services.people.archive("cy", talk.channel)

    def posted(self, card: Card) -> list[dict[str, Any]]:
        ask_id = _nonce(self.workspace.messages[card.talk.channel, card.id])
        found: list[dict[str, Any]] = []
        for call in self.workspace.log:
            arguments = call.arguments
            if call.method == "chat.postMessage" and _nonce_of(arguments.get("metadata")) == ask_id:
                found.append({name: arguments.get(name) for name in ("text", "blocks")})
        names = {str(ask_id): ASK_ID, **{person.id: "U0PREVIEW" for person in self.workspace.people.values()}}
        text = re.sub("|".join(map(re.escape, names)), lambda match: names[match[0]], json.dumps(found))
        return json.loads(text)

    def api_calls(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        return tuple((one.method, dict(one.arguments)) for one in self.workspace.log)

    def _person(self, name: str) -> Person:
        person = self.workspace.person(name)
        assert person is not None, name
        return person

    def _messages(self, talk: Talk) -> list[Message]:
        found = [
            message
            for message in self.workspace.messages.values()
            if message.channel == talk.channel
            and message.ephemeral_to is None
            and (message.root == talk.thread if talk.thread is not None else message.thread_ts is None)
        ]
        return [replace(message) for message in sorted(found, key=lambda message: message.ts)]


def _links(value: object) -> Iterator[str]:
    """Yield the addresses of the links in rich text."""
    if isinstance(value, Mapping):
        if value.get("type") == "link":
            yield str(value["url"])
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from _links(one)


def _is_card(message: Message) -> bool:
    """Return True if the message is a card: cards are named after their ask, texts after their kind."""
    nonce = _nonce(message)
    return message.bot and isinstance(nonce, str) and ":" not in nonce


def _nonce(message: Message) -> object:
    return _nonce_of(message.metadata)


def _nonce_of(metadata: object) -> object:
    return as_object(as_object(metadata).get("event_payload")).get("nonce")


def _control(drawn: Drawn) -> Control:
    kind: Literal["button", "menu", "several"] = (
        "button" if drawn.kind == "button" else "several" if drawn.several else "menu"
    )
    return Control(
        kind=kind,
        label=drawn.label,
        choices=tuple(Choice(choice.label, choice.on) for choice in drawn.choices),
        searched=drawn.searched,
        boxes=drawn.kind == "checkboxes",
        handle=drawn,
    )


def _is(shown: str, wanted: str) -> bool:
    bare = re.sub(r"^\d+\. ", "", shown)
    return bare == wanted or shown == wanted or (bare.endswith("…") and wanted.startswith(bare[:-1]))


def _clicked(interaction: Interaction) -> Clicked:
    return Clicked(interaction.acked is True, interaction.ack_ms, interaction.error)


def _acked(ack: Ack) -> Clicked:
    return Clicked(ack.acked, ack.ms, ack.error)


def _checked(clicked: Clicked) -> Clicked:
    """Check that the click was acked in time; this holds for every click of every scenario."""
    assert clicked.acked, clicked
    assert clicked.ms is not None
    assert clicked.ms < ACK_MS, clicked
    return clicked


def _mentions(text: str) -> list[str]:
    """Return the mentions that Slack reads in mrkdwn, in Markdown and in the notification text."""
    return re.findall(r"<([@!][^<>]*)>", text)


def _mentions_in(value: object) -> list[str]:
    if isinstance(value, list):
        return [found for entry in value for found in _mentions_in(entry)]
    if not isinstance(value, dict):
        return []
    match value.get("type"):
        case "user":
            return [f"@{value['user_id']}"]
        case "usergroup" | "broadcast" | "team":
            return [f"!{value}"]
        case "mrkdwn" | "markdown":
            return _mentions(str(value.get("text", "")))
        case _:
            return [found for entry in value.values() for found in _mentions_in(entry)]
