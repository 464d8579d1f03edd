"""Type aliases for JSON, and readers that never raise."""

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
    return {name: _copied_value(inner) for name, inner in value.items()}


def copied_all(values: list[JsonObject]) -> list[JsonObject]:
    """Return deep copies of several objects."""
    return [copied(value) for value in values]


def _copied_value(value: JsonValue) -> JsonValue:
    # `copy.deepcopy` takes six times as long, since it also looks for values that occur twice.
    if isinstance(value, dict):
        return {name: _copied_value(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_copied_value(inner) for inner in value]
    return value
