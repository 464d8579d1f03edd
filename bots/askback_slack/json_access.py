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
from typing import TypeAlias, cast

Json: TypeAlias = Mapping[str, object]


def get_value(data: object, *path: str | int) -> object:
    """Return the value at a path, or None if any part of the path is missing."""
    for part in path:
        if isinstance(part, int):
            entries = cast("Sequence[object]", data) if isinstance(data, list) else ()
            data = entries[part] if part < len(entries) else None
        else:
            if not isinstance(data, dict):
                return None
            data = cast("Json", data).get(part)
    return data


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
