"""Reads values of JSON objects that may lack any part."""

from __future__ import annotations

__all__ = [
    "Json",
    "get_list",
    "get_object",
    "get_text",
    "get_value",
]

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

Json: TypeAlias = Mapping[str, object]


def get_value(data: object, *path: str | int) -> object:
    """Return the value at a path, or None if any part of the path is missing."""
    found: Any = data  # each click calls this forty times, and a `cast` takes as long as the look-up
    for part in path:
        kind = found.__class__
        if kind is dict:
            found = found.get(part)
        elif kind is list and isinstance(part, int) and part < len(found):
            found = found[part]
        else:
            return None
    return found


def get_text(data: object, *path: str | int) -> str | None:
    """Return the text at a path; None if it is missing, empty or not a text."""
    value = get_value(data, *path)
    return value if isinstance(value, str) and value else None


def get_list(data: object, *path: str | int) -> Sequence[object]:
    """Return the list at a path; empty if there is none."""
    value = get_value(data, *path)
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


def get_object(data: object, *path: str | int) -> Json:
    """Return the object at a path; empty if there is none."""
    value = get_value(data, *path)
    return cast("Json", value) if isinstance(value, dict) else {}
