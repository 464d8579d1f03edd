"""Reads Slack's block_actions payloads tolerantly: the control that a person used, and the rest of the card."""

from __future__ import annotations

__all__ = [
    "Click",
    "parse_indexes",
    "read_click",
    "read_picked",
]

import re
import time
from dataclasses import dataclass, field
from typing import cast

from askback.domain.actions import Pick, Select
from askback.domain.choice_words import Picks
from askback.domain.identity import Actor, MessageRef
from askback.domain.outcome import Picked
from askback_slack import control_ids, pickers
from askback_slack.installation import UNKNOWN_INSTALLATION, Installation, read_actor
from askback_slack.json_access import Json, get_list, get_text, get_value


@dataclass(frozen=True, slots=True)
class Click:
    """A press on one control of a message."""

    control: control_ids.Control | None
    """None if the control is not one of askback's."""
    actor: Actor
    message: MessageRef | None
    thread: str | None
    picked: tuple[str, ...]
    """Values that a menu or a set of checkboxes shows as chosen."""
    pick: Pick | None
    """The people or channels that a picker shows, without names. None without a picker, or if an id is wrong."""
    base: tuple[int, ...] | None
    """Indexes of the options that the clicked card was drawn with as ticked."""
    revision: int | None
    """The card revision that was clicked."""
    order: float | None
    ticks: Select | Pick | None
    """The other ticks on the card."""
    trigger: str | None
    """Slack's trigger id. It opens one text field, and identifies this click."""
    response_url: str | None
    view: str | None
    """The id of the modal with the control; None if it was not in a modal."""
    at: float = field(default_factory=time.monotonic, compare=False)
    """The click's arrival by the monotonic clock. The lifetime of its trigger counts from here."""


def read_click(body: Json, home: Installation = UNKNOWN_INSTALLATION) -> Click | None:
    """Read a block_actions payload. Return None if it names no person or no action."""
    who, action = read_actor(body, home), get_value(body, "actions", 0)
    if who is None or action is None:
        return None
    control = control_ids.parse(get_text(action, "action_id") or "")
    channel = get_text(body, "container", "channel_id") or get_text(body, "channel", "id")
    ts = get_text(body, "container", "message_ts") or get_text(body, "message", "ts")
    order = get_text(action, "action_ts")
    block_id = get_text(action, "block_id")
    revision = control_ids.parse_revision(block_id) if block_id else None
    number = float(order) if order and re.fullmatch(r"\d{1,12}(\.\d{1,9})?", order) else None
    return Click(
        control=control,
        actor=who,
        message=MessageRef(channel=channel, id=ts) if channel and ts else None,
        thread=get_text(body, "container", "thread_ts") or get_text(body, "message", "thread_ts"),
        picked=read_picked(action),
        pick=_read_pick(body, action, control, block_id, number),
        base=_read_drawn_ticks(body, block_id, get_text(action, "action_id")),
        revision=revision,
        order=number,
        ticks=_read_ticks(body, number),
        trigger=get_text(body, "trigger_id"),
        response_url=get_text(body, "response_url"),
        view=get_text(body, "view", "id"),
    )


def read_picked(element: object) -> tuple[str, ...]:
    """Return the values that a menu or a group of boxes holds."""
    one = get_text(element, "selected_option", "value")
    many = [value for entry in get_list(element, "selected_options") if (value := get_text(entry, "value"))]
    return (one,) if one is not None else tuple(many)


def _read_pick(
    body: Json, element: object, control: control_ids.Control | None, block_id: str | None, order: float | None
) -> Pick | None:
    picks = None if control is None else pickers.KINDS.get(control.kind)
    ids = None if picks is None else pickers.read_ids(element, picks)
    if picks is None or ids is None:
        return None
    return Pick(
        picked=tuple(Picked(id=one) for one in ids),
        base=_read_drawn_ids(body, block_id, get_text(element, "action_id"), picks),
        revision=control_ids.parse_revision(block_id),
        order=order,
    )


def _read_drawn_ids(body: Json, block_id: str | None, action_id: str | None, picks: Picks) -> tuple[str, ...] | None:
    element = _find_drawn(body, block_id, action_id)
    return None if element is None else pickers.read_drawn_ids(element, picks)


def _read_drawn_ticks(body: Json, block_id: str | None, action_id: str | None) -> tuple[int, ...] | None:
    """Return the options that the card was drawn with as ticked."""
    element = _find_drawn(body, block_id, action_id)
    if element is None:
        return None
    return parse_indexes(tuple(v for entry in get_list(element, "initial_options") if (v := get_text(entry, "value"))))


def _find_drawn(body: Json, block_id: str | None, action_id: str | None) -> object:
    """Return an element as the card was drawn; the client sends the blocks along. None if they lack it."""
    for block in get_list(body, "message", "blocks"):
        if get_text(block, "block_id") != block_id:
            continue
        for element in (*get_list(block, "elements"), get_value(block, "accessory"), get_value(block, "element")):
            if get_text(element, "action_id") == action_id:
                return element
    return None


def _read_ticks(body: Json, order: float | None) -> Select | Pick | None:
    """Read the checkboxes, the menu or the picker of several on the same card as a pressed button."""
    values = get_value(body, "state", "values")
    if not isinstance(values, dict):
        return None
    for block_id, elements in cast("Json", values).items():
        if not isinstance(elements, dict):
            continue
        for action_id, element in cast("Json", elements).items():
            control = control_ids.parse(action_id)
            if pickers.is_picker(element):
                found = _read_pick(body, {**cast("Json", element), "action_id": action_id}, control, block_id, order)
                return None if found is None or (found.base and not found.picked) else found
            if control is None or control.kind != "tick":
                continue
            chosen, base = parse_indexes(read_picked(element)), _read_drawn_ticks(body, block_id, action_id)
            if not chosen and base:
                # Slack sometimes omits boxes that were drawn ticked and never touched. Unticking arrives as a separate
                # action, so ignoring this loses nothing.
                return None
            return Select(chosen=chosen, base=base, revision=control_ids.parse_revision(block_id), order=order)
    return None


def parse_indexes(values: tuple[str, ...]) -> tuple[int, ...]:
    """Convert option values to indexes. Drop values that are not askback's."""
    return tuple(int(value) for value in values if re.fullmatch(r"\d{1,4}", value))
