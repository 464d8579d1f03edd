"""The Messages API's checks of the tools in a request."""

from __future__ import annotations

import re
from typing import TypeGuard

from pydantic import JsonValue

__all__ = ["Object", "Refused", "check_tools", "is_object", "must_match"]

Object = dict[str, JsonValue]

_TOOL_NAME = "^[a-zA-Z0-9_-]{1,128}$"
_JSON_TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}
_TOOL = frozenset(
    {
        "type",
        "name",
        "description",
        "input_schema",
        "cache_control",
        "strict",
        "eager_input_streaming",
        "input_examples",
        "defer_loading",
        "allowed_callers",
    }
)


class Refused(Exception):
    """A request that the real API answers with 400 `invalid_request_error`."""


def is_object(value: JsonValue | None) -> TypeGuard[Object]:
    return isinstance(value, dict)


def must_match(value: JsonValue, pattern: str, path: str) -> None:
    if not isinstance(value, str):
        raise Refused(f"{path}: Input should be a valid string")
    if re.fullmatch(pattern, value) is None:
        raise Refused(f"{path}: String should match pattern '{pattern}'")


def check_tools(value: JsonValue | None) -> None:
    if value is None:
        return
    if not isinstance(value, list):
        raise Refused("tools: Input should be a valid list")
    names: set[JsonValue] = set()
    for number, tool in enumerate(value):
        if not is_object(tool):
            raise Refused(f"tools.{number}: Input should be a valid dictionary")
        if tool.get("type", "custom") not in ("custom", None):
            continue  # server tools have schemas that the client does not send
        path = f"tools.{number}.custom"
        for key in tool:
            if key not in _TOOL:
                raise Refused(f"{path}.{key}: Extra inputs are not permitted")
        for key in ("name", "input_schema"):
            if key not in tool:
                raise Refused(f"{path}.{key}: Field required")
        name = tool["name"]
        must_match(name, _TOOL_NAME, f"{path}.name")
        if name in names:
            raise Refused("tools: Tool names must be unique.")
        names.add(name)
        _schema(tool["input_schema"], f"{path}.input_schema")


def _schema(schema: JsonValue, path: str) -> None:
    if not is_object(schema):
        raise Refused(f"{path}: Input should be a valid dictionary")
    if "type" not in schema:
        raise Refused(f"{path}.type: Field required")
    if schema["type"] != "object":
        raise Refused(f"{path}.type: Input should be 'object'")
    if {"oneOf", "allOf", "anyOf"} & schema.keys():
        raise Refused(f"{path}: input_schema does not support oneOf, allOf, or anyOf at the top level")
    if not _valid(schema):
        raise Refused(
            f"{path}: JSON schema is invalid. It must match JSON Schema draft 2020-12 "
            "(https://json-schema.org/draft/2020-12)."
        )


def _valid(schema: JsonValue) -> bool:
    """Check for the usual mistakes only, not for the whole meta-schema."""
    if isinstance(schema, bool):
        return True
    if not is_object(schema):
        return False
    kinds = schema.get("type", [])
    required = schema.get("required", [])
    numbers = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems")
    return (
        all(kind in _JSON_TYPES for kind in (kinds if isinstance(kinds, list) else [kinds]))
        and isinstance(required, list)
        and all(isinstance(name, str) for name in required)
        and isinstance(schema.get("enum", []), list)
        and not any(isinstance(schema.get(key, 0), bool | str) for key in numbers)
        and all(_valid(schema[key]) for key in ("items", "not", "additionalProperties") if key in schema)
        and all(_all_valid(schema[key], dict) for key in ("properties", "$defs") if key in schema)
        and all(_all_valid(schema[key], list) for key in ("anyOf", "oneOf", "allOf") if key in schema)
    )


def _all_valid(schemas: JsonValue, kind: type[dict[str, JsonValue]] | type[list[JsonValue]]) -> bool:
    if not isinstance(schemas, kind):
        return False
    return all(_valid(schema) for schema in (schemas.values() if isinstance(schemas, dict) else schemas))
