"""Block Kit in plain text, line by line, as a person reads it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from askback_sandbox.json_values import JsonObject, as_text, objects
from askback_sandbox.play.controls import Offered
from askback_sandbox.play.drawing import is_control, pictured
from askback_sandbox.play.moments import moment

from .controls import NOBODY, NOTHING, Names, controls, words

__all__ = ["body", "drawn", "message_text"]

_NUMBERED = r"\d+(?:[.)]\s|\s\s)"


def drawn(blocks: Sequence[JsonObject], names: Names = NOBODY, offered: Offered = NOTHING) -> list[str]:
    """Return all lines of these blocks, with their controls in position."""
    lines: list[str] = []
    for block in blocks:
        lines += _text(block, names)
        if block.get("type") == "actions" and lines and not is_control(lines[-1]):
            lines.append("")
        lines += pictured(controls([block], offered))
    return lines


def body(blocks: Sequence[JsonObject], names: Names = NOBODY) -> str:
    """Return the readable text, without the controls."""
    return "\n".join(line for block in blocks for line in _text(block, names))


def message_text(message: JsonObject, names: Names = NOBODY) -> str:
    """Return the readable text of a message."""
    blocks = objects(message.get("blocks"))
    own = as_text(message.get("markdown")) or words({"type": "mrkdwn", "text": message.get("text", "")}, names)
    return body(blocks, names) if blocks else own


def _text(block: JsonObject, names: Names) -> list[str]:
    match block.get("type"):
        case "section":
            fields = [words(field, names) for field in objects(block.get("fields"))]
            text = "\n".join(part for part in [words(block.get("text"), names), *fields] if part)
        case "header" | "markdown" | "alert":
            text = words(block.get("text"), names)
        case "context":
            text = " ".join(
                words(element, names) or as_text(element.get("alt_text")) for element in objects(block.get("elements"))
            )
        case "divider":
            text = "───"
        case "image":
            text = f"(picture: {as_text(block.get('alt_text'))})"
        case "rich_text":
            text = "\n".join(_rich(element, names).removesuffix("\n") for element in objects(block.get("elements")))
            if re.match(_NUMBERED, text):  # an option and its description
                text = re.sub(rf"\n(?!{_NUMBERED})", "\n   ", text)
        case "input":
            text = words(block.get("label"), names)
        case "card":
            text = "\n".join(words(block.get(key), names) for key in ("title", "subtitle", "body") if block.get(key))
        case "container":
            return [
                words(block.get("title"), names),
                *(line for child in objects(block.get("child_blocks")) for line in _text(child, names)),
            ]
        case _:
            text = ""
    return text.split("\n") if text else []


def _rich(element: JsonObject, names: Names) -> str:
    kind = as_text(element.get("type"))
    inner = "".join(_rich(child, names) for child in objects(element.get("elements")))
    match kind:
        case "rich_text_section":
            return inner
        case "rich_text_preformatted" | "rich_text_quote":
            return inner + "\n"
        case "rich_text_list":
            items = [_rich(child, names) for child in objects(element.get("elements"))]
            ordered = element.get("style") == "ordered"
            return "".join(f"{f'{n}.' if ordered else '•'} {item}\n" for n, item in enumerate(items, start=1))
        case "user":
            return _named(as_text(element.get("user_id")), "@", names)
        case "usergroup":
            return _named(as_text(element.get("usergroup_id")), "!", names)
        case "emoji":
            return f":{as_text(element.get('name'))}:"
        case "date":
            at = element.get("timestamp")
            return moment(at) if isinstance(at, int) else as_text(element.get("fallback"))
        case "broadcast":
            return f"<!{as_text(element.get('range'))}>"
        case "channel":
            return _named(as_text(element.get("channel_id")), "#", names)
        case "link":
            return as_text(element.get("text")) or as_text(element.get("url"))
        case _:
            return as_text(element.get("text"))


def _named(identifier: str, mark: str, names: Names) -> str:
    return names.get(identifier, f"<{mark}{identifier}>")
