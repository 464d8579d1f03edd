"""Discord for the player: its state as a scene, people's acts as requests, and the refused calls."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_object, as_text, objects
from askback_sandbox.play.controls import Control, Offered, same
from askback_sandbox.play.platform import Request
from askback_sandbox.play.scene import Channel, Dialog, Interaction, Key, Message, Person, Place, Scene, Work, stopper
from askback_sandbox.play.state_parts import read_channel, read_names, read_offered

from .controls import controls
from .drawing import body, drawn
from .markdown import Names, read
from .values import Flag, Kind, PostType

__all__ = ["Discord", "scene"]

_WRITTEN = (PostType.DEFAULT, PostType.REPLY)
"""Types of the messages that members write: a message, and a reply."""
_TRY_AGAIN = "Try again"
_ANSWERED_TWICE = (10062, 40060)
_TOO_MANY = 429


class Discord:
    """See `askback_sandbox.play.platform.Platform`."""

    name = "Discord"
    people_path = "/people/discord"
    log = "/log/discord"

    def scene(self, state: JsonObject) -> Scene:
        return scene(state)

    def address(self, channel: Channel) -> str:
        return f"discord:#{channel.name}" if channel.kind == "channel" else f"discord:{channel.person}"

    def write(
        self, person: str, channel: str, text: str, place: Place | None, files: Sequence[JsonValue] = ()
    ) -> Request:
        # A thread has the id of the message from which it was started.
        where = place.root if place is not None and place.root is not None else channel
        return Request("write", {"person": person, "channel": where, "content": text, "files": [*files]})

    def written(self, channel: str, answer: JsonObject) -> Key:
        return channel, as_text(answer.get("id"))

    def click(self, person: str, message: Message, control: Control, chosen: Sequence[str] | None) -> Request:
        channel, identifier = message.key
        address: JsonObject = {"person": person, "channel": channel, "message": identifier, **control.handle}
        if chosen is None:
            return Request("click", address)
        return Request("select", {**address, "values": [*chosen]})

    def click_late(self, person: str, message: Message, control: Control, chosen: Sequence[str] | None) -> Request:
        request = self.click(person, message, control, chosen)
        return Request(request.route, {**request.body, "components": message.source.get("components")})

    def stop(self, person: str, work: Work) -> Request:
        raise NotImplementedError("Discord has no Stop of its own: a bot shows a button")

    def search(self, person: str, message: Message, control: Control, query: str) -> Request:
        raise NotImplementedError("no menu is searched on Discord: long ones have pages")

    def found(self, control: Control, answer: JsonObject) -> Control:
        del answer
        return control

    def submit(self, person: str, dialog: Dialog, entered: Sequence[tuple[Control, JsonValue]]) -> Request:
        values: JsonObject = {as_text(control.handle.get("custom_id")): value for control, value in entered}
        return Request("submit", {"person": person, "custom_id": dialog.id, "values": values})

    def close(self, person: str, dialog: Dialog) -> Request:
        del dialog  # a person has at most one modal
        return Request("dismiss", {"person": person})

    def dismiss(self, person: str, notice: Message) -> Request | None:
        channel, identifier = notice.key
        return Request("delete", {"person": person, "channel": channel, "message": identifier})

    def refusals(self, calls: Sequence[JsonObject], scene: Scene, forgiven: Collection[str]) -> list[str]:
        answered = {interaction.id for interaction in scene.interactions if interaction.acked}
        problems: list[str] = []
        for call in calls:
            status, answer = call.get("status"), as_object(call.get("answer"))
            if not isinstance(status, int) or status < 400 or _forgiven(status, answer, forgiven):
                continue
            if answer.get("code") in _ANSWERED_TWICE and _interaction_id(call) in answered:
                continue  # after a duplicate delivery the bot answers twice, and the first answer counts
            code = f" {answer['code']}" if answer.get("code") else ""
            sentence = as_text(answer.get("message")) or f"HTTP {status}"
            problems.append(f"Discord refused {call.get('operation')}:{code} {sentence}{_detail(answer)}")
        return problems


def scene(state: JsonObject) -> Scene:
    """Return the guild's state as people see it."""
    everybody = [*objects(state.get("people")), as_object(state.get("bot")), *objects(state.get("roles"))]
    names = read_names(state, everybody, ("channel", "forum", "thread"))
    offered = read_offered(state, ("channel", "forum"))
    parents = {as_text(one.get("id")): one.get("parent") for one in objects(state.get("channels"))}
    threads = {channel: as_text(parent) for channel, parent in parents.items() if parent}
    messages = [
        _message(message, threads, names, offered)
        for message in objects(state.get("messages"))
        if message.get("type") in _WRITTEN
    ]
    return Scene(
        bot=as_text(as_object(state.get("bot")).get("name")) or "bot",
        people=tuple(_person(person) for person in objects(state.get("people"))),
        channels=tuple(read_channel(one) for one in objects(state.get("channels")) if one.get("kind") != "thread"),
        messages=tuple(sorted(messages, key=lambda message: message.at)),
        dialogs=tuple(_dialog(shown, names, offered) for shown in objects(state.get("modals"))),
        interactions=tuple(_interaction(entry) for entry in objects(state.get("interactions"))),
        works=tuple(_works(state, threads)),
        threads=frozenset(threads),
    )


def _works(state: JsonObject, threads: Mapping[str, str]) -> list[Work]:
    """Return the places where the bot types; a direct message has no threads, and is one conversation."""
    bot = as_object(state.get("bot")).get("id")
    typing = [as_text(one.get("channel")) for one in objects(state.get("typing")) if one.get("user") == bot]
    return [Work(threads.get(where, where), where) for where in typing]


def _person(person: JsonObject) -> Person:
    names = tuple(as_text(person.get(key)) for key in ("id", "name", "global_name"))
    return Person(id=names[0], name=names[1], names=names)


def _message(message: JsonObject, threads: dict[str, str], names: Names, offered: Offered) -> Message:
    where, identifier = as_text(message.get("channel")), as_text(message.get("id"))
    components, content = objects(message.get("components")), as_text(message.get("content"))
    flags = message.get("flags")
    found, bot, aside = controls(components, offered), message.get("bot") is True, message.get("ephemeral_to")
    stop = stopper(found) if bot else None
    found = () if stop is not None else found
    words = read(content, names).split("\n") if content else []
    words += [f"📎 {as_text(file.get('filename'))}" for file in objects(message.get("attachments"))]
    again = [control for control in found if control.kind == "button" and same(control.label, _TRY_AGAIN) == 0]
    return Message(
        key=(where, identifier),
        channel=threads.get(where, where),
        root=where if where in threads else identifier,
        at=identifier.rjust(20, "0"),
        author=as_text(message.get("name")),
        bot=bot,
        only_for=aside if isinstance(aside, str) else None,
        unfinished=isinstance(flags, int) and bool(flags & Flag.LOADING),
        card=bot and bool(components) and stop is None,
        lines=(*words, *drawn(components, names, offered)),
        text="\n".join([*words, body(components, names)]),
        controls=found,
        pictures=tuple(_pictures(components)),
        stop=stop,
        retry=again[0] if again and isinstance(aside, str) else None,
        source={"content": content, "components": message.get("components"), "embeds": message.get("embeds")},
    )


def _pictures(components: Sequence[JsonObject]) -> Iterator[str]:
    for component in components:
        if component.get("type") == Kind.MEDIA_GALLERY:
            yield from (as_text(as_object(item.get("media")).get("url")) for item in objects(component.get("items")))
        yield from _pictures(objects(component.get("components")))


def _dialog(shown: JsonObject, names: Names, offered: Offered) -> Dialog:
    modal = as_object(shown.get("modal"))
    components = objects(modal.get("components"))
    return Dialog(
        id=as_text(modal.get("custom_id")),
        person=as_text(shown.get("person")),
        title=as_text(modal.get("title")),
        lines=tuple(drawn(components, names, offered)),
        controls=controls(components, offered),
    )


def _interaction(entry: JsonObject) -> Interaction:
    acked, took, error = entry.get("acked"), entry.get("ack_ms"), entry.get("error")
    return Interaction(
        id=as_text(entry.get("id")),
        kind="click" if entry.get("kind") == "component" else "dialog",
        person=as_text(entry.get("person")),
        acked=acked if isinstance(acked, bool) else None,
        ack_ms=took if isinstance(took, int | float) else None,
        error=error if isinstance(error, str) else None,
    )


def _forgiven(status: int, answer: JsonObject, forgiven: Collection[str]) -> bool:
    names = {str(answer.get("code")), as_text(answer.get("message")), "ratelimited" if status == _TOO_MANY else ""}
    return not names.isdisjoint(forgiven)


def _interaction_id(call: JsonObject) -> str:
    found = re.match(r"/interactions/(\d+)/", as_text(call.get("path")))
    return found[1] if found else ""


def _detail(answer: JsonObject) -> str:
    """Return the faults of a body, with their paths."""
    found = list(_errors(answer.get("errors"), ""))
    return f" ({'; '.join(found)})" if found else ""


def _errors(tree: JsonValue | None, path: str) -> list[str]:
    if not isinstance(tree, dict):
        return []
    here = [f"{path}: {as_text(error.get('message'))}" for error in objects(tree.get("_errors"))]
    below = [
        one for key, inner in tree.items() if key != "_errors" for one in _errors(inner, f"{path}.{key}".strip("."))
    ]
    return [*here, *below]
