"""Writes the call of an ACP agent as arguments that people can read: a change of a file as a diff. Pure.

Nothing of the call is left out: what has no shorter form stays as it is.
"""

from __future__ import annotations

__all__ = ["build_call_table"]

import difflib
import json
from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

LONGEST_DIFF: Final = 100_000
"""Maximum number of characters of the texts in a diff. The time that a diff takes grows faster than they do."""
MAX_DIFF_LINES: Final = 2_000
"""Maximum number of their lines."""
_CONTEXT: Final = 3
"""Number of unchanged lines around a change."""

_Object = Mapping[str, JsonValue]


def build_call_table(data: _Object, *, named: bool) -> dict[str, JsonValue]:
    """Return the arguments for the card of a call, in the order in which people read them.

    `named` is True if the question shows the whole title. The header of the card has the kind.
    """
    table: dict[str, JsonValue] = {}
    if "title" in data and not named:
        table["title"] = data["title"]
    rest = {key: value for key, value in data.items() if key not in ("title", "kind", "rawInput")}
    if "content" in rest and (read := _read_content(rest["content"])) is not None:
        del rest["content"]
        rest |= read
    if "locations" in rest and (places := _read_locations(rest["locations"])) is not None:
        rest["locations"] = places
    given = data.get("rawInput")
    # Fields of the agent's input may have any names.
    if isinstance(given, dict) and given and not given.keys() & {*table, *rest, "rawInput"}:
        return {**table, **given, **rest}
    return {**table, **({"rawInput": given} if "rawInput" in data else {}), **rest}


def _read_content(content: JsonValue) -> dict[str, JsonValue] | None:
    """Return the changes of files as one diff. None if there is anything else, or if it would be too long.

    A diff shows only the lines around a change. If that leaves lines out, the content itself follows, because the
    agent may write them although it claims that they are there already.
    """
    parts = [_read_change(one) for one in content] if isinstance(content, list) else []
    changes = [part for part in parts if part is not None]
    texts = [text for change in changes for text in (change.old, change.new)]
    is_long = sum(map(len, texts)) > LONGEST_DIFF or sum(text.count("\n") for text in texts) > MAX_DIFF_LINES
    if not changes or len(changes) < len(parts) or is_long:
        return None
    short, whole = (
        "\n".join(line for change in changes for line in change.list_lines(context))
        for context in (_CONTEXT, MAX_DIFF_LINES)
    )
    return {"diff": short} if short == whole else {"diff": short, "content": content}


class _Change:
    """One change of a file."""

    def __init__(self, path: str, old: str | None, new: str) -> None:
        self._path = path
        self._is_new = old is None
        self.old = old or ""
        self.new = new

    def list_lines(self, context: int) -> list[str]:
        """Return the lines of a unified diff, with this many unchanged lines around each change."""
        name = self._path if self._path.isprintable() else json.dumps(self._path)
        before = "/dev/null" if self._is_new else name
        old, new = _split(self.old), _split(self.new)
        return [*difflib.unified_diff(old, new, before, name, lineterm="", n=context)]


def _split(text: str) -> list[str]:
    """Return the lines of a file. Only a line feed ends a line, so that no other character hides a part of one."""
    lines = text.split("\n")
    if not lines[-1]:
        return lines[:-1]
    return [*lines[:-1], f"{lines[-1]}\n\\ No newline at end of file"]


def _read_change(part: JsonValue) -> _Change | None:
    if not isinstance(part, dict) or not part.keys() <= {"type", "path", "oldText", "newText"}:
        return None
    path, old, new = part.get("path"), part.get("oldText"), part.get("newText")
    if part.get("type") != "diff" or not isinstance(path, str) or not isinstance(new, str):
        return None
    if old is not None and (not isinstance(old, str) or old == new):
        return None  # a diff of equal texts shows nothing of them
    return _Change(path, old, new)


def _read_locations(locations: JsonValue) -> str | None:
    """Return the places as lines, such as `/srv/app.py:12`. None if a path could be mistaken for something else."""
    lines: list[str] = []
    for place in locations if isinstance(locations, list) else ():
        found: _Object = place if isinstance(place, dict) else {}
        path, line = found.get("path"), found.get("line")
        if not isinstance(path, str) or not path.isprintable() or not found.keys() <= {"path", "line"}:
            return None
        lines.append(path if line is None else f"{path}:{line}")
    return "\n".join(lines) if lines else None
