"""The texts of people as the model reads them: no line of one can pass for another person's message. Pure."""

from __future__ import annotations

__all__ = ["COLONS", "OPENING_BRACKETS", "indent_body"]

import re
from typing import Final

INDENT: Final = "  "

COLONS: Final = (
    ":\u02d0\u02f8\u0589\u05c3\u0703\u0704\u16ec\u1803\u1809\u205a\u2236\ua4fd\ua789\ufe13\ufe30\ufe55\uff1a"
)
"""The colon and what looks like it. None of them means anything inside square brackets of a pattern."""
OPENING_BRACKETS: Final = "[\u2045\u2772\u27e6\u298b\u3010\u3014\u3016\u3018\u301a\ufe47\ufe5d\uff3b"
"""The opening square bracket and what looks like it."""

_BREAKS: Final = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SPEAKING: Final = re.compile(rf"\s*(?:[\{OPENING_BRACKETS}]|[^{COLONS}]{{1,120}}[{COLONS}])")
"""The beginning of a line that could pass for another person's message, or for a remark of ours."""


def indent_body(text: str) -> str:
    """Return a person's text. Indent its further lines if one of them could pass for another person's message."""
    first, *more = _BREAKS.split(text)
    if not any(map(_SPEAKING.match, more)):
        return text
    return "\n".join((first, *(f"{INDENT}{line}" for line in more)))
