"""Reads the rules for a text from a JSON Schema, and writes them. Pure."""

from __future__ import annotations

__all__ = ["FORMAT_KINDS", "TEXT_KEYWORDS", "read_count", "read_text_rules", "write_text_rules"]

from collections.abc import Mapping
from typing import Final, cast

from pydantic import JsonValue

from askback.domain.form_limits import DEFAULT_ANSWER, MAX_ANSWER, MAX_FORMAT
from askback.domain.schema_choices import UnsupportedSchema, is_number
from askback.domain.schema_text import find_pattern_problem
from askback.domain.text_kinds import TIME_PATTERN, TextKind
from askback.domain.text_rules import TextRules
from askback.text.literal import is_readable_line, quote_line

TEXT_KEYWORDS: Final = frozenset({"minLength", "maxLength", "pattern", "format"})
FORMAT_KINDS: Final[Mapping[str, TextKind]] = {"email": "email", "uri": "uri", "date": "date", "date-time": "date-time"}
"""The formats that have a field or an example of their own."""
_SECRETS: Final = frozenset({"password", "secret"})


def read_count(schema: Mapping[str, object], key: str, default: int) -> int:
    """Return a number of characters or items. Raises `UnsupportedSchema`."""
    value = schema.get(key, default)
    if not is_number(value) or cast("float", value) < 0 or not float(cast("float", value)).is_integer():
        raise UnsupportedSchema(f"has a `{key}` that is not a whole number from 0: correct it")
    return int(cast("float", value))


def read_text_rules(schema: Mapping[str, object]) -> TextRules:
    """Return the rules for a text.

    Raises `UnsupportedSchema`, whose text continues a sentence about the property, and `InvalidValue`.
    """
    named, pattern = (_read_text(schema, key) for key in ("format", "pattern"))
    if named in _SECRETS:
        raise UnsupportedSchema(
            f"has the format {quote_line(named or '')}: never ask people for secrets, since others in the chat could "
            "read them"
        )
    problem = None if pattern is None else find_pattern_problem(pattern)
    if problem is not None:
        raise UnsupportedSchema(f"has a `pattern` that {problem}")
    if named is not None and (not is_readable_line(named) or len(named) > MAX_FORMAT):
        raise UnsupportedSchema("has a `format` that is not a short name: correct it")
    least = read_count(schema, "minLength", 0)
    most = read_count(schema, "maxLength", DEFAULT_ANSWER if least <= DEFAULT_ANSWER else MAX_ANSWER)
    if least > MAX_ANSWER or most == 0:
        raise UnsupportedSchema(f"fits no answer: people write 1 to {MAX_ANSWER:,} characters, so change its length")
    return TextRules.parse(
        {
            "min_length": max(least, 1),
            "max_length": min(most, MAX_ANSWER),
            "kind": FORMAT_KINDS.get(named or "", "text"),
            "schema_pattern": pattern,
            "schema_format": None if named in FORMAT_KINDS else named,
        }
    )


def _read_text(schema: Mapping[str, object], key: str) -> str | None:
    value = schema.get(key)
    if value is not None and not isinstance(value, str):
        raise UnsupportedSchema(f"has a `{key}` that is not a text: correct it")
    return value or None


def write_text_rules(rules: TextRules) -> dict[str, JsonValue]:
    """Return the keywords for a text."""
    found: dict[str, JsonValue] = {"type": "string"}
    if rules.kind == "time":
        return {**found, "pattern": f"^{TIME_PATTERN}$"}  # a schema's format `time` needs seconds and a time zone
    if rules.kind != "text":
        found["format"] = rules.kind
    if rules.schema_format is not None:
        found["format"] = rules.schema_format
    if rules.min_length > 1:
        found["minLength"] = rules.min_length
    if rules.max_length != DEFAULT_ANSWER:
        found["maxLength"] = rules.max_length
    if rules.schema_pattern is not None:
        found["pattern"] = rules.schema_pattern
    elif rules.pattern is not None:
        found["pattern"] = f"^(?:{rules.pattern})$"
    return found
