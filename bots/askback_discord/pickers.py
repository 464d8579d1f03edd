"""Discord's own pickers for people and channels: how a card shows one, and what its payload says.

A payload has the ids, and what Discord knows about each of them. What it says is data, and grants no rights.
"""

from __future__ import annotations

__all__ = ["KINDS", "build_element", "build_picker", "read_picked", "read_valid"]

import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

from pydantic import JsonValue

from askback.domain.card import Card
from askback.domain.choice_words import Picks
from askback.domain.form_limits import MAX_PICKED
from askback.domain.outcome import Picked
from askback.translations.catalogue import N_, _
from askback_discord import control_ids, id_patterns, limits
from askback_discord.components import Component

KINDS: Final[Mapping[control_ids.Kind, Picks]] = {"people": "people", "channels": "channels"}
"""The things to pick with the controls of each kind."""
CHANNEL_TYPES: Final = (0, 5, 15)
"""Types of channels that can be picked: text channels, announcement channels and forums."""

_ID: Final = re.compile(id_patterns.SNOWFLAKE)
_TYPES: Final[Mapping[Picks, int]] = {"people": limits.USERS, "channels": limits.CHANNELS}
_DEFAULTS: Final[Mapping[Picks, str]] = {"people": "user", "channels": "channel"}
_HINTS: Final[Mapping[Picks, tuple[str, str]]] = {
    "people": (N_("Choose a person…"), N_("Choose people…")),
    "channels": (N_("Choose a channel…"), N_("Choose channels…")),
}


def build_picker(card: Card, picks: Picks, control: control_ids.Control) -> Component:
    """Return the picker."""
    # Discord sends nothing if a person chooses what a picker of one already shows. So show it only if the person has
    # another way to continue.
    shown = card.picked if card.several or card.can_go_on else ()
    made = build_element(picks, shown, several=card.several, max_choices=card.max_choices)
    return {**made, "custom_id": control_ids.to_custom_id(control), "min_values": 0 if card.several else 1}


def build_element(picks: Picks, picked: Sequence[Picked], *, several: bool, max_choices: int | None) -> Component:
    """Return the picker without an id. It shows what is picked so far."""
    ids = [one.id for one in picked if _ID.fullmatch(one.id)]
    made: Component = {
        "type": _TYPES[picks],
        "placeholder": _(_HINTS[picks][several]),
        # Several people may have picked more than one person may.
        "max_values": max(max_choices or MAX_PICKED, len(ids)) if several else 1,
    }
    if picks == "channels":
        made["channel_types"] = [*CHANNEL_TYPES]
    if ids:
        chosen: list[JsonValue] = [{"id": one, "type": _DEFAULTS[picks]} for one in ids]
        made["default_values"] = chosen
    return made


def read_picked(data: Mapping[str, object], picks: Picks) -> tuple[Picked, ...] | None:
    """Return the people or channels in the data of an interaction. None if one of them is something else."""
    picked, are_all = read_valid(data, picks)
    return picked if are_all else None


def read_valid(data: Mapping[str, object], picks: Picks) -> tuple[tuple[Picked, ...], bool]:
    """Return the people or channels in the data of an interaction, and True if nothing else is among them."""
    values, resolved = data.get("values"), _to_object(data.get("resolved"))
    ids = [str(value) for value in cast("list[object]", values)] if isinstance(values, list) else []
    read = _read_person if picks == "people" else _read_channel
    found = [read(one, resolved) if _ID.fullmatch(one) else None for one in dict.fromkeys(ids)]
    picked = tuple(one for one in found if one is not None)
    return picked, len(picked) == len(found)


def _read_person(user_id: str, resolved: Mapping[str, object]) -> Picked | None:
    user = _to_object(_to_object(resolved.get("users")).get(user_id))
    member = _to_object(_to_object(resolved.get("members")).get(user_id))
    if not user or user.get("bot") is True:
        return None
    names = (member.get("nick"), user.get("global_name"), user.get("username"))
    return Picked(id=user_id, name=next((name for name in names if isinstance(name, str) and name.strip()), ""))


def _read_channel(channel_id: str, resolved: Mapping[str, object]) -> Picked | None:
    channel = _to_object(_to_object(resolved.get("channels")).get(channel_id))
    name = channel.get("name")
    if channel.get("type") not in CHANNEL_TYPES:
        return None
    return Picked(id=channel_id, name=f"#{name}" if isinstance(name, str) and name.strip() else "")


def _to_object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
