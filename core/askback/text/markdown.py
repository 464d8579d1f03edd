"""Splits Markdown into messages."""

from __future__ import annotations

__all__ = ["split_markdown"]

import re
from typing import Final, TypeAlias

from askback.text.literal import count_utf16_units, truncate

_FENCE_LINE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")

Fence: TypeAlias = tuple[str, str]
"""The first line of a code fence, and the mark that closes it."""


def split_markdown(text: str, longest: int) -> list[str]:
    """Return Markdown in parts of at most `longest` UTF-16 units, split between paragraphs where possible.

    A code fence that is cut is closed at the end of one part and opened again in the next.
    """
    parts: list[str] = []
    rest = text
    while count_utf16_units(rest) > longest:
        head, fence = _cut_head(rest, longest)
        rest = rest[len(head) :]
        if fence is None:
            parts.append(head.rstrip("\n"))
            rest = rest.lstrip("\n")
        else:
            opening, mark = fence
            parts.append(head.removesuffix("\n") + f"\n{mark}")
            rest = f"{opening}\n{rest}"
    return [part for part in (*parts, rest) if part.strip()]


def _cut_head(text: str, longest: int) -> tuple[str, Fence | None]:
    """Return the beginning of a text for one part, and the code fence that the cut splits, if any."""
    paragraph = line_end = inside = at = used = 0
    fence: Fence | None = None
    cut_fence: Fence | None = None
    for line in text.splitlines(keepends=True):
        if used + count_utf16_units(line) + (len(fence[1]) + 1 if fence else 0) > longest:
            break
        at += len(line)
        used += count_utf16_units(line)
        fence, ended = _update_fence(line, fence)
        if fence is not None:
            if ended is None and at > line_end + len(line):
                inside, cut_fence = at, fence
        else:
            line_end = at
            if ended is not None or not line.strip():
                paragraph = at
    for place in (paragraph, line_end):
        if place > longest // 3:
            return text[:place], None
    if cut_fence is not None and inside > line_end:
        return text[:inside], cut_fence
    if line_end:
        return text[:line_end], None
    return _cut_line(text, longest, at, fence)


def _cut_line(text: str, longest: int, at: int, fence: Fence | None) -> tuple[str, Fence | None]:
    """Cut a line that is longer than a part, at a space if possible. Return what `_cut_head` returns."""
    opened = fence if at else None
    head = truncate(text, longest - (len(opened[1]) + 1 if opened else 0))
    space = text.rfind(" ", max(at, len(head) // 2), len(head))
    return head[: space + 1] if space > at else head, opened


def _update_fence(line: str, fence: Fence | None) -> tuple[Fence | None, Fence | None]:
    """Return the fence that is open after a line, and the fence that the line closed."""
    found = _FENCE_LINE.match(line)
    if fence is None:
        is_info = found is not None and not (found[1][0] == "`" and "`" in found[2])
        return ((line.rstrip("\n"), found[1]) if found is not None and is_info else None), None
    if found is not None and found[1].startswith(fence[1]) and not found[2].strip():
        return None, fence
    return fence, None
