"""Makes the texts of models and people literal: nothing in them is mark-up, notifies people, hides or reorders text."""

from __future__ import annotations

__all__ = [
    "bold",
    "escape",
    "fit_line",
    "plain",
    "replace_controls",
    "to_literal",
    "to_single_line",
    "truncate",
]

import re
from typing import Final

from askback.text.literal import fit_line, replace_controls, to_literal, to_single_line, truncate

_ACTIVE: Final = re.compile(
    r"(?P<before>^[^\S\n]*)(?P<start>[#>+-])"  # heading, quotation, list, small text
    r"|(?P<number>^[^\S\n]*\d+)(?P<point>[.)])"  # numbered list
    r"|[\\*_~|`\[<]"  # emphasis, spoiler, code, link, mention, time, custom emoji
    r"|:(?!\s)"  # emoji by its name, address
    r"|@(?=everyone|here)",
    re.MULTILINE,
)


def escape(text: str) -> str:
    """Return Markdown that shows this text literally."""
    return _ACTIVE.sub(_escape_match, text)


def plain(text: str) -> str:
    """Return Markdown that shows a text of a model or a person literally."""
    return escape(to_literal(text))


def bold(text: str) -> str:
    """Return bold Markdown. White space at the ends stays outside, as not every client accepts it inside the marks."""
    shown = replace_controls(text)
    words = shown.strip()
    if not words:
        return plain(text)
    before, _, after = shown.partition(words)
    return f"{before}**{plain(words)}**{after}"


def _escape_match(match: re.Match[str]) -> str:
    if (start := match["start"]) is not None:
        return f"{match['before']}\\{start}"
    if (point := match["point"]) is not None:
        return f"{match['number']}\\{point}"
    return f"\\{match[0]}"
