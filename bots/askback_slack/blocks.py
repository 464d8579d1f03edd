"""Block Kit blocks and elements as plain data, with every text literal."""

from __future__ import annotations

__all__ = [
    "Block",
    "actions",
    "bold",
    "button",
    "code",
    "context",
    "date",
    "divider",
    "heading",
    "image",
    "inline_code",
    "italic",
    "link",
    "option",
    "plain",
    "quote",
    "rich_text",
    "section",
    "split_runs",
    "text",
    "text_with_button",
    "user",
    "usergroup",
]  # fmt: skip

from collections.abc import Iterable
from datetime import datetime
from typing import TypeAlias

from pydantic import JsonValue

from askback.translations.catalogue import _
from askback_slack import control_ids, limits
from askback_slack.escaping import fit_line, replace_controls, split_isolated

Block: TypeAlias = dict[str, JsonValue]
"""A Slack block, element or object."""


def text(words: str) -> Block:
    """A run of rich text. Slack reads neither mark-up nor mentions in it."""
    return {"type": "text", "text": words}


def bold(words: str) -> Block:
    """A run of bold rich text."""
    return {"type": "text", "text": words, "style": {"bold": True}}


def italic(words: str) -> Block:
    """A run of italic rich text."""
    return {"type": "text", "text": words, "style": {"italic": True}}


def inline_code(words: str) -> Block:
    """A run of monospace rich text. The words must be short and without control characters."""
    return {"type": "text", "text": words, "style": {"code": True}}


def split_runs(words: str, *, strong: bool = False) -> list[Block]:
    """Split a text of any length into runs that Slack accepts; return one run if it fits."""
    make = bold if strong else text
    return [make(piece) for piece in split_isolated(replace_controls(words), limits.RICH_TEXT)]


def user(user_id: str) -> Block:
    """A mention of a person."""
    return {"type": "user", "user_id": user_id}


def usergroup(group_id: str) -> Block:
    """A mention of a user group."""
    return {"type": "usergroup", "usergroup_id": group_id}


def channel(channel_id: str) -> Block:
    """A link to a channel."""
    return {"type": "channel", "channel_id": channel_id}


def date(moment: datetime) -> Block:
    """A time in the reader's own time zone."""
    fallback = f"{moment:%Y-%m-%d %H:%M} {moment:%Z}".strip()
    seconds = int(moment.timestamp())
    if seconds < 0:
        return text(fallback)
    return {"type": "date", "timestamp": seconds, "format": _("{date_short_pretty} at {time}"), "fallback": fallback}


def link(address: str, words: str) -> Block:
    """A link to the address, with a text by askback."""
    return {"type": "link", "url": address, "text": words}


def section(elements: Iterable[Block]) -> Block:
    """A paragraph of rich text."""
    return {"type": "rich_text_section", "elements": [*elements]}


def quote(elements: Iterable[Block]) -> Block:
    """A quotation in rich text."""
    return {"type": "rich_text_quote", "elements": [*elements]}


def code(elements: Iterable[Block]) -> Block:
    """Preformatted rich text."""
    return {"type": "rich_text_preformatted", "elements": [*elements]}


def rich_text(elements: Iterable[Block]) -> Block:
    """A block of paragraphs, quotations and preformatted text."""
    return {"type": "rich_text", "elements": [*elements]}


def heading(words: str) -> Block:
    """A line in large letters. The words must be literal and fit on it."""
    return {"type": "header", "text": plain(words)}


def divider() -> Block:
    """A horizontal line."""
    return {"type": "divider"}


def image(address: str, alt_text: str) -> Block:
    """A picture, with the beginning of `alt_text` as its alternative text."""
    return {"type": "image", "image_url": address, "alt_text": fit_line(alt_text, 200)}


def plain(words: str) -> Block:
    """A plain-text object for askback's own text, or for one that `fit_line` made literal. Emoji codes stay text."""
    return {"type": "plain_text", "text": words, "emoji": False}


def context(words: str) -> Block:
    """A small note by askback."""
    return {"type": "context", "elements": [plain(words)]}


def button(label: str, control: control_ids.Control, *, primary: bool = False, danger: bool = False) -> Block:
    """A button: green if `primary`, red if `danger`."""
    made: Block = {
        "type": "button",
        "action_id": control_ids.to_action_id(control),
        "text": plain(fit_line(label, limits.BUTTON_TEXT)),
    }
    return {**made, "style": "primary" if primary else "danger"} if primary or danger else made


def text_with_button(words: str, element: Block) -> Block:
    """A text with a button at its right. The text must be literal."""
    return {"type": "section", "text": plain(words), "accessory": element}


def option(label: str, value: int, description: str | None = None) -> Block:
    """One entry of a menu. Its texts must already fit."""
    made: Block = {"text": plain(label), "value": str(value)}
    return made if description is None else {**made, "description": plain(description)}


def actions(block_id: str, elements: Iterable[Block]) -> Block:
    """A row of controls."""
    return {"type": "actions", "block_id": block_id, "elements": [*elements]}
