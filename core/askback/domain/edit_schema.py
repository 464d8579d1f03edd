"""Checks changed arguments against the whole schema of their tool, beyond what each field checks. No I/O."""

from __future__ import annotations

__all__ = ["SchemaProblem", "find_schema_problem", "get_joint_schema"]

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import JsonValue

from askback.domain.schema_choices import UnsupportedSchema
from askback.domain.schema_text import build_pattern_options
from askback.internal.values import Value
from askback.text.literal import fit_line

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

LONGEST_SCHEMA: Final = 50_000
"""Maximum number of characters of a schema that is kept with each question about a call, as JSON."""
LONGEST_PROBLEM: Final = 200
_CHECKED_BY_FIELDS: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "$defs", "definitions", "$schema", "$id", "$comment"}
    | {"title", "description", "default", "examples", "deprecated"}
)
"""Keywords of a schema that an edit keeps if each field keeps to its own property."""


class SchemaProblem(Value):
    """A reason why a tool does not accept its arguments."""

    name: str | None
    """The argument that it is about. None if it is about several."""
    message: str
    """The reason, in the words of the library that checks it."""


def get_joint_schema(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue] | None:
    """Return the schema if it has rules about several arguments together, else None.

    Raises `UnsupportedSchema` if it cannot be checked.
    """
    if schema.keys() <= _CHECKED_BY_FIELDS:
        return None
    whole = dict(schema)
    if len(json.dumps(whole)) > LONGEST_SCHEMA:
        raise UnsupportedSchema(
            f"The schema has rules about several parameters, and more than {LONGEST_SCHEMA:,} characters. Shorten it."
        )
    _build_validator(whole)
    return whole


def find_schema_problem(
    schema: Mapping[str, JsonValue], before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]
) -> SchemaProblem | None:
    """Return why the changed arguments break the schema. Not counted is what the call had broken before."""
    validator = _build_validator(schema)
    known = {_identify(error) for error in validator.iter_errors(before)}
    for error in validator.iter_errors(after):
        if _identify(error) not in known:
            path = error.instance_path
            name = path[0] if path and isinstance(path[0], str) else None
            return SchemaProblem(name=name, message=fit_line(error.message, LONGEST_PROBLEM))
    return None


def _identify(error: Any) -> tuple[str, str, str]:
    return str(error.instance_path), str(error.schema_path), error.message


def _build_validator(schema: Mapping[str, JsonValue]) -> Draft202012Validator:
    """Return a validator that reads no other document. Raises `UnsupportedSchema`."""
    # Only calls whose tool has such rules need it.
    from jsonschema_rs import Draft202012Validator

    def refuse(address: str) -> Any:
        raise ValueError(f"{address} is another document")

    try:
        return Draft202012Validator(
            cast("dict[str, Any]", schema),
            retriever=refuse,
            pattern_options=build_pattern_options(),
            mask="it",
        )
    except ValueError as error:
        why = fit_line(str(error), LONGEST_PROBLEM)
        raise UnsupportedSchema(f"The schema has rules about several parameters that nobody can check: {why}") from None
