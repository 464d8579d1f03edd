"""The pickers that Slack fills: what people and channels they offer to the person who looks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from askback_sandbox.json_values import JsonObject, as_object, as_text, texts

from .values import Channel


@dataclass(frozen=True)
class _Fields:
    initial: str
    selected: str
    several: bool


PICKERS: Final[Mapping[str, _Fields]] = {
    "users_select": _Fields("initial_user", "selected_user", several=False),
    "multi_users_select": _Fields("initial_users", "selected_users", several=True),
    "conversations_select": _Fields("initial_conversation", "selected_conversation", several=False),
    "multi_conversations_select": _Fields("initial_conversations", "selected_conversations", several=True),
}
"""The fields of each picker: of its block, and of its state in a payload."""


def initial_ids(element: JsonObject) -> list[str]:
    """Return the ids that a picker shows before a person has touched it."""
    fields = PICKERS[as_text(element.get("type"))]
    one = as_text(element.get(fields.initial))
    return texts(element.get(fields.initial)) if fields.several else [one] if one else []


def picker_state(kind: str, ids: list[str]) -> JsonObject:
    """Return the state of a picker with these ids."""
    fields = PICKERS[kind]
    return {"type": kind, fields.selected: [*ids] if fields.several else ids[0] if ids else None}


def offered_ids(element: JsonObject, people: Iterable[str], channels: Iterable[Channel]) -> list[str]:
    """Return which of these a picker offers; none for other elements. The picker of people has no filter."""
    kind = as_text(element.get("type"))
    if kind not in PICKERS:
        return []
    if kind.endswith("users_select"):
        return [*people]
    kinds = texts(as_object(element.get("filter")).get("include"))
    return [one.id for one in channels if not one.archived and (not kinds or _kind(one) in kinds)]


def _kind(channel: Channel) -> str:
    return "im" if channel.kind == "dm" else "private" if channel.private else "public"
