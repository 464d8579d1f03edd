"""Slack's limits, and checks that reject a message or a view that breaks one before it is sent.

Sources of the numbers: [ref] docs.slack.dev/reference, [sdk] slack_sdk.models 3.47, [live] a published error of the
live API with its numbers. Lengths are in UTF-16 units, which are never fewer than the characters that Slack may count.
The notification text is counted in bytes.
"""

from __future__ import annotations

__all__ = [
    "ACTIONS_ELEMENTS",
    "ALT_TEXT",
    "BLOCK_WEIGHT",
    "BUTTON_TEXT",
    "CHECKBOXES",
    "CONTEXT_ELEMENTS",
    "HEADER",
    "ID",
    "INPUT_LABEL",
    "INPUT_TEXT",
    "MARKDOWN",
    "MENU_OPTIONS",
    "MESSAGE_BLOCKS",
    "MESSAGE_TEXT_BYTES",
    "MESSAGE_WEIGHT",
    "OPTION_TEXT",
    "OPTION_VALUE",
    "PLACEHOLDER",
    "PRIVATE_METADATA",
    "RICH_TEXT",
    "SECTION_TEXT",
    "VIEW_BLOCKS",
    "VIEW_BYTES",
    "VIEW_TITLE",
    "TooBig",
    "check_message",
    "check_view",
    "count_utf16_units",
    "measure",
]  # fmt: skip

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from askback.errors import OperatorError

# messages and views
MESSAGE_BLOCKS: Final = 50  # [ref block-kit/blocks]
VIEW_BLOCKS: Final = 100  # [ref views/modal-views]
MESSAGE_TEXT_BYTES: Final = 4_000  # [ref chat.update, msg_too_long]; in UTF-8 bytes [live: 3,971 accepted, 4,121 not]
MESSAGE_WEIGHT: Final = 10_000  # all block text; msg_blocks_too_long: 9,597 accepted, 11,341 not [live bolt-js#2867]
BLOCK_WEIGHT: Final = 20  # what a block counts besides its text: "12,000 with a buffer for containers" [bolt-js#2509]
MARKDOWN: Final = 12_000  # markdown_text, markdown block [ref markdown-block]
ID: Final = 255  # block_id, action_id, callback_id [ref]
VIEW_TITLE: Final = 24  # title, submit, close [ref views/modal-views]
PRIVATE_METADATA: Final = 3_000  # [ref views/modal-views]
VIEW_BYTES: Final = 250_000  # view_too_large [ref views.open]

# blocks
SECTION_TEXT: Final = 3_000  # [ref section-block]
CONTEXT_ELEMENTS: Final = 10  # [ref context-block]
HEADER: Final = 150  # [ref header-block]
ACTIONS_ELEMENTS: Final = 25  # [ref actions-block]
INPUT_LABEL: Final = 2_000  # label and hint [ref input-block]
ALT_TEXT: Final = 2_000  # [ref image-block]
IMAGE_URL: Final = 3_000  # [ref image-block]
RICH_TEXT: Final = 3_000  # one run of rich text; undocumented, so the limit of a text object [ref text-object]

# elements
BUTTON_TEXT: Final = 75  # [ref button-element]
DATE_TIME: Final = (1_000_000_000, 9_999_999_999)  # seconds of ten digits [ref datetime-picker-element]
PLACEHOLDER: Final = 150  # [ref select-menu-element, plain-text-input-element]
OPTION_TEXT: Final = 75  # and its description [ref option-object]
OPTION_VALUE: Final = 75  # 150 [ref option-object], 75 in Slack's older libraries
MENU_OPTIONS: Final = 100  # of a menu, of the response to a search, and chosen to begin with [ref select-menu-element]
CHECKBOXES: Final = 10  # [ref checkboxes-element]
INPUT_TEXT: Final = 3_000  # max_length and initial_value [ref plain-text-input-element]

_PLAIN: Final[Mapping[str, int]] = {
    "section": SECTION_TEXT,
    "header": HEADER,
    "button": BUTTON_TEXT,
    "static_select": PLACEHOLDER,
    "multi_static_select": PLACEHOLDER,
    "external_select": PLACEHOLDER,
    "users_select": PLACEHOLDER,
    "multi_users_select": PLACEHOLDER,
    "conversations_select": PLACEHOLDER,
    "multi_conversations_select": PLACEHOLDER,
    "multi_external_select": PLACEHOLDER,
    "plain_text_input": PLACEHOLDER,
    "input": INPUT_LABEL,
    "context": SECTION_TEXT,
}
"""The longest text object that appears directly in an object of this type."""


class TooBig(OperatorError):
    """A message or view that Slack would reject. It is a bug of askback, found before sending."""


def count_utf16_units(text: str) -> int:
    """Return a text's length in UTF-16 units, the most that Slack may count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def measure(blocks: Sequence[JsonValue]) -> int:
    """Return the weight of blocks, which `MESSAGE_WEIGHT` limits."""
    return len(blocks) * BLOCK_WEIGHT + sum(
        count_utf16_units(value)
        for thing in _iter_objects([*blocks])
        for name, value in thing.items()
        if name == "text" and isinstance(value, str)
    )


def check_message(text: str, blocks: Sequence[JsonValue]) -> None:
    """Raise `TooBig` if Slack would reject a message with this text and these blocks."""
    _check_maximum("bytes of notification text", len(text.encode()), MESSAGE_TEXT_BYTES)
    _check_maximum("blocks in a message", len(blocks), MESSAGE_BLOCKS)
    _check_maximum("characters of block text in a message", measure(blocks), MESSAGE_WEIGHT)
    _check_blocks(blocks)


def check_view(view: Mapping[str, JsonValue]) -> None:
    """Raise `TooBig` if Slack would reject the view."""
    blocks = view.get("blocks")
    shown = blocks if isinstance(blocks, list) else []
    _check_maximum("blocks in a view", len(shown), VIEW_BLOCKS)
    _check_maximum("bytes in a view", len(json.dumps(view)), VIEW_BYTES)
    for name in ("title", "submit", "close"):
        _check_maximum(f"characters in a view's {name}", count_utf16_units(_get_text(view.get(name))), VIEW_TITLE)
    _check_maximum(
        "characters of private_metadata", count_utf16_units(str(view.get("private_metadata", ""))), PRIVATE_METADATA
    )
    _check_maximum("characters in a callback_id", count_utf16_units(str(view.get("callback_id", ""))), ID)
    _check_blocks(shown)


def _check_blocks(blocks: Sequence[JsonValue]) -> None:
    block_ids: list[str] = []
    for block in blocks:
        action_ids: list[str] = []
        for thing in _iter_objects([block]):
            _check_object(thing)
            if isinstance(block_id := thing.get("block_id"), str):
                block_ids.append(block_id)
            if isinstance(action_id := thing.get("action_id"), str):
                action_ids.append(action_id)
        _check_unique("action_id in a block", action_ids)
    _check_unique("block_id", block_ids)


def _check_object(thing: Mapping[str, JsonValue]) -> None:
    kind = str(thing.get("type", "option"))
    for name in ("block_id", "action_id"):
        _check_maximum(f"characters in a {name}", count_utf16_units(str(thing.get(name, ""))), ID)
    if kind == "text":
        _check_maximum("characters in a run of rich text", count_utf16_units(str(thing.get("text", ""))), RICH_TEXT)
    if kind == "option":
        _check_maximum("characters in an option", count_utf16_units(_get_text(thing.get("text"))), OPTION_TEXT)
        described = count_utf16_units(_get_text(thing.get("description")))
        _check_maximum("characters in an option's description", described, OPTION_TEXT)
        _check_maximum("characters in an option's value", count_utf16_units(str(thing.get("value", ""))), OPTION_VALUE)
    if kind in _PLAIN:
        for name in ("text", "placeholder", "label", "hint"):
            _check_maximum(
                f"characters in a {kind}'s {name}", count_utf16_units(_get_text(thing.get(name))), _PLAIN[kind]
            )
    if kind == "image":
        _check_maximum("characters in an image's alt_text", count_utf16_units(str(thing.get("alt_text", ""))), ALT_TEXT)
        _check_maximum(
            "characters in an image's address", count_utf16_units(str(thing.get("image_url", ""))), IMAGE_URL
        )
    if kind == "plain_text_input":
        _check_maximum(
            "characters in a field's initial_value", count_utf16_units(str(thing.get("initial_value", ""))), INPUT_TEXT
        )
    _check_maximum(
        f"options in {kind}",
        _count_characters(thing.get("options")),
        CHECKBOXES if kind == "checkboxes" else MENU_OPTIONS,
    )
    for name in ("initial_options", "initial_users", "initial_conversations"):
        _check_maximum("options chosen to begin with", _count_characters(thing.get(name)), MENU_OPTIONS)
    most = thing.get("max_selected_items")
    if isinstance(most, int):
        chosen = max(_count_characters(thing.get(name)) for name in ("initial_users", "initial_conversations"))
        _check_maximum(f"options chosen to begin with in {kind}", chosen, most)
    if kind in ("actions", "context"):
        most = ACTIONS_ELEMENTS if kind == "actions" else CONTEXT_ELEMENTS
        _check_maximum(f"elements in {kind}", _count_characters(thing.get("elements")), most)
    if kind == "rich_text_section" and not _count_characters(thing.get("elements")):
        raise TooBig("Slack rejects a rich_text_section without elements. Please report this as a bug in askback.")
    for name in ("text", "placeholder", "label"):
        if thing.get(name) == "" or (isinstance(thing.get(name), dict) and not _get_text(thing.get(name))):
            raise TooBig(f"Slack rejects an empty {name} in {kind}. Please report this as a bug in askback.")


def _iter_objects(values: list[JsonValue]) -> Iterator[Mapping[str, JsonValue]]:
    """Yield every object at every depth. A text object is checked with the object that contains it."""
    for value in values:
        if isinstance(value, dict):
            yield value
            yield from _iter_objects([*value.values()])
        elif isinstance(value, list):
            yield from _iter_objects(value)


def _get_text(value: JsonValue) -> str:
    text = value.get("text") if isinstance(value, dict) else None
    return text if isinstance(text, str) else ""


def _count_characters(value: JsonValue) -> int:
    return len(value) if isinstance(value, list) else 0


def _check_maximum(what: str, found: int, most: int) -> None:
    if found > most:
        raise TooBig(
            f"Slack accepts at most {most:,} {what}, and there are {found:,}. Please report this as a bug in askback."
        )


def _check_unique(what: str, ids: Sequence[str]) -> None:
    if len(set(ids)) < len(ids):
        raise TooBig(f"Slack rejects the same {what} twice. Please report this as a bug in askback.")
