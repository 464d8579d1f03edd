"""An office on the local Slack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askback_sandbox.json_values import objects
from askback_sandbox.play.controls import Control, find
from askback_sandbox.revisions import Revisions
from askback_sandbox.slack.clicks import Target
from askback_sandbox.slack.controls import controls
from askback_sandbox.slack.drawing import message_text
from askback_sandbox.slack.values import UserGroup

from .office import CHOICE, Office


class SlackOffice(Office):
    """Slack's implementation."""

    platform = "slack"

    @property
    def state(self) -> Revisions:
        return self.services.workspace

    @property
    def connections(self) -> int:
        return self.services.socket.connections

    def shown(self) -> list[Any]:
        messages = self.services.workspace.messages.values()
        return [message for message in messages if message.bot and not message.ephemeral_to]

    def private(self) -> list[str]:
        messages = self.services.workspace.messages.values()
        return [self.reads(message) for message in messages if message.bot and message.ephemeral_to]

    def reads(self, message: Any) -> str:
        return message_text({"blocks": [*message.blocks], "text": message.text, "markdown": message.markdown})

    def buttons(self, message: Any) -> tuple[Control, ...]:
        return controls([*message.blocks])

    async def press(self, person: str, message: Any, label: str) -> bool:
        button = find(self.buttons(message), label, kinds=("button",), what="button")
        target = Target(
            person=person,
            channel=message.channel,
            ts=message.ts,
            block_id=str(button.handle["block_id"]),
            action_id=str(button.handle["action_id"]),
        )
        done = await self.services.clicks.act(target, as_seen=[*message.blocks])
        return done is not None and done.acked is True

    async def choose(self, person: str, message: Any, name: str) -> str:
        picker = next(one for one in self.buttons(message) if one.kind == "menu")
        who = self.services.workspace.person(name)
        assert who is not None
        target = Target(
            person=person,
            channel=message.channel,
            ts=message.ts,
            block_id=str(picker.handle["block_id"]),
            action_id=str(picker.handle["action_id"]),
        )
        await self.services.clicks.act(target, [who.id], as_seen=[*message.blocks])
        return who.id

    async def tick(self, person: str, message: Any, *labels: str) -> None:
        found, values = self.find_list(message, labels)
        target = Target(
            person=person,
            channel=message.channel,
            ts=message.ts,
            block_id=str(found.handle["block_id"]),
            action_id=str(found.handle["action_id"]),
        )
        await self.services.clicks.act(target, values, as_seen=[*message.blocks])

    def _views(self, person: str) -> Any:
        who = self.services.workspace.person(person)
        assert who is not None
        return self.services.workspace.stack(who.id)

    def has_field(self, person: str) -> bool:
        return bool(self._views(person))

    async def submit(self, person: str, text: str, option: int | None = None) -> None:
        view = self._views(person)[-1]
        (entry,) = (one for one in controls(objects(view.view.get("blocks"))) if one.kind == "field")
        handle = entry.handle
        values: dict[str, Any] = {str(handle["block_id"]): {str(handle["action_id"]): text}}
        if option is not None:
            values[CHOICE] = {CHOICE: str(option)}
        done = await self.services.modals.submit(person, view.id, values)
        assert (done.error, done.errors) == (None, {})

    async def send_fields(self, person: str, entries: Mapping[str, str]) -> bool:
        view = self._views(person)[-1]
        fields = {one.label.partition(":")[0]: one.handle for one in controls(objects(view.view.get("blocks")))}
        values = {
            str(fields[name]["block_id"]): {str(fields[name]["action_id"]): entry} for name, entry in entries.items()
        }
        done = await self.services.modals.submit(person, view.id, {**values})
        return bool(done.error or done.errors)

    def write(self, person: str, message: Any, text: str) -> None:
        self.services.people.write(person, message.channel, text)

    def write_under(self, person: str, message: Any, text: str) -> None:
        self.services.people.write(person, message.channel, text, message.ts)

    write_in_thread = write_under

    def told(self, person: str) -> list[str]:
        who = self.services.workspace.person(person)
        messages = self.services.workspace.messages.values()
        return [self.reads(one) for one in messages if one.bot and who is not None and one.ephemeral_to == who.id]

    def refuse_posts(self) -> None:
        self.services.workspace.faults.fail("chat.postMessage", "not_in_channel", times=None)

    def put_group(self, name: str, *people: str) -> None:
        ids = {person.name: person.id for person in self.services.workspace.people.values()}
        users = tuple(ids[person] for person in people)
        self.services.workspace.put_group(UserGroup(id=f"S0{name.upper():0<8}", handle=name, name=name, users=users))

    def take_from_group(self, name: str, person: str) -> None:
        names = {one.id: one.name for one in self.services.workspace.people.values()}
        (group,) = (one for one in self.services.workspace.groups.values() if one.handle == name)
        self.put_group(name, *(names[user] for user in group.users if names[user] != person))
