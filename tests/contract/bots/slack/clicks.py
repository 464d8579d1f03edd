"""Clicks, text fields and the stop button on Slack."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_object, copied, objects
from askback_sandbox.play.controls import Control as Drawn
from askback_sandbox.play.controls import Offered
from askback_sandbox.slack import payloads as slack_payloads
from askback_sandbox.slack.block_tree import each_element
from askback_sandbox.slack.clicks import Target
from askback_sandbox.slack.controls import controls, words
from askback_sandbox.slack.drawing import body
from askback_sandbox.slack.pickers import PICKERS, picker_state
from askback_sandbox.slack.socket import Ack
from askback_sandbox.slack.values import Interaction
from askback_sandbox.slack.workspace import scope_of
from askback_slack.not_now_modal import WHEN
from contract.bots.driver import (
    Card,
    Clicked,
    Control,
    Field,
    Talk,
    TextField,
    checked,
    choose_label,
    fill,
    is_label,
    until,
)

from .view import View

NO_BLOCK: JsonObject = {}


class Clicks(View):
    """Presses, choices and texts of people."""

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

    async def press(self, person: str, card: Card, label: str) -> Clicked:
        return await self._act(person, card, card.control(label), [])

    async def pick(self, person: str, card: Card, *labels: str) -> Clicked:
        menu = card.menu
        if menu.searched:
            return await self._pick_found(person, card, labels)
        values = [choice.value for label in labels for choice in menu.handle.choices if is_label(choice.label, label)]
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

    async def choose(self, person: str, card: Card, *names: str) -> Clicked:
        return await self._act(person, card, card.menu, [self._find_id(name) for name in names])

    async def choose_strange(self, person: str, card: Card, picked: str) -> Clicked:
        return checked(_acked(await self.services.people.raw(self._payload(person, card, card.menu, [picked]))))

    def _find_id(self, name: str) -> str:
        found = self.workspace.channel(name) if name.startswith("#") else self.workspace.person(name)
        return self.workspace.bot.id if found is None else found.id

    async def search(self, person: str, card: Card, query: str) -> tuple[str, ...]:
        return tuple(words(option.get("text")) for option in await self._options(person, card, query))

    async def _found(self, person: str, card: Card, label: str) -> str:
        options = await self._options(person, card, label)
        return next(str(option["value"]) for option in options if is_label(words(option.get("text")), label))

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
        # The modal of a reminder has no text.
        entry = next((one for one in controls(blocks) if one.kind == "field"), None)
        block_id, action_id = (
            ("", "") if entry is None else map(str, (entry.handle["block_id"], entry.handle["action_id"]))
        )
        asking = next((as_object(block) for block in blocks if block.get("block_id") == block_id), NO_BLOCK)
        element = as_object(asking.get("element"))
        values = self.services.workspace.element_states.values(stack[-1].person, stack[-1].id, blocks)
        typed = as_object(as_object(values.get(block_id)).get(action_id)).get("value")
        return TextField(
            text="\n".join([body(blocks), words(asking.get("hint"))]),
            placeholder=words(element.get("placeholder")),
            value=str(typed or ""),
            errors=tuple(text for _, text in stack[-1].errors),
            ways=tuple(
                choice.label for one in controls(blocks) if one.kind == "radio buttons" for choice in one.choices
            ),
        )

    async def submit(
        self, person: str, text: str, *, way: str | None = None, when: datetime | None = None
    ) -> tuple[str, ...]:
        view = self.workspace.stack(self._person(person).id)[-1]
        drawn = controls(objects(view.view.get("blocks")))
        values: JsonObject = {
            str(entry.handle["block_id"]): {str(entry.handle["action_id"]): text}
            for entry in drawn
            if entry.kind == "field"
        }
        if way is not None:
            ways = next(one for one in drawn if one.kind == "radio buttons")
            chosen = next(choice.value for choice in ways.choices if choice.label == way)
            values[ways.handle["block_id"]] = {ways.handle["action_id"]: chosen}
        if when is not None:
            values[WHEN] = {WHEN: f"{when.timestamp():.0f}"}
        done = await self.services.modals.submit(person, view.id, values)
        if done.interaction is not None:
            checked(_clicked(done.interaction))
        else:
            assert done.errors, "Slack's client itself refuses an empty field, and a text that is no number"
        assert done.error is None, done.error
        return tuple(done.errors.values())

    async def open_form(self, person: str, card: Card, label: str = "Answer all…") -> tuple[Field, ...]:
        before = {view.id for view in self.workspace.stack(self._person(person).id)}
        await self.press(person, card, label)
        await until(
            lambda: any(view.id not in before for view in self.workspace.stack(self._person(person).id)),
            "a modal opens",
        )
        return self.form(person)

    def form(self, person: str) -> tuple[Field, ...]:
        stack = self.workspace.stack(self._person(person).id)
        return controls(objects(stack[-1].view.get("blocks")), self._offered()) if stack else ()

    def _offered(self) -> Offered:
        """Return what the pickers in a modal offer, by the names that people see."""
        people = {one.id: one.name for one in self.workspace.people.values()} | {self.workspace.bot.id: "the bot"}
        return Offered(people, {one.id: f"#{one.name}" for one in self.workspace.channels.values()})

    async def send_form(self, person: str, entries: Mapping[str, str | Sequence[str]]) -> tuple[str, ...]:
        view = self.workspace.stack(self._person(person).id)[-1]
        values: JsonObject = {
            field.handle["block_id"]: {field.handle["action_id"]: entry}
            for field, entry in fill(self.form(person), entries)
        }
        done = await self.services.modals.submit(person, view.id, values)
        if done.interaction is not None:
            checked(_clicked(done.interaction))
        assert done.error is None, done.error
        return tuple(done.errors.values())

    def kept(self, person: str) -> str:
        field = self.field(person)
        return "" if field is None else field.value

    async def open_files(self, person: str, card: Card) -> Field:
        before = {view.id for view in self.workspace.stack(self._person(person).id)}
        await self.press(person, card, choose_label(card))
        await until(
            lambda: any(view.id not in before for view in self.workspace.stack(self._person(person).id)),
            "a modal opens",
        )
        (field,) = self.form(person)
        return field

    async def send_files(self, person: str, *files: JsonValue) -> tuple[str, ...]:
        (field,) = self.form(person)
        view = self.workspace.stack(self._person(person).id)[-1]
        values: JsonObject = {field.handle["block_id"]: {field.handle["action_id"]: [*files]}}
        done = await self.services.modals.submit(person, view.id, values)
        if done.interaction is not None:
            checked(_clicked(done.interaction))
        assert done.error is None, done.error
        return tuple(done.errors.values())

    async def close_field(self, person: str) -> None:
        view = self.workspace.stack(self._person(person).id)[-1]
        interaction = await self.services.modals.close(person, view.id)
        if interaction is not None:
            checked(_clicked(interaction))

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
        return checked(_clicked(interaction))

    async def replay(self, times: int = 1) -> list[Clicked]:
        acks = await asyncio.gather(*(self.services.people.raw(copied(self._last)) for _ in range(times)))
        return [checked(_acked(ack)) for ack in acks]

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
        return checked(_acked(await self.services.people.raw(payload)))

    async def _act(self, person: str, card: Card, control: Control, selected: list[str]) -> Clicked:
        self._last = self._payload(person, card, control, selected)
        interaction = await self.services.clicks.act(
            self._target(person, card, control.handle), selected, as_seen=card.handle
        )
        assert interaction is not None
        return checked(_clicked(interaction))

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
        asked = next(one.element for one in each_element(blocks) if one.action_id == drawn.handle["action_id"])
        if asked.get("type") in PICKERS:
            action |= picker_state(str(asked["type"]), selected)
        elif drawn.kind != "button":
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


def _clicked(interaction: Interaction) -> Clicked:
    return Clicked(interaction.acked is True, interaction.ack_ms, interaction.error)


def _acked(ack: Ack) -> Clicked:
    return Clicked(ack.acked, ack.ms, ack.error)
