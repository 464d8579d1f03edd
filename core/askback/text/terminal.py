"""Shows texts of people and models on a terminal, which must not obey control characters in them."""

from __future__ import annotations

__all__ = ["to_json_line", "to_terminal_text"]

import json
import re
from typing import Final

from pydantic import JsonValue

from askback.text.literal import to_literal, to_single_line

_EIGHT_BIT: Final = dict.fromkeys(range(0x80, 0xA0), "\ufffd")
"""The control characters above ASCII, which terminals obey like escape sequences."""
_OBEYED: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def to_terminal_text(text: str, *, lines: bool = False) -> str:
    """Return a text without anything that a terminal obeys, on one line or, with `lines`, on its own lines."""
    return to_literal((text.replace("\t", "    ") if lines else to_single_line(text)).translate(_EIGHT_BIT))


def to_json_line(value: JsonValue) -> str:
    """Return one line of JSON. Escape only terminal control characters, so that every language stays readable."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
