"""The changes of people to a tool call, a line for each argument, for its card. No I/O."""

from __future__ import annotations

__all__ = ["CHANGED_BY", "NOT_GIVEN", "REMOVED", "ChangeLine", "build_change_lines"]

from collections.abc import Iterable
from itertools import takewhile
from typing import Final

from askback.domain.approval_title import MISSING
from askback.domain.argument_change import ArgumentChange
from askback.domain.arguments import format_name, format_value
from askback.domain.identity import Actor
from askback.internal.values import Value
from askback.translations.catalogue import N_

LONGEST: Final = 80
"""Maximum number of characters of a value. A longer one is cut around the first difference."""
KEPT: Final = 20
"""Number of equal characters in front of the first difference that a line keeps."""
CHANGED_BY = N_("changed by ")
"""Text in front of the name of the person who changed an argument."""
NOT_GIVEN = MISSING
"""Text in place of a value that the agent did not give."""
REMOVED = N_("(removed)")
"""Text in place of the new value of an argument that people removed."""


class ChangeLine(Value):
    """One changed argument. Its texts have escapes for characters that would be invisible, or would reorder others."""

    name: str
    before: str | None
    """The value of the agent's call, or the part around the first difference. None if it had none."""
    after: str | None
    """The newest value, or the part around the first difference. None if it was removed."""
    by: Actor


def build_change_lines(changes: Iterable[ArgumentChange]) -> tuple[ChangeLine, ...]:
    """Return the lines, in the order in which the arguments were first changed."""
    return tuple(map(_build_line, changes))


def _build_line(change: ArgumentChange) -> ChangeLine:
    name, _is_whole = format_name(change.name)
    before, after = format_value(change.before), format_value(change.after)
    if change.is_removed:
        return ChangeLine(name=name, before=_cut(before, 0), after=None, by=change.by)
    if change.is_new:
        return ChangeLine(name=name, before=None, after=_cut(after, 0), by=change.by)
    same = sum(1 for _pair in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    start = max(same - KEPT, 0) if max(len(before), len(after)) > LONGEST else 0
    return ChangeLine(name=name, before=_cut(before, start), after=_cut(after, start), by=change.by)


def _cut(text: str, start: int) -> str:
    piece = text[start : start + LONGEST]
    return f"{'…' if start else ''}{piece}{'…' if start + LONGEST < len(text) else ''}"
