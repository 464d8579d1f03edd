"""The acts of people with components and modals: click, choose, submit, dismiss."""

import asyncio
from dataclasses import dataclass

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_object, as_text, copied, copied_all, texts
from askback_sandbox.person_error import PersonError

from . import limits
from .components import numbered
from .fields import check_choice, component_in, entered, fields_of, is_select
from .gateway import Gateway
from .guild import Guild
from .payloads import component_data, interaction, modal_data, resolved_data
from .people import known_person, seen_place, seen_post
from .values import Done, DoneKind, Flag, Kind, Member, OpenModal, Place

FAILED = "This interaction failed"
MODAL_FAILED = "Something went wrong. Try again."


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """The delivery of an interaction to the bot: the number of times, and the seconds after the click."""

    times: int = 1
    late: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Target:
    """A component that a person sees.

    `components` is the message as the person still sees it; None means its current version.
    """

    person: str
    channel: str
    message: str
    custom_id: str
    components: tuple[JsonObject, ...] | None = None


class DiscordClicks:
    """Clicks and submits for people; each act waits for the bot's answer, three seconds at most."""

    def __init__(self, guild: Guild, gateway: Gateway) -> None:
        self._guild = guild
        self._gateway = gateway
        self._tasks: set[asyncio.Task[None]] = set()

    async def click(self, target: Target, delivery: Delivery) -> Done:
        """Press a button.

        Raises:
            PersonError: Discord's client would not allow it.
        """
        person, place, component = self._find(target)
        if component.get("type") != Kind.BUTTON:
            raise PersonError("not_a_button", f"{target.custom_id!r} is no button")
        return await self._tell(
            "component", person, place, target.message, component_data(component, None, {}), delivery
        )

    async def select(self, target: Target, values: list[str], delivery: Delivery) -> Done:
        """Choose in a menu.

        Raises:
            PersonError: Discord's client would not allow it.
        """
        person, place, component = self._find(target)
        if not is_select(component):
            raise PersonError("not_a_select", f"{target.custom_id!r} is no menu")
        check_choice(self._guild, component, values)
        resolved = resolved_data(self._guild, component.get("type"), values)
        data = component_data(component, values, resolved)
        return await self._tell("component", person, place, target.message, data, delivery)

    async def submit(self, person: str, custom_id: str, values: JsonObject, delivery: Delivery) -> Done:
        """Submit the modal that a person has open.

        Raises:
            PersonError: there is none, or Discord's client would keep it open.
        """
        submitter = known_person(self._guild, person)
        modal = self._modal(submitter, custom_id)
        components = numbered(copied(modal.modal)["components"])
        layout: JsonObject = {**modal.modal, "components": [*components]}
        fields = fields_of(layout)
        names = [as_text(field.get("custom_id")) for field in fields]
        if unknown := [name for name in values if name not in names]:
            raise PersonError("field_not_found", f"the modal has no field {unknown[0]!r}")
        answers = {name: self._entered(field, values.get(name)) for name, field in zip(names, fields, strict=True)}
        resolved: JsonObject = {}
        for answer in answers.values():
            chosen = texts(answer.get("values")) if answer.get("type") != Kind.CHECKBOX_GROUP else []
            for kind, found in resolved_data(self._guild, answer.get("type"), chosen).items():
                resolved[kind] = {**as_object(resolved.get(kind)), **as_object(found)}
        place = self._guild.places.get(modal.channel)
        if place is None:
            raise PersonError("channel_not_found", "the channel is gone")
        data = modal_data(layout, answers, resolved)
        done = await self._tell("modal_submit", submitter, place, modal.message, data, delivery)
        if done.acked:
            self._guild.close_modal(modal)
        return done

    def dismiss(self, person: str) -> None:
        """Close the modal that a person has open; the bot is not notified.

        Raises:
            PersonError: there is none.
        """
        closer = known_person(self._guild, person)
        self._guild.close_modal(self._modal(closer, None))

    async def raw(self, payload: JsonObject, delivery: Delivery) -> Done:
        """Dispatch an interaction unchanged, except for a new id and token.

        Raises:
            PersonError: its user is not a person here.
        """
        user = as_object(as_object(payload.get("member")).get("user")) or as_object(payload.get("user"))
        person = known_person(self._guild, as_text(user.get("id")))
        channel = as_text(payload.get("channel_id")) or as_text(as_object(payload.get("channel")).get("id"))
        message = as_text(as_object(payload.get("message")).get("id")) or None
        kind: DoneKind = "modal_submit" if payload.get("type") == 5 else "component"
        custom_id = as_text(as_object(payload.get("data")).get("custom_id"))
        done = self._guild.begin(kind, person.id, channel, message, custom_id)
        return await self._deliver(done, {**copied(payload), "id": done.id, "token": done.token}, delivery)

    def _entered(self, field: JsonObject, value: JsonValue) -> JsonObject:
        return entered(self._guild, field, value)

    def _modal(self, person: Member, custom_id: str | None) -> OpenModal:
        modal = self._guild.modals.get(person.id)
        if modal is None or custom_id not in (None, modal.custom_id):
            raise PersonError("modal_not_found", f"{person.name} has no such modal in front")
        return modal

    def _find(self, target: Target) -> tuple[Member, Place, JsonObject]:
        person = known_person(self._guild, target.person)
        place = seen_place(self._guild, person, target.channel)
        post = seen_post(self._guild, person, place, target.message)
        if place.locked:
            # Discord's client greys components out there [3p discord-api-docs#7900].
            raise PersonError("thread_locked", f"the thread {place.name!r} is locked")
        if post.flags & Flag.LOADING:
            raise PersonError("component_not_found", "the message is still loading")
        shown = post.components if target.components is None else target.components
        return person, place, component_in(copied_all(list(shown)), target.custom_id)

    async def _tell(
        self, kind: DoneKind, person: Member, place: Place, message: str | None, data: JsonObject, delivery: Delivery
    ) -> Done:
        done = self._guild.begin(kind, person.id, place.id, message, as_text(data.get("custom_id")))
        return await self._deliver(done, interaction(self._guild, person, place, done, data), delivery)

    async def _deliver(self, done: Done, payload: JsonObject, delivery: Delivery) -> Done:
        fault = self._guild.faults.take("late", "INTERACTION_CREATE")
        late = fault.seconds if fault else delivery.late
        times = 2 if self._guild.faults.take("twice", "INTERACTION_CREATE") else delivery.times
        task = asyncio.create_task(self._dispatch(payload, times, late))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        failed = MODAL_FAILED if done.kind == "modal_submit" else FAILED
        deadline = asyncio.ensure_future(self._guild.clock.sleep(limits.RESPONSE_SECONDS))
        try:
            while (newest := self._guild.done_by_id(done.id) or done).acked is None:
                if deadline.done() or self._guild.closed:
                    return self._guild.fail(done, failed)
                changed = asyncio.ensure_future(self._guild.changed_since(self._guild.revision))
                try:
                    await asyncio.wait({changed, deadline}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    changed.cancel()
                    await asyncio.gather(changed, return_exceptions=True)
            return newest
        finally:
            deadline.cancel()
            await asyncio.gather(deadline, return_exceptions=True)

    async def _dispatch(self, payload: JsonObject, times: int, late: float) -> None:
        if late:
            await self._guild.clock.sleep(late)
        for _ in range(times):
            self._gateway.dispatch("INTERACTION_CREATE", payload)

    async def close(self) -> None:
        """End every delivery."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
