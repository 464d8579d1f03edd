"""Slack for the player: its state as a scene, people's acts as requests, and the refused calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_object, as_text, objects
from askback_sandbox.play.controls import Control, Offered
from askback_sandbox.play.platform import Request
from askback_sandbox.play.scene import Channel, Dialog, Interaction, Key, Message, Person, Place, Scene, Work, stopper
from askback_sandbox.play.state_parts import read_channel, read_names, read_offered

from .controls import Names, controls
from .drawing import drawn, message_text

__all__ = ["Slack", "scene"]


class Slack:
    """See `askback_sandbox.play.platform.Platform`."""

    name = "Slack"
    people_path = "/people"
    log = "/log/slack"

    def scene(self, state: JsonObject) -> Scene:
        return scene(state)

    def address(self, channel: Channel) -> str:
        return f"slack:#{channel.name}" if channel.kind == "channel" else f"slack:{channel.person}"

    def write(
        self, person: str, channel: str, text: str, place: Place | None, files: Sequence[JsonValue] = ()
    ) -> Request:
        root = place.root if place is not None else None
        said: JsonObject = {"person": person, "channel": channel, "text": text, "thread_ts": root}
        return Request("write", {**said, "files": [*files]})

    def written(self, channel: str, answer: JsonObject) -> Key:
        return channel, as_text(answer.get("ts"))

    def click(self, person: str, message: Message, control: Control, chosen: Sequence[str] | None) -> Request:
        selected: JsonValue = None if chosen is None else [*chosen]
        return Request("act", {**_address(message, control), "person": person, "selected": selected})

    def click_late(self, person: str, message: Message, control: Control, chosen: Sequence[str] | None) -> Request:
        request = self.click(person, message, control, chosen)
        return Request(request.route, {**request.body, "blocks": message.source.get("blocks")})

    def stop(self, person: str, work: Work) -> Request:
        return Request("stop", {"person": person, "channel": work.channel, "thread_ts": work.root})

    def search(self, person: str, message: Message, control: Control, query: str) -> Request:
        return Request("options", {**_address(message, control), "person": person, "query": query})

    def found(self, control: Control, answer: JsonObject) -> Control:
        menu: JsonObject = {"type": "static_select", "options": answer.get("options")}
        return controls([{"type": "actions", "elements": [menu]}])[0]

    def submit(self, person: str, dialog: Dialog, entered: Sequence[tuple[Control, JsonValue]]) -> Request:
        values: dict[str, JsonObject] = {}
        for control, value in entered:
            block_id, action_id = (as_text(control.handle.get(key)) for key in ("block_id", "action_id"))
            values.setdefault(block_id, {})[action_id] = value
        return Request("submit", {"person": person, "view_id": dialog.id, "values": {**values}})

    def close(self, person: str, dialog: Dialog) -> Request:
        return Request("close", {"person": person, "view_id": dialog.id})

    def dismiss(self, person: str, notice: Message) -> Request | None:
        del person, notice  # a refused dialog stays open on Slack, so no notice has to be dismissed
        return None

    def refusals(self, calls: Sequence[JsonObject], scene: Scene, forgiven: Collection[str]) -> list[str]:
        del scene
        problems: list[str] = []
        for call in calls:
            answer = as_object(call.get("answer"))
            error = as_text(answer.get("error")) or (f"HTTP {call.get('status')}" if call.get("status") != 200 else "")
            if error and error not in forgiven and answer.get("ok") is not True:
                problems.append(f"the workspace refused {call.get('method')}: {error}{_detail(answer)}")
        return problems


def scene(state: JsonObject) -> Scene:
    """Return the workspace's state as people see it."""
    bot = as_object(state.get("bot"))
    everybody = [*objects(state.get("people")), *objects(state.get("groups")), as_object(state.get("bot"))]
    names = read_names(state, everybody, ("channel",))
    offered = read_offered(state, ("channel",))
    messages = [_message(message, names, offered) for message in objects(state.get("messages"))]
    return Scene(
        bot=as_text(bot.get("name")) or "bot",
        people=tuple(_person(person) for person in objects(state.get("people"))),
        channels=tuple(read_channel(channel) for channel in objects(state.get("channels"))),
        messages=tuple(sorted(messages, key=lambda message: message.at)),
        dialogs=tuple(_dialog(shown, names, offered) for shown in objects(state.get("views"))),
        interactions=tuple(_interaction(entry) for entry in objects(state.get("interactions"))),
        works=tuple(_works(state)),
    )


def _works(state: JsonObject) -> list[Work]:
    """Return the bot's work, as its sessions and its status texts show it."""
    busy = [one for one in objects(state.get("sessions")) if one.get("status") == "processing"]
    return [
        Work(as_text(one.get("channel")), as_text(one.get("thread_ts")), one.get("stoppable") is True)
        for one in [*busy, *objects(state.get("status"))]
    ]


def _person(person: JsonObject) -> Person:
    names = tuple(as_text(person.get(key)) for key in ("id", "name", "real_name"))
    return Person(id=names[0], name=names[1], names=names)


def _message(message: JsonObject, names: Names, offered: Offered) -> Message:
    channel, ts, bot = as_text(message.get("channel")), as_text(message.get("ts")), message.get("bot") is True
    blocks = objects(message.get("blocks"))
    found = controls(blocks, offered)
    stop = stopper(found) if bot else None
    found = () if stop is not None else found
    card = (
        stop is None
        and bot
        and (bool(found) or any(block.get("type") not in ("markdown", "rich_text") for block in blocks))
    )
    aside = message.get("ephemeral_to")
    beside = [f"📎 {as_text(file.get('name'))}" for file in objects(message.get("files"))]
    text = "\n".join(part for part in [message_text(message, names), *beside] if part)
    return Message(
        key=(channel, ts),
        channel=channel,
        root=as_text(message.get("thread_ts")) or ts,
        at=ts,
        author=names.get(as_text(message.get("user")), as_text(message.get("user"))).removeprefix("@"),
        bot=bot,
        only_for=aside if isinstance(aside, str) else None,
        unfinished=message.get("streaming") is True,
        card=card,
        lines=tuple(drawn(blocks, names, offered) if card else text.split("\n")),
        text=text,
        controls=found,
        pictures=tuple(as_text(block.get("image_url")) for block in blocks if block.get("type") == "image"),
        stop=stop,
        source={"text": message.get("text"), "blocks": message.get("blocks")},
    )


def _dialog(shown: JsonObject, names: Names, offered: Offered) -> Dialog:
    view = as_object(shown.get("view"))
    blocks = objects(view.get("blocks"))
    return Dialog(
        id=as_text(view.get("id")),
        person=as_text(shown.get("person")),
        title=as_text(as_object(view.get("title")).get("text")),
        lines=tuple(drawn(blocks, names, offered)),
        controls=controls(blocks, offered),
        errors=tuple(str(error) for error in as_object(shown.get("errors")).values()),
    )


def _interaction(entry: JsonObject) -> Interaction:
    acked, took, error = entry.get("acked"), entry.get("ack_ms"), entry.get("error")
    return Interaction(
        id=as_text(entry.get("id")),
        kind=as_text(entry.get("kind")),
        person=as_text(entry.get("person")),
        acked=acked if isinstance(acked, bool) else None,
        ack_ms=took if isinstance(took, int | float) else None,
        error=error if isinstance(error, str) else None,
        clicked=entry.get("kind") != "event",
    )


def _address(message: Message, control: Control) -> JsonObject:
    channel, ts = message.key
    return {"channel": channel, "ts": ts, **control.handle}


def _detail(answer: JsonObject) -> str:
    metadata = as_object(answer.get("response_metadata"))
    messages = metadata.get("messages")
    return f" ({'; '.join(str(message) for message in messages)})" if isinstance(messages, list) and messages else ""
