"""Discord's messages in plain text, line by line, as a person reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from askback_sandbox.json_values import JsonObject, as_object, as_text, objects
from askback_sandbox.play.controls import Offered
from askback_sandbox.play.drawing import pictured

from .controls import NOTHING, button_label, controls
from .markdown import Names, read
from .values import Kind

__all__ = ["body", "drawn"]

_OPTION = re.compile(r"\*\*\s*[\u2066-\u2068]?\d+\\?\.\s")
_HANGING = "   "


def drawn(components: Sequence[JsonObject], names: Names, offered: Offered = NOTHING) -> list[str]:
    """Return all lines of these components, with their controls in position."""
    lines: list[str] = []
    for component in components:
        match component.get("type"):
            case Kind.ACTION_ROW:
                lines += _row(component, offered)
            case Kind.SECTION:
                lines += drawn(objects(component.get("components")), names, offered)
                lines += pictured(controls([as_object(component.get("accessory"))], offered))
            case Kind.CONTAINER:
                lines += drawn(objects(component.get("components")), names, offered)
            case Kind.LABEL:
                lines += [as_text(component.get("label")), *_words(as_text(component.get("description")), names)]
                lines += pictured(controls([as_object(component.get("component"))], offered))
            case _:
                lines += _text(component, names)
    return lines


def body(components: Sequence[JsonObject], names: Names) -> str:
    """Return the readable text, without the controls."""
    lines: list[str] = []
    for component in components:
        nested = objects(component.get("components"))
        if nested and component.get("type") != Kind.ACTION_ROW:
            lines.append(body(nested, names))
        elif component.get("type") == Kind.LABEL:
            lines.append(as_text(component.get("label")))
        else:
            lines += _text(component, names)
    return "\n".join(lines)


def _row(row: JsonObject, offered: Offered) -> list[str]:
    """Return the row's buttons in one line; disabled ones are in round brackets."""
    found = objects(row.get("components"))
    if any(one.get("type") != Kind.BUTTON for one in found):
        return pictured(controls([row], offered))
    marks = {True: "( {} )", False: "[ {} ]"}
    return ["  ".join(marks[one.get("disabled") is True].format(button_label(one)) for one in found)]


def _text(component: JsonObject, names: Names) -> list[str]:
    match component.get("type"):
        case Kind.TEXT_DISPLAY:
            return _words(as_text(component.get("content")), names)
        case Kind.SEPARATOR:
            return [""]
        case Kind.MEDIA_GALLERY:
            pictures = objects(component.get("items"))
            return [f"(picture: {as_text(picture.get('description')) or 'no description'})" for picture in pictures]
        case Kind.FILE:
            return [f"(file: {as_text(component.get('name')) or 'no name'})"]
        case _:
            return []


def _words(markdown: str, names: Names) -> list[str]:
    """Return the lines of a text; the further lines of a numbered option are indented."""
    if not markdown:
        return []
    if not _OPTION.match(markdown):
        return read(markdown, names).split("\n")
    lines: list[str] = []
    for part in re.split(rf"\n+(?={_OPTION.pattern})", markdown):
        first, *rest = read(part, names).rstrip("\n").split("\n")
        lines += [first, *(f"{_HANGING}{line}" for line in rest)]
    return lines
