"""Block Kit's building stones, as plain data, with every text literal."""

from __future__ import annotations

__all__ = [
    "Block", "actions", "bold", "button", "code", "context", "date", "image", "link", "option", "plain", "quote",
    "rich_text", "runs", "section", "text", "user", "usergroup",
]  # fmt: skip

from collections.abc import Iterable
from datetime import datetime
from typing import TypeAlias

from pydantic import JsonValue

from askback_slack import ids, limits
from askback_slack.texts import fit, isolated, pieces, visible

Block: TypeAlias = dict[str, JsonValue]
"""A block, an element or an object of Slack's."""


def text(words: str) -> Block:
    """A run of rich text: neither mark-up nor mention, whatever stands in it."""
    return {"type": "text", "text": words}


def bold(words: str) -> Block:
    """The same in bold."""
    return {"type": "text", "text": words, "style": {"bold": True}}


def runs(words: str, *, strong: bool = False) -> list[Block]:
    """A text of any length in runs that Slack takes: one where it fits."""
    make = bold if strong else text
    return [make(isolated(piece)) for piece in pieces(visible(words), limits.RICH_TEXT - 60)]


def user(user_id: str) -> Block:
    """A mention of a person."""
    return {"type": "user", "user_id": user_id}


def usergroup(group_id: str) -> Block:
    """A mention of a user group."""
    return {"type": "usergroup", "usergroup_id": group_id}


def date(moment: datetime) -> Block:
    """A time in the reader's own time zone."""
    fallback = f"{moment:%Y-%m-%d %H:%M} {moment:%Z}".strip()
    seconds = int(moment.timestamp())
    if seconds < 0:
        return text(fallback)
    return {"type": "date", "timestamp": seconds, "format": "{date_short_pretty} at {time}", "fallback": fallback}


def link(address: str, words: str) -> Block:
    """Words of our own that lead there."""
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


def image(address: str, alt_text: str) -> Block:
    """A picture, with the beginning of the words that stand beside it."""
    return {"type": "image", "image_url": address, "alt_text": fit(alt_text, 200)}


def plain(words: str) -> Block:
    """A text of ours, or one that `fit` has made literal. Emoji codes stay codes."""
    return {"type": "plain_text", "text": words, "emoji": False}


def context(words: str) -> Block:
    """A small remark of ours."""
    return {"type": "context", "elements": [plain(words)]}


def button(label: str, control: ids.Control, *, primary: bool = False, danger: bool = False) -> Block:
    """A button, green where it is `primary`, red where it is `danger`."""
    made: Block = {
        "type": "button",
        "action_id": ids.action(control),
        "text": plain(fit(label, limits.BUTTON_TEXT)),
    }
    return {**made, "style": "primary" if primary else "danger"} if primary or danger else made


def option(label: str, value: int) -> Block:
    """One entry of a menu. The label fits already."""
    return {"text": plain(label), "value": str(value)}


def actions(block_id: str, elements: Iterable[Block]) -> Block:
    """A row of controls."""
    return {"type": "actions", "block_id": block_id, "elements": [*elements]}
