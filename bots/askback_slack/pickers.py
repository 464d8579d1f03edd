"""Slack's own pickers for people and channels: how a card shows one, and what its payload says.

A payload has only ids. What it shows as picked is data, and grants no rights.
"""

from __future__ import annotations

__all__ = ["KINDS", "build_element", "build_picker", "is_picker", "read_drawn_ids", "read_ids"]

import re
from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from askback.domain.card import Card
from askback.domain.choice_words import Picks
from askback.domain.form_limits import MAX_PICKED, MAX_PICKED_ID
from askback.domain.outcome import Picked
from askback.translations.catalogue import N_, _
from askback_slack import control_ids, id_patterns
from askback_slack.blocks import Block, plain
from askback_slack.json_access import get_list, get_text

KINDS: Final[Mapping[control_ids.Kind, Picks]] = {"people": "people", "channels": "channels"}
"""The things to pick with the controls of each kind."""

_PATTERNS: Final[Mapping[Picks, re.Pattern[str]]] = {
    "people": re.compile(id_patterns.PERSON),
    "channels": re.compile(id_patterns.CHANNEL),
}
_ELEMENTS: Final[Mapping[Picks, str]] = {"people": "users_select", "channels": "conversations_select"}
_SEVERAL: Final = frozenset(f"multi_{element}" for element in _ELEMENTS.values())
_FIELDS: Final[Mapping[Picks, str]] = {"people": "user", "channels": "conversation"}
"""The end of the names of the fields that hold ids."""
_TITLES: Final[Mapping[Picks, str]] = {"people": N_("People:"), "channels": N_("Channels:")}
_HINTS: Final[Mapping[Picks, tuple[str, str]]] = {
    "people": (N_("Choose a person…"), N_("Choose people…")),
    "channels": (N_("Choose a channel…"), N_("Choose channels…")),
}


def build_picker(card: Card, picks: Picks, action_id: str) -> Block:
    """Return the block with the picker. Slack accepts a picker of several only with a text."""
    made = build_element(picks, card.picked, several=card.several, max_choices=card.max_choices)
    made["action_id"] = action_id
    if not card.several:
        return {"type": "actions", "elements": [made]}
    return {"type": "section", "text": plain(_(_TITLES[picks])), "accessory": made}


def build_element(picks: Picks, picked: Sequence[Picked], *, several: bool, max_choices: int | None) -> Block:
    """Return the picker without an id. It shows what is picked so far."""
    ids: list[JsonValue] = [one.id for one in picked if _PATTERNS[picks].fullmatch(one.id)]
    made: Block = {
        "type": f"multi_{_ELEMENTS[picks]}" if several else _ELEMENTS[picks],
        "placeholder": plain(_(_HINTS[picks][several])),
    }
    if picks == "channels":
        made["filter"] = {"include": ["public", "private"]}
    if not several:
        return {**made, f"initial_{_FIELDS[picks]}": ids[0]} if ids else made
    # Several people may have picked more than one person may.
    made["max_selected_items"] = max(max_choices or MAX_PICKED, len(ids))
    return {**made, f"initial_{_FIELDS[picks]}s": ids} if ids else made


def is_picker(element: object) -> bool:
    """Return True if an element of a payload is a picker of several people or channels."""
    return get_text(element, "type") in _SEVERAL


def read_ids(element: object, picks: Picks) -> tuple[str, ...] | None:
    """Return the ids that a picker shows as picked. None if one of them is not the id of a person or channel."""
    name = f"selected_{_FIELDS[picks]}"
    one = get_text(element, name)
    ids = (one,) if one is not None else tuple(get_list(element, f"{name}s"))
    found = [one for one in ids if isinstance(one, str) and _fits(one, picks)]
    return tuple(dict.fromkeys(found)) if len(found) == len(ids) else None


def _fits(picked: str, picks: Picks) -> bool:
    return len(picked) <= MAX_PICKED_ID and _PATTERNS[picks].fullmatch(picked) is not None


def read_drawn_ids(element: object, picks: Picks) -> tuple[str, ...]:
    """Return the ids with which a picker of several was drawn."""
    return tuple(one for one in get_list(element, f"initial_{_FIELDS[picks]}s") if isinstance(one, str))
