"""A list as the text that people write for it, with one item on each line. Pure."""

from __future__ import annotations

__all__ = ["write_list"]

from collections.abc import Sequence
from typing import cast

from pydantic import JsonValue

from askback.domain.schema_choices import format_number, is_number
from askback.domain.text_kinds import TextKind, is_numeric
from askback.text.literal import replace_controls
from askback.text.unseen import strip_text


def write_list(kind: TextKind, values: Sequence[JsonValue]) -> str | None:
    """Return the text whose lines are these items. None if people would see, or send back, another list."""
    lines = [_write_item(kind, value) for value in values]
    return None if None in lines else "\n".join(filter(None, lines))


def _write_item(kind: TextKind, value: JsonValue) -> str | None:
    if is_numeric(kind):
        return format_number(cast("float", value)) if is_number(value) else None
    if not isinstance(value, str) or len(value.splitlines()) != 1:
        return None
    return value if value == strip_text(value) == replace_controls(value) else None
