"""Clicks, text fields and the stop button on Discord."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from askback_discord import control_ids
from askback_discord.clicks import TAKEN
from askback_sandbox.discord import payloads as discord_payloads
from askback_sandbox.discord.clicks import Delivery, Target
from askback_sandbox.discord.components import each_component
from askback_sandbox.discord.controls import controls as drawn_controls
from askback_sandbox.discord.fields import check_choice
from askback_sandbox.discord.values import Done, DoneKind, Kind, Post
from askback_sandbox.json_values import JsonObject, as_object, as_text, copied_all, objects
from askback_sandbox.play.controls import Offered
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

from .view import View, controls, read_text

TRY_AGAIN = "Try again"
WAYS = (Kind.RADIO_GROUP, Kind.STRING_SELECT)
"""The components with which a person chooses a way to leave a question for now."""
NO_ENTRY: JsonObject = {}
TO_COPY = "Here is your text, so that you can copy it:"


class Clicks(View):
    """Presses, choices and texts of people."""

    async def handled_since(self, count: int) -> None:
        """Wait until the bot has finished more interactions than that."""
        await until(lambda: len(self.handled) > count, "the bot is done with it")

    def can_stop(self, talk: Talk) -> bool:
        return bool(self.stop_buttons(talk))

    def stop_buttons(self, talk: Talk) -> list[tuple[Post, Control]]:
        """Return the stop buttons below texts that are being streamed."""
        return [
            (post, control)
            for post in self._posts(talk)
            for control in controls(post.components)
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
        checked(_clicked(done))
        await self.handled_since(before)
        return done

    def mood(self, talk: Talk) -> str | None:
        room = talk.thread or talk.channel
        types = any(one.channel == room and one.user == self.guild.bot.id for one in self.guild.typing)
        return "working" if types or self.stop_buttons(talk) else None

    async def press(self, person: str, card: Card, label: str) -> Clicked:
        control = card.control(label)
        assert not control.handle.get("disabled"), f"{label!r} cannot be pressed"
        return await self._act(person, card, control, None)

    async def pick(self, person: str, card: Card, *labels: str) -> Clicked:
        wanted, now = list(labels), card
        for _ in range(1 + len(labels) * 50):
            here = [label for label in wanted if any(is_label(choice.label, label) for choice in now.menu.choices)]
            if here:
                values = [
                    as_text(option.get("value"))
                    for option in objects(now.menu.handle.get("options"))
                    if any(is_label(as_text(option.get("label")), label) for label in here)
                ]
                clicked = await self._act(person, now, now.menu, values)
                wanted = [label for label in wanted if label not in here]
                if not wanted:
                    return clicked
            await self.flip(person, now)
            now = self.newest(now)
        raise AssertionError(f"no {wanted} on any page")

    async def choose(self, person: str, card: Card, *names: str) -> Clicked:
        values = [self._find_id(name) for name in names]
        check_choice(self.guild, card.menu.handle, values)  # Discord's client offers nothing else
        return await self._act(person, card, card.menu, values)

    async def choose_strange(self, person: str, card: Card, picked: str) -> Clicked:
        return await self._act(person, card, card.menu, [picked])

    def _find_id(self, name: str) -> str:
        if name.startswith("#"):
            return next(one.id for one in self.guild.places.values() if one.name == name[1:])
        return next((one.id for one in self.guild.people.values() if one.name == name), self.guild.bot.id)

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
        # The modal of a reminder has no text.
        entry = next((one for one in components if one.get("type") == Kind.TEXT_INPUT), NO_ENTRY)
        texts = [read_text(as_text(one.get("content"))) for one in components if one.get("type") == Kind.TEXT_DISPLAY]
        hints = [as_text(one.get("description")) for one in components if one.get("type") == Kind.LABEL]
        return TextField(
            text="\n".join([as_text(opened.modal.get("title")), *texts, *hints]),
            placeholder=as_text(entry.get("placeholder")),
            value=as_text(entry.get("value")),
            errors=self._errors.get(person, ()),
            ways=tuple(
                as_text(option.get("label"))
                for one in components
                if one.get("type") in WAYS
                for option in objects(one.get("options"))
            ),
        )

    async def submit(
        self, person: str, text: str, *, way: str | None = None, when: datetime | None = None
    ) -> tuple[str, ...]:
        """Submit the text. A field of Discord's closes in any case; if a notice offers it again, it is reopened."""
        if self.field(person) is None:
            await self.press_on_notice(person, TRY_AGAIN)
        assert when is None, "Discord's modals have no field for a time"
        before = self.told(person)
        done = await self.submit_once(person, text, way=way)
        checked(_clicked(done))
        self._errors.pop(person, None)
        new = [post for post in self.told(person) if post not in before]
        if not new or read_text(new[-1].content) == TAKEN:
            return ()
        reason = read_text(new[-1].content).partition(TO_COPY)[0].strip()
        again = next((one for one in controls(new[-1].components) if one.label == TRY_AGAIN), None)
        if again is not None:
            await self.press_on_notice(person, TRY_AGAIN)
            self._errors[person] = (reason,)
        return (reason,)

    async def submit_once(self, person: str, text: str, *, way: str | None = None) -> Done:
        """Send the open text field; any outcome is accepted."""
        opened = self.guild.modals[self._person(person).id]
        values: JsonObject = {}
        for one, _ in each_component(opened.modal.get("components")):
            if one.get("type") == Kind.TEXT_INPUT:
                values[control_ids.TEXT] = text
            if one.get("type") in WAYS and way is not None:
                options = objects(one.get("options"))
                values[as_text(one.get("custom_id"))] = next(o["value"] for o in options if o["label"] == way)
        return await self.services.discord.clicks.submit(person, opened.custom_id, values, Delivery())

    async def open_form(self, person: str, card: Card, label: str = "Answer all…") -> tuple[Field, ...]:
        who = self._person(person)
        self.guild.modals.pop(who.id, None)
        await self.press(person, card, label)
        await until(lambda: who.id in self.guild.modals, "a modal opens")
        return self.form(person)

    def form(self, person: str) -> tuple[Field, ...]:
        opened = self.guild.modals.get(self._person(person).id)
        return () if opened is None else drawn_controls(objects(opened.modal.get("components")), self._offered())

    def _offered(self) -> Offered:
        """Return what the pickers in a modal offer, by the names that people see."""
        people = {one.id: one.name for one in self.guild.people.values()} | {self.guild.bot.id: "the bot"}
        return Offered(people, {one.id: f"#{one.name}" for one in self.guild.places.values() if one.kind == "channel"})

    async def send_form(self, person: str, entries: Mapping[str, str | Sequence[str]]) -> tuple[str, ...]:
        """Fill in the open modal and send it. If it is rejected, reopen it from the notice that offers that."""
        opened = self.guild.modals[self._person(person).id]
        values: JsonObject = {
            as_text(field.handle["custom_id"]): entry for field, entry in fill(self.form(person), entries)
        }
        before = self.told(person)
        checked(_clicked(await self.services.discord.clicks.submit(person, opened.custom_id, values, Delivery())))
        new = [post for post in self.told(person) if post not in before]
        if not new or read_text(new[-1].content) == TAKEN:
            return ()
        if any(one.label == TRY_AGAIN for one in controls(new[-1].components)):
            await self.press_on_notice(person, TRY_AGAIN)
        return tuple(read_text(new[-1].content).partition(TO_COPY)[0].strip().splitlines())

    async def press_on_notice(self, person: str, label: str) -> Done:
        """Press a button on the newest ephemeral notice."""
        notice, control = next(
            (notice, one)
            for notice in reversed(self.told(person))
            for one in controls(notice.components)
            if one.label == label
        )
        target = Target(
            person=person, channel=notice.channel, message=notice.id, custom_id=as_text(control.handle["custom_id"])
        )
        return await self.services.discord.clicks.click(target, Delivery())

    def kept(self, person: str) -> str:
        told = self.told(person)
        given_back = read_text(told[-1].content).partition(TO_COPY)[2].strip() if told else ""
        field = self.field(person)
        return given_back or ("" if field is None else field.value)

    async def open_files(self, person: str, card: Card) -> Field:
        who = self._person(person)
        self.guild.modals.pop(who.id, None)
        await self.press(person, card, choose_label(card))
        await until(lambda: who.id in self.guild.modals, "a modal opens")
        (field,) = self.form(person)
        return field

    async def send_files(self, person: str, *files: JsonValue) -> tuple[str, ...]:
        (field,) = self.form(person)
        opened = self.guild.modals[self._person(person).id]
        values: JsonObject = {as_text(field.handle["custom_id"]): [*files]}
        before = self.told(person)
        checked(_clicked(await self.services.discord.clicks.submit(person, opened.custom_id, values, Delivery())))
        new = [post for post in self.told(person) if post not in before]
        if not new or read_text(new[-1].content) == TAKEN:
            return ()
        if any(one.label == TRY_AGAIN for one in controls(new[-1].components)):
            await self.press_on_notice(person, TRY_AGAIN)
        return (read_text(new[-1].content),)

    async def close_field(self, person: str) -> None:
        self.services.discord.clicks.dismiss(person)

    async def replay(self, times: int = 1) -> list[Clicked]:
        done = self._last_done
        assert done is not None
        before = len(self.handled)
        for _ in range(times):
            self.gateway.dispatch("INTERACTION_CREATE", {**self._last, "id": done.id, "token": done.token})
        await until(lambda: len(self.handled) >= before + times, "the bot has taken them")
        return [checked(_clicked(self.guild.done_by_id(done.id) or done))] * times

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
            checked(_clicked(done))
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
        resolved = discord_payloads.resolved_data(self.guild, component.get("type"), values or [])
        data = discord_payloads.component_data(component, values, resolved)
        payload = discord_payloads.interaction(self.guild, self._person(person), room, done, data)
        if "message" in payload:
            payload["message"] = {**as_object(payload["message"]), "components": [*copied_all(list(card.handle))]}
        return payload


def _clicked(done: Done) -> Clicked:
    return Clicked(done.acked is True, done.ack_ms, done.error)
