"""Options of a question and values of a JSON Schema, in both directions. Pure."""

from __future__ import annotations

__all__ = [
    "Choices",
    "UnsupportedSchema",
    "as_object",
    "format_number",
    "is_number",
    "read_choices",
    "read_words",
    "to_option_value",
    "write_choices",
]

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from pydantic import JsonValue

from askback.domain.form import Option
from askback.domain.reserved_options import RESERVED
from askback.domain.schema_keywords import KEYWORDS
from askback.domain.text_kinds import MAX_INTEGER, TextKind, is_numeric, parse_number, to_json_value
from askback.errors import CallerError
from askback.text.literal import quote_line
from askback.text.unseen import has_visible_text

_WANTED: Final[Mapping[TextKind, str]] = {
    "text": "a text that people can see",
    "integer": "a whole number that every program can read",
    "number": "a number that every program can read",
}
"""The values of each kind that can be listed, in an error."""


class UnsupportedSchema(CallerError):
    """Raised if a JSON Schema does not fit into a form. The text says what, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The values that a schema permits, as options."""

    kind: TextKind
    options: tuple[Option, ...]

    def find_value(self, value: object) -> str | None:
        """Return the option's value for a value of the schema; None if it is not permitted."""
        text = to_option_value(self.kind, value)
        return text if any(option.value == text for option in self.options) else None


def read_choices(schema: Mapping[str, object]) -> Choices | None:
    """Return the choices of a schema with `enum`, `oneOf` or `anyOf`; None if it has none.

    Raises `UnsupportedSchema`.
    """
    entries = _list_entries(schema)
    if entries is None:
        return None
    if not entries:
        raise UnsupportedSchema("permits no value at all, so nobody could answer it: list at least one value")
    kind = _find_kind(schema.get("type"), [value for value, _, _ in entries])
    values = [_check_value(kind, value) for value, _, _ in entries]
    labels = [_find_label(kind, title, value) for value, (_, title, _) in zip(values, entries, strict=True)]
    options = tuple(
        Option.parse(
            {
                "value": value,
                # Equal titles would leave people without a difference.
                "label": label if labels.count(label) == 1 else f"{label} ({_find_label(kind, None, value)})",
                "description": text,
            }
        )
        for value, label, (_, _, text) in zip(values, labels, entries, strict=True)
    )
    return Choices(kind, options)


def _list_entries(schema: Mapping[str, object]) -> list[tuple[object, object, object]] | None:
    """Return the permitted values, each with its title and its description."""
    given = [name for name in ("enum", "oneOf", "anyOf") if name in schema]
    if not given:
        return None
    if len(given) > 1:
        raise UnsupportedSchema(f"has both `{given[0]}` and `{given[1]}`: give one list of values")
    (name,) = given
    listed = schema[name]
    if not isinstance(listed, list):
        raise UnsupportedSchema(f"has a `{name}` that is not a list: give a list of values")
    values = cast("list[object]", listed)
    if name == "enum":
        titles = schema.get("enumNames")
        names = cast("list[object]", titles) if isinstance(titles, list) else []
        return [(value, names[i] if i < len(names) else None, None) for i, value in enumerate(values)]
    found: list[tuple[object, object, object]] = []
    for value in values:
        entries = _read_alternative(as_object(value) or {})
        if entries is None:
            raise UnsupportedSchema(
                f"has alternatives in `{name}` that are not fixed values, and people choose only between fixed ones: "
                'write each as {"const": …, "title": …}'
            )
        found += entries
    return found


def _read_alternative(entry: Mapping[str, object]) -> list[tuple[object, object, object]] | None:
    """Return the values of one alternative, which may list several of them. None if they are not fixed."""
    (name, *others) = (entry.keys() & KEYWORDS) - {"type"} or ("",)
    listed = [entry["const"]] if name == "const" else entry.get("enum")
    if others or name not in ("const", "enum") or not isinstance(listed, list):
        return None
    values = cast("list[object]", listed)
    title = entry.get("title") if len(values) == 1 else None  # it would name several of them alike
    return [(value, title, entry.get("description")) for value in values]


def _find_kind(named: object, values: list[object]) -> TextKind:
    kinds: dict[str, TextKind] = {"string": "text", "integer": "integer", "number": "number"}
    if isinstance(named, str) and named in kinds:
        return kinds[named]
    if named is None and all(isinstance(value, str) for value in values):
        return "text"
    if named is None and all(map(is_number, values)):
        return "integer" if all(to_option_value("integer", value) for value in values) else "number"
    if named in (None, "boolean") and all(isinstance(value, bool) for value in values):
        return "boolean"
    raise UnsupportedSchema("lists values that are not all texts or all numbers: use one type for all of them")


def _check_value(kind: TextKind, value: object) -> str:
    text = to_option_value(kind, value)
    if text is None or not has_visible_text(text):
        raise UnsupportedSchema(f"permits {quote_line(repr(value))}, which is not {_WANTED[kind]}: give such a value")
    if text in RESERVED:
        raise UnsupportedSchema(f"permits {quote_line(text)}, which askback uses itself: give another value")
    return text


def _find_label(kind: TextKind, title: object, value: str) -> str:
    if isinstance(title, str) and has_visible_text(title):
        return title
    return {"true": "Yes", "false": "No"}[value] if kind == "boolean" else value


def to_option_value(kind: TextKind, value: object) -> str | None:
    if kind == "boolean":
        return str(value).lower() if isinstance(value, bool) else None
    if not is_numeric(kind):
        return value if isinstance(value, str) else None
    if not is_number(value):
        return None
    text = format_number(cast("float", value))
    return text if parse_number(kind, text) is not None else None


def is_number(value: object) -> bool:
    """Return True if a JSON value is a number that every program can read."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= MAX_INTEGER if isinstance(value, int) else math.isfinite(value)


def format_number(value: float) -> str:
    """Return a number as people write it: 2 and not 2.0."""
    return str(int(value)) if float(value).is_integer() and abs(value) <= MAX_INTEGER else repr(float(value))


def as_object(value: object) -> Mapping[str, object] | None:
    """Return a JSON object; None for any other value."""
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else None


def read_words(schema: Mapping[str, object], key: str) -> str | None:
    """Return a text of a schema for people. None if it is missing, or if they would see nothing of it."""
    value = schema.get(key)
    if value is not None and not isinstance(value, str):
        raise UnsupportedSchema(f"has a `{key}` that is not a text: write a text")
    return value if value and has_visible_text(value) else None


def write_choices(kind: TextKind, options: Iterable[Option], *, several: bool = False) -> dict[str, JsonValue]:
    """Return the schema of a value that is one of these options. `several` means that it is the item of an array."""
    permitted = [option for option in options if option.value not in RESERVED]
    named: dict[str, JsonValue] = {"type": "string" if kind == "text" else kind}
    values = [to_json_value(kind, option.value) for option in permitted]
    if all(option.label == option.value and option.description is None for option in permitted):
        return {**named, "enum": values}
    entries: list[JsonValue] = [
        {
            "const": value,
            "title": option.label,
            **({} if option.description is None else {"description": option.description}),
        }
        for option, value in zip(permitted, values, strict=True)
    ]
    return {**named, "anyOf" if several else "oneOf": entries}
