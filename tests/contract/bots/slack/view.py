"""The view of people on Slack: cards, messages and notices."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from askback.cli.preview import ASK_ID
from askback.domain.identity import Actor, Place
from askback_sandbox.json_values import as_object, objects
from askback_sandbox.play.controls import Control as Drawn
from askback_sandbox.slack.controls import controls, words
from askback_sandbox.slack.drawing import body, message_text
from askback_sandbox.slack.values import Message
from contract.bots.driver import Card, Choice, Control, Line, Talk

from .base import SlackBase


class View(SlackBase):
    """The view of people."""

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

    def actor(self, person: str) -> Actor:
        who = self._person(person)
        return Actor(platform="slack", id=who.id, tenant=self.workspace.team.id, name=who.name)

    def place(self, talk: Talk) -> Place:
        return Place(platform="slack", tenant=self.workspace.team.id, channel=talk.channel, thread=talk.thread)

    def parts(self, talk: Talk) -> tuple[str, ...]:
        return tuple(message.ts for message in self._messages(talk) if _is_card(message))

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
