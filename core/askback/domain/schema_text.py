"""Checks texts against a pattern or a format of a JSON Schema, which may come from a model. No I/O.

A pattern is run by a library that follows JSON Schema and stops after a number of steps, so that no pattern can keep a
process busy. A text that needs more steps does not match.
"""

from __future__ import annotations

__all__ = ["FORMAT_EXAMPLES", "LONGEST_PATTERN", "build_pattern_options", "find_pattern_problem", "matches_schema"]

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from pydantic import JsonValue

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, FancyRegexOptions

LONGEST_PATTERN: Final = 1000
"""Maximum number of characters of a pattern."""
FORMAT_EXAMPLES: Final[Mapping[str, str]] = {
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "www.example.com",
    "duration": "PT1H30M",
    "time": "16:30:00Z",
}
"""Formats that the library checks, beyond those that have a field of their own. Other formats limit nothing."""
_STEPS: Final = 20_000
"""Most steps back that a pattern may take in one text."""
_BYTES: Final = 400_000
"""Most memory of one pattern once it is compiled."""


def build_pattern_options() -> FancyRegexOptions:
    """Return the limits within which the library runs patterns."""
    # Only questions with such rules need the library.
    from jsonschema_rs import FancyRegexOptions

    return FancyRegexOptions(backtrack_limit=_STEPS, size_limit=_BYTES, dfa_size_limit=_BYTES)


def find_pattern_problem(pattern: str) -> str | None:
    """Return the reason why a pattern cannot be run. None means it can."""
    if len(pattern) > LONGEST_PATTERN:
        return f"is longer than {LONGEST_PATTERN:,} characters: shorten it"
    try:
        _build_validator(pattern, None)
    except ValueError:
        return "is no regular expression of JSON Schema, or a too large one: correct it"
    return None


def matches_schema(text: str, pattern: str | None, named: str | None) -> bool:
    """Return True if a part of the text matches the pattern, and the whole text has the format `named`."""
    return _build_validator(pattern, named).is_valid(text)


@lru_cache(maxsize=64)
def _build_validator(pattern: str | None, named: str | None) -> Draft202012Validator:
    from jsonschema_rs import Draft202012Validator

    schema: dict[str, JsonValue] = {} if pattern is None else {"pattern": pattern}
    if named in FORMAT_EXAMPLES:
        schema["format"] = named
    return Draft202012Validator(schema, pattern_options=build_pattern_options(), validate_formats=True)
