"""Rewrites a JSON Schema into a plain one: without references to its own definitions, and without null. Pure.

Libraries such as Pydantic publish an enumeration as a reference, and an optional value as a choice between it and null.
"""

from __future__ import annotations

__all__ = ["MAX_NODES", "accepts_null", "inline_references", "simplify_property"]

from collections.abc import Collection, Mapping
from typing import Final, TypeVar, cast
from urllib.parse import unquote

from pydantic import JsonValue

from askback.domain.schema_choices import UnsupportedSchema, as_object
from askback.domain.schema_keywords import KEYWORDS
from askback.domain.schema_text import find_pattern_problem, matches_schema

_T = TypeVar("_T")

DEEPEST: Final = 100
"""Maximum depth of a schema without references."""
MAX_NODES: Final = 10_000
"""Most values in a schema without references. References to references could multiply them without end."""
_PLACES: Final = ("$defs", "definitions")
"""The keywords that hold definitions; the second is that of older schemas."""
_NUMBERS: Final = ("integer", "number")
_NO_NUMBERS: Final = ("latest", "x", "")

_Object = Mapping[str, JsonValue]


def inline_references(schema: _Object) -> dict[str, JsonValue]:
    """Return a schema without references to its own parts, and without definitions.

    The title of a definition is left out, since it names a type and not what is asked. A reference from a part to
    itself stays. Raises `UnsupportedSchema` if the schema becomes too deep or too large.
    """
    return _Inlining(schema).build()


class _Inlining:
    """Writes out the references of one schema, and counts the values."""

    def __init__(self, root: _Object) -> None:
        self._root = root
        self._nodes = 0

    def build(self) -> dict[str, JsonValue]:
        whole: JsonValue = {key: part for key, part in self._root.items() if key not in _PLACES}
        return cast("dict[str, JsonValue]", self._inline(whole, 0, ()))

    def _inline(self, value: JsonValue, depth: int, followed: tuple[str, ...]) -> JsonValue:
        """Return a value without references. `followed` are those that led to it."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise UnsupportedSchema(
                f"The schema has more than {MAX_NODES:,} values once its references are written out: use a smaller "
                "one, with fewer references to references."
            )
        if depth > DEEPEST:
            raise UnsupportedSchema(f"The schema has more than {DEEPEST} levels: use a flatter one.")
        if isinstance(value, list):
            return [self._inline(one, depth + 1, followed) for one in value]
        if not isinstance(value, dict):
            return value
        reference = value.get("$ref")
        definition = None if reference in followed else self._find_part(reference)
        if definition is not None:
            own = {key: part for key, part in value.items() if key != "$ref"}
            merged = _merge(definition, own) or _combine(definition, own)
            return self._inline(merged, depth + 1, (*followed, cast("str", reference)))
        return {key: self._inline(one, depth + 1, followed) for key, one in value.items() if key != "$defs"}

    def _find_part(self, reference: JsonValue) -> dict[str, JsonValue] | None:
        """Return the part of the schema to which a reference points: a definition, or the schema of a property."""
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return None
        found: JsonValue = dict(self._root)
        for name in reference.removeprefix("#/").split("/"):
            found = _find_entry(found, unquote(name).replace("~1", "/").replace("~0", "~"))
        return found if isinstance(found, dict) else None


def _keep_entries(value: object, kept: Collection[int]) -> object:
    """Return the entries of a list at these positions."""
    if not isinstance(value, list):
        return value
    return [one for index, one in enumerate(cast("list[object]", value)) if index in kept]


def _find_entry(value: JsonValue, name: str) -> JsonValue:
    """Return the value under a name or a number. None if there is none."""
    if isinstance(value, dict):
        return value.get(name)
    entries = enumerate(value if isinstance(value, list) else ())
    return next((one for index, one in entries if str(index) == name), None)


def simplify_property(schema: Mapping[str, object]) -> Mapping[str, object]:
    """Return the schema of a property without null, with a constant as its only value, and without a single `allOf`.

    What may be null can be left out, if the property is not required. Alternatives that contradict the rest stay. A
    number that can also be written as a text, such as a decimal of Pydantic, is a number.
    """
    found = dict(schema)
    for keyword in ("allOf", "anyOf", "oneOf"):
        only = _find_only_branch(schema, keyword)
        rest = {key: part for key, part in schema.items() if key != keyword}
        merged = None if only is None else _merge(only, rest)
        if merged is not None:
            return simplify_property(merged)
        found |= _drop_null(schema, keyword)
    named, values = schema.get("type"), schema.get("enum")
    if isinstance(named, list):
        types = [one for one in cast("list[object]", named) if one != "null"]
        is_number = sorted(map(str, types)) == ["integer", "number"]
        found["type"] = types[0] if len(types) == 1 else "number" if is_number else named
    if isinstance(values, list) and len(cast("list[object]", values)) > 1:
        kept = [index for index, one in enumerate(cast("list[object]", values)) if one is not None]
        found |= {key: _keep_entries(found[key], kept) for key in ("enum", "enumNames") if key in found}
    if "const" in found and "enum" not in found:
        found["enum"] = [found.pop("const")]
    return found


def accepts_null(given: object) -> bool:
    """Return True for the schema of a property that may be null."""
    schema = as_object(given) or {}
    types, values = schema.get("type"), schema.get("enum")
    if schema.get("nullable") is True:  # of OpenAPI 3.0
        return True
    only = _find_only_branch(schema, "allOf")
    if only is not None:
        return accepts_null(only)
    if isinstance(values, list) and None not in values:
        return False
    if isinstance(types, list):
        return "null" in types
    if isinstance(values, list):
        return types is None
    return any(map(_is_null, _list_branches(schema, "anyOf" if "anyOf" in schema else "oneOf")))


def _list_branches(schema: Mapping[str, object], keyword: str) -> list[Mapping[str, object] | None]:
    given = schema.get(keyword)
    return [as_object(one) for one in cast("list[object]", given)] if isinstance(given, list) else []


def _is_null(branch: Mapping[str, object] | None) -> bool:
    """Return True for an alternative that permits null, and nothing else."""
    if branch is None:
        return False
    return branch.get("type") == "null" or branch.get("enum") == [None] or branch.get("const", "") is None


def _drop_null(schema: Mapping[str, object], keyword: str) -> dict[str, object]:
    """Return the alternatives except null. Nothing if there are none, or if null is none of them."""
    branches = _list_branches(schema, keyword)
    others = [one for one in branches if not _is_null(one)]
    return {keyword: others} if keyword != "allOf" and 1 < len(others) < len(branches) else {}


def _merge(inner: Mapping[str, _T], outer: Mapping[str, _T]) -> dict[str, _T] | None:
    """Return one schema for the values that both accept. None if both restrict the same in different ways."""
    shared = inner.keys() & outer.keys() & KEYWORDS
    if any(inner[key] != outer[key] for key in shared):
        return None
    return {key: part for key, part in inner.items() if key != "title"} | dict(outer)


def _combine(definition: _Object, own: _Object) -> dict[str, JsonValue]:
    """Return a schema that has a definition and its own rules, which no field shows."""
    others = own.get("allOf")
    return {**own, "allOf": [dict(definition), *(others if isinstance(others, list) else [])]}


def _find_only_branch(schema: Mapping[str, object], keyword: str) -> Mapping[str, object] | None:
    """Return the only alternative of a schema besides null. None if there are several, or if none can be left out."""
    branches = _list_branches(schema, keyword)
    if keyword == "allOf":
        return branches[0] if len(branches) == 1 else None
    others = [one for one in branches if not _is_null(one)]
    if keyword == "anyOf" and len(others) > 1:
        return _find_number(others)
    return others[0] if len(branches) == 2 and len(others) == 1 else None


def _find_number(branches: list[Mapping[str, object] | None]) -> Mapping[str, object] | None:
    """Return the widest alternative that is a number, if all others are numbers, too, or numbers as texts."""
    numbers = {str(one["type"]): one for one in branches if one is not None and one.get("type") in _NUMBERS}
    if not all(one is not None and (one.get("type") in _NUMBERS or _is_number_as_text(one)) for one in branches):
        return None
    return numbers.get("number", numbers.get("integer"))


def _is_number_as_text(branch: Mapping[str, object]) -> bool:
    pattern = branch.get("pattern")
    if branch.get("type") != "string" or not isinstance(pattern, str) or find_pattern_problem(pattern) is not None:
        return False
    return matches_schema("7", pattern, None) and not any(matches_schema(one, pattern, None) for one in _NO_NUMBERS)
