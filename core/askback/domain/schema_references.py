"""Writes out the references of a JSON Schema to its own definitions. Pure."""

from __future__ import annotations

__all__ = ["inline_references"]

from collections.abc import Mapping
from typing import cast

from pydantic import JsonValue

from askback.errors import CallerError

DEEPEST = 20
"""Maximum depth of references within a schema."""

_Object = Mapping[str, JsonValue]


def inline_references(schema: _Object) -> dict[str, JsonValue]:
    """Return a schema without references to its own definitions, and without these.

    Raises `CallerError` if they are nested too deeply.
    """
    return cast("dict[str, JsonValue]", _inline(dict(schema), schema, 0))


def _inline(value: JsonValue, root: _Object, depth: int) -> JsonValue:
    if depth > DEEPEST:
        raise CallerError("The schema refers to itself: use a flat one, without recursion.")
    if isinstance(value, list):
        return [_inline(one, root, depth + 1) for one in value]
    if not isinstance(value, dict):
        return value
    named = value.get("$ref")
    if isinstance(named, str) and named.startswith("#/$defs/"):
        definition = cast("_Object", root.get("$defs") or {}).get(named.removeprefix("#/$defs/"))
        if isinstance(definition, dict):
            others = {key: part for key, part in value.items() if key != "$ref"}
            return _inline({**definition, **others}, root, depth + 1)
    return {key: _inline(one, root, depth + 1) for key, one in value.items() if key != "$defs"}
