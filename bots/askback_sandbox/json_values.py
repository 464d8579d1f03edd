"""Type aliases for JSON, and readers that never raise."""

import copy

from pydantic import JsonValue

JsonObject = dict[str, JsonValue]
JsonList = list[JsonValue]


def as_object(value: JsonValue) -> JsonObject:
    """Return the object, or an empty one if `value` is something else."""
    return value if isinstance(value, dict) else {}


def as_list(value: JsonValue) -> JsonList:
    """Return the list, or an empty one if `value` is something else."""
    return value if isinstance(value, list) else []


def as_text(value: JsonValue, default: str = "") -> str:
    """Return the string, or `default` if `value` is something else."""
    return value if isinstance(value, str) else default


def objects(value: JsonValue) -> list[JsonObject]:
    """Return the objects of a list without its other items."""
    return [item for item in as_list(value) if isinstance(item, dict)]


def texts(value: JsonValue) -> list[str]:
    """Return the strings of a list without its other items."""
    return [item for item in as_list(value) if isinstance(item, str)]


def json_list(values: list[JsonObject]) -> JsonList:
    """Return objects as a JSON list (lists are invariant in the type system)."""
    return [*values]


def copied(value: JsonObject) -> JsonObject:
    """Return a deep copy, so that callers cannot change the workspace's state."""
    return copy.deepcopy(value)


def copied_all(values: list[JsonObject]) -> list[JsonObject]:
    """Return deep copies of several objects."""
    return copy.deepcopy(values)
