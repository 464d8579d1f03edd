"""The controls of Block Kit, and its texts as a person reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_object, as_text, objects
from askback_sandbox.play.controls import Choice, Control, Kind, Offered
from askback_sandbox.play.moments import moment

from .pickers import PICKERS, initial_ids

__all__ = ["NOBODY", "NOTHING", "Names", "controls", "words"]

Names = Mapping[str, str]
"""The drawn names for the ids of people and channels: @ada, #general."""

NOBODY: Names = {}
NOTHING = Offered()

_KINDS: Mapping[str, Kind] = {
    "button": "button",
    "static_select": "menu",
    "external_select": "menu",
    "users_select": "menu",
    "conversations_select": "menu",
    "multi_users_select": "menu of several",
    "multi_conversations_select": "menu of several",
    "multi_static_select": "menu of several",
    "multi_external_select": "menu of several",
    "checkboxes": "checkboxes",
    "radio_buttons": "radio buttons",
    "overflow": "overflow",
    "plain_text_input": "field",
    "number_input": "field",
    "email_text_input": "field",
    "url_text_input": "field",
    "datepicker": "field",
    "timepicker": "field",
    "file_input": "files",
}


def words(value: JsonValue | None, names: Names = NOBODY) -> str:
    """Return the text of a text object, as a person reads it."""
    if isinstance(value, str):
        return value
    item = as_object(value)
    text = as_text(item.get("text"))
    if item.get("type") != "mrkdwn":
        return text
    text = re.sub(r"<(?:https?:[^|>]*)\|([^>]*)>", r"\1", text)
    text = re.sub(r"<[@#]([A-Z0-9]+)(?:\|[^>]*)?>", lambda found: names.get(found[1], found[0]), text)
    text = re.sub(r"<!date\^(\d+)\^[^>]*>", lambda found: moment(int(found[1])), text)
    for escaped, plain in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        text = text.replace(escaped, plain)
    return text


def controls(blocks: Sequence[JsonObject], offered: Offered = NOTHING) -> tuple[Control, ...]:
    """Return every control of these blocks, in the order in which they are drawn.

    `offered` holds the entries of pickers. Without it, a picker has no entries.
    """
    return tuple(
        control
        for block, element, label in _elements(blocks)
        if (control := _control(block, element, label, offered)) is not None
    )


def _elements(blocks: Sequence[JsonObject]) -> Iterator[tuple[JsonObject, JsonObject, str]]:
    for block in blocks:
        match block.get("type"):
            case "actions" | "context_actions":
                for element in objects(block.get("elements")):
                    yield block, element, ""
            case "section":
                if isinstance(accessory := block.get("accessory"), dict):
                    yield block, accessory, ""
            case "input":
                yield block, as_object(block.get("element")), words(block.get("label"))
            case "card":
                for element in objects(block.get("actions")):
                    yield block, element, ""
            case "container":
                yield from _elements(objects(block.get("child_blocks")))
            case _:
                pass


def _control(block: JsonObject, element: JsonObject, label: str, offered: Offered) -> Control | None:
    kind = _KINDS.get(as_text(element.get("type")))
    if kind is None or element.get("url"):
        return None
    groups = [element, *objects(element.get("option_groups"))]
    options = [option for group in groups for option in objects(group.get("options"))]
    first = [*objects(element.get("initial_options")), as_object(element.get("initial_option"))]
    on = {as_text(option.get("value")) for option in first if option}
    handle: JsonObject = {"block_id": block.get("block_id"), "action_id": element.get("action_id")}
    if element.get("type") in PICKERS:
        asked = "people" if as_text(element.get("type")).endswith("users_select") else "channels"
        shown = label or words(element.get("placeholder"))
        return Control(kind, shown, handle, offered.choices(asked, initial_ids(element)))
    return Control(
        kind=kind,
        handle=handle,
        label=label or words(element.get("text")) or words(element.get("placeholder")),
        choices=tuple(
            Choice(
                words(option.get("text")),
                as_text(option.get("value")),
                words(option.get("description")),
                as_text(option.get("value")) in on,
            )
            for option in options
        ),
        searched="external" in as_text(element.get("type")),
        value=as_text(element.get("initial_value")),
    )
