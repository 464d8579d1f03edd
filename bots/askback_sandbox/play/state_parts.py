"""The parts of a platform's state that are the same on both: channels, and the names of people and places."""

from __future__ import annotations

__all__ = ["read_channel", "read_names", "read_offered"]

from collections.abc import Collection, Iterable

from askback_sandbox.json_values import JsonObject, as_text, objects

from .controls import Offered
from .scene import Channel


def read_channel(channel: JsonObject) -> Channel:
    whose = channel.get("person")
    return Channel(
        id=as_text(channel.get("id")),
        name=as_text(channel.get("name")),
        kind="dm" if channel.get("kind") == "dm" else "channel",
        person=whose if isinstance(whose, str) else None,
    )


def read_names(state: JsonObject, everybody: Iterable[JsonObject], kinds: Collection[str]) -> dict[str, str]:
    """Return the names of people, groups and roles, and of the channels of these kinds, by id."""
    names = {as_text(one.get("id")): f"@{as_text(one.get('name')).removeprefix('@')}" for one in everybody}
    return names | _name_channels(state, kinds)


def read_offered(state: JsonObject, kinds: Collection[str]) -> Offered:
    """Return what the platform's own pickers offer: all people, and the channels of these kinds."""
    people = {as_text(one.get("id")): f"@{as_text(one.get('name'))}" for one in objects(state.get("people"))}
    return Offered(people=people, channels=_name_channels(state, kinds))


def _name_channels(state: JsonObject, kinds: Collection[str]) -> dict[str, str]:
    channels = objects(state.get("channels"))
    return {as_text(one.get("id")): f"#{as_text(one.get('name'))}" for one in channels if one.get("kind") in kinds}
