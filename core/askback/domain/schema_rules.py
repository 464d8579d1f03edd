"""Reads the rules for a written answer from a JSON Schema, and writes them: for a text, a number, or a list. Pure."""

from __future__ import annotations

__all__ = ["read_item_limits", "read_list_default", "read_list_rules", "read_rules", "write_rules"]

from collections.abc import Mapping
from typing import Final, cast

from pydantic import JsonValue

from askback.domain.form_limits import FIELD_ANSWER
from askback.domain.line_rules import MAX_LINES, LineRules
from askback.domain.list_text import write_list
from askback.domain.schema_choices import UnsupportedSchema, read_words
from askback.domain.schema_keywords import KEYWORDS
from askback.domain.schema_numbers import NUMBER_KEYWORDS, UNIT, read_number_rules, write_number_rules
from askback.domain.schema_texts import TEXT_KEYWORDS, read_count, read_text_rules, write_text_rules
from askback.domain.text_kinds import TextKind, is_numeric
from askback.domain.text_rules import TextRules

_ITEMS: Final[Mapping[str, frozenset[str]]] = {
    "string": TEXT_KEYWORDS,
    "integer": NUMBER_KEYWORDS,
    "number": NUMBER_KEYWORDS,
}
"""The types of an item that people can write, each with the keywords that limit it."""


def read_rules(named: str, schema: Mapping[str, object]) -> TextRules:
    """Return the rules for a text or a number, by the name of its type. Raises `UnsupportedSchema`."""
    if named == "string":
        return read_text_rules(schema)
    return read_number_rules(cast("TextKind", named), schema, read_words(schema, UNIT))


def read_list_rules(schema: Mapping[str, object], items: Mapping[str, object]) -> TextRules | None:
    """Return the rules for a list that people write, one item per line. None if they cannot write such items.

    Raises `UnsupportedSchema`.
    """
    named = items.get("type")
    if not isinstance(named, str) or named not in _ITEMS:
        return None
    if strange := (items.keys() & KEYWORDS) - _ITEMS[named] - {"type"}:
        raise UnsupportedSchema(
            f"has items with the keyword `{min(strange)}`, but a form cannot keep to it: leave it out, and say it in "
            "`description`"
        )
    rules = read_rules(named, items)
    least, most = read_item_limits(schema)
    if most is not None and most > MAX_LINES:
        most = None  # nobody can write as many
    if least * (rules.min_length + 1) - 1 > FIELD_ANSWER:
        raise UnsupportedSchema(
            f"needs {least:,} items, and people write at most {FIELD_ANSWER:,} characters: lower `minItems`"
        )
    return rules.evolve(lines=LineRules(min=least, max=most, unique=schema.get("uniqueItems") is True))


def read_item_limits(schema: Mapping[str, object]) -> tuple[int, int | None]:
    """Return the smallest and the largest number of items; None if there is no largest. Raises `UnsupportedSchema`."""
    least = read_count(schema, "minItems", 0)
    most = None if schema.get("maxItems") is None else read_count(schema, "maxItems", 0)
    if most == 0:
        raise UnsupportedSchema("permits no item, so there is nothing to ask: leave it out, or raise `maxItems`")
    if most is not None and least > most:
        raise UnsupportedSchema("has a `maxItems` that is smaller than its `minItems`: correct one of them")
    return least, most


def read_list_default(rules: TextRules, default: object) -> str | None:
    """Return the text for the default of a list; empty for an empty list. None if the list cannot be an answer."""
    values = cast("list[JsonValue]", default) if isinstance(default, list) else None
    if not values:
        return None if values is None or rules.lines is None or rules.lines.min else ""
    text = write_list(rules.kind, values)
    return None if text is None or rules.find_problem(text) is not None else text


def write_rules(rules: TextRules) -> dict[str, JsonValue]:
    """Return the schema of a written answer."""
    written = write_number_rules(rules) if is_numeric(rules.kind) else write_text_rules(rules)
    lines = rules.lines
    if lines is None:
        return written
    limits: dict[str, JsonValue] = {"minItems": lines.min} if lines.min else {}
    limits |= {} if lines.max is None else {"maxItems": lines.max}
    limits |= {"uniqueItems": True} if lines.unique else {}
    return {"type": "array", "items": written, **limits}
