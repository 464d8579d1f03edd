"""Blocks of Slack as a bot sends them."""

from __future__ import annotations

from typing import Any


def plain(text: str = "text") -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str = "text") -> dict[str, Any]:
    return {"type": "mrkdwn", "text": text}


def option(value: str = "1", **more: Any) -> dict[str, Any]:
    return {"text": plain(f"option {value}"), "value": value, **more}


def button(action_id: str = "go", **more: Any) -> dict[str, Any]:
    return {"type": "button", "action_id": action_id, "text": plain("Go"), **more}


def actions(*elements: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "actions", "block_id": "a", "elements": list(elements), **more}


def accessory(element: dict[str, Any]) -> dict[str, Any]:
    return {"type": "section", "text": mrkdwn(), "accessory": element}


def field(element: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "input", "label": plain("Label"), "element": element, **more}


def menu(kind: str = "static_select", **more: Any) -> dict[str, Any]:
    return {"type": kind, "action_id": "m", "placeholder": plain(), "options": [option()], **more}


def rich(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(elements)}]}


def container(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "container", "title": plain(), "child_blocks": list(blocks), **more}


CONFIRM = {"title": plain(), "text": mrkdwn(), "confirm": plain("Yes"), "deny": plain("No")}
IMAGE = {"type": "image", "image_url": "https://example.com/a.png", "alt_text": "a"}
TEXT_INPUT = {"type": "plain_text_input", "action_id": "t"}
TABLE = {
    "type": "table",
    "rows": [[{"type": "raw_text", "text": "a"}, rich({"type": "text", "text": "b"})]],
    "column_settings": [{"align": "right", "is_wrapped": True}],
}
LIST = {
    "type": "rich_text_list",
    "style": "ordered",
    "indent": 1,
    "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "one"}]}],
}
