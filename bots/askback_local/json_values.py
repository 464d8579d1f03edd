"""JSON as it is read from the wire: aliases, and readers that never raise."""

import copy

from pydantic import JsonValue

JsonObject = dict[str, JsonValue]
JsonList = list[JsonValue]


def as_object(value: JsonValue) -> JsonObject:
    """The object, or an empty one when `value` is something else."""
    return value if isinstance(value, dict) else {}


def as_list(value: JsonValue) -> JsonList:
    """The list, or an empty one when `value` is something else."""
    return value if isinstance(value, list) else []


def as_text(value: JsonValue, default: str = "") -> str:
    """The string, or `default` when `value` is something else."""
    return value if isinstance(value, str) else default


def objects(value: JsonValue) -> list[JsonObject]:
    """The objects of a list; whatever else it holds is left out."""
    return [item for item in as_list(value) if isinstance(item, dict)]


def texts(value: JsonValue) -> list[str]:
    """The strings of a list; whatever else it holds is left out."""
    return [item for item in as_list(value) if isinstance(item, str)]


def json_list(values: list[JsonObject]) -> JsonList:
    """Objects as a JSON list (lists are invariant in the type system)."""
    return [*values]


def copied(value: JsonObject) -> JsonObject:
    """A deep copy: nothing that left the workspace may change what is inside."""
    return copy.deepcopy(value)


def copied_all(values: list[JsonObject]) -> list[JsonObject]:
    """Deep copies of several objects."""
    return copy.deepcopy(values)
