"""The arguments of a tool call as a short table, for the card of an approval. No I/O.

Each argument is a row. A value without quotation marks is a text exactly as it is, or a number, true, false or null.
A text that could be mistaken for another value, or for a list or an object, is JSON in quotation marks. So no value can
pretend to be another one. The details of the question have all arguments as JSON.
"""

from __future__ import annotations

__all__ = [
    "EXCERPT",
    "INLINE",
    "LINES",
    "LONGEST_NAME",
    "ROWS",
    "Argument",
    "Arguments",
    "describe_whole",
    "format_name",
    "format_value",
    "parse_arguments",
]

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final, cast

from pydantic import JsonValue

from askback.internal.values import Value
from askback.text.literal import find_break
from askback.text.unseen import escape_unseen
from askback.translations.catalogue import Language, _, get_language, ngettext, use_language
from askback.translations.sentences import group_digits

ROWS: Final = 20
"""Maximum number of rows. The table counts the other arguments."""
LONGEST_NAME: Final = 60
"""Maximum number of characters of an argument's name."""
INLINE: Final = 100
"""Maximum number of characters of a value on the line of its name. A longer one is below the name."""
EXCERPT: Final = 300
"""Minimum number of characters that the table shows of a longer value."""
LINES: Final = 5
"""Minimum number of lines that the table shows of a longer text."""
SHARED: Final = 1000
"""Number of characters that the longer values share, if that is more than `EXCERPT` for each."""
SHARED_LINES: Final = 15
"""Number of lines that they share, if that is more than `LINES` for each."""
LONGEST_READABLE: Final = 200_000
"""Maximum number of characters of details whose texts of several lines are also shown as lines."""

_NAME: Final = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
"""A name that needs no quotation marks. Letters of other alphabets may look like these, so they get some."""
_SPECIAL: Final = re.compile(r'["\[{]|(?:true|false|null|NaN|-?Infinity|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\Z')
"""The beginning of a text that looks like JSON, or a whole text that does."""


class Argument(Value):
    """One row of the table. Its texts have escapes for characters that would be invisible, or would reorder others."""

    name: str
    value: str
    """The value, or the beginning of it."""
    is_block: bool
    """True if the value is below its name, because it is long or has several lines."""
    note: str | None
    """A sentence about what follows the value; None if nothing does."""


class Arguments(Value):
    """The rows, and the number of further arguments."""

    rows: tuple[Argument, ...]
    more: int
    is_whole: bool
    """True if the table shows every argument exactly as it is."""

    @property
    def note(self) -> str | None:
        """A sentence about the arguments without a row; None if all have one."""
        if not self.more:
            return None
        return ngettext("… and {count} more argument", "… and {count} more arguments", self.more).format(
            count=group_digits(self.more)
        )

    def describe(self) -> str:
        """Return the table as lines of text. The further lines of a text are indented."""
        lines: list[str] = []
        for row in self.rows:
            below = "\n".join(f"  {line}" for line in row.value.split("\n"))
            lines.append(f"{row.name}:\n{below}" if row.is_block else f"{row.name}: {row.value}")
            lines += [] if row.note is None else [row.note]
        return "\n".join((*lines, *([] if self.note is None else [self.note])))


def parse_arguments(details: str) -> Arguments | None:
    """Return the table for the arguments in an approval's details. None if these are not a JSON object.

    Its notes are in the current language.
    """
    return _parse_arguments(details, get_language())


@lru_cache(maxsize=16)
def _parse_arguments(details: str, language: Language) -> Arguments | None:
    """Parse the arguments. A click draws a card several times, and a million characters take a tenth of a second.

    So some tables are kept, each in its language.
    """
    with use_language(language):
        return _parse(details)


def _parse(details: str) -> Arguments | None:
    try:
        data = cast("object", json.loads(details))
        return _build_table(cast("dict[str, JsonValue]", data)) if isinstance(data, dict) else None
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class _Shown:
    """A value in the form in which people see it, before it is cut."""

    text: str
    escape: Callable[[str], str]
    """Returns the form of one character."""
    quote: str = ""
    """The quotation mark around the text, if any."""
    has_lines: bool = False
    """True if it is a text of several lines."""
    is_exact: bool = True
    """False if the form leaves something out, such as blank lines at the beginning."""

    @property
    def inline(self) -> str | None:
        """The value on one line; None if it is too long, or has several lines."""
        if self.has_lines or len(self.text) > INLINE:
            return None
        whole = f"{self.quote}{''.join(map(self.escape, self.text))}{self.quote}"
        return whole if len(whole) <= INLINE else None


def _build_table(data: Mapping[str, JsonValue]) -> Arguments:
    shown = [(name, _show(value)) for name, value in islice(data.items(), ROWS)]
    long = max(sum(one.inline is None for _, one in shown), 1)
    characters, lines = max(EXCERPT, SHARED // long), max(LINES, SHARED_LINES // long)
    rows: list[Argument] = []
    is_whole = len(data) <= ROWS
    for name, one in shown:
        named, is_named = format_name(name)
        row, is_exact = _build_row(named, one, characters, lines)
        rows.append(row)
        is_whole = is_whole and is_named and is_exact
    return Arguments(rows=tuple(rows), more=len(data) - len(rows), is_whole=is_whole)


def _build_row(name: str, shown: _Shown, characters: int, lines: int) -> tuple[Argument, bool]:
    """Return the row, and True if it shows the value exactly as it is."""
    if (inline := shown.inline) is not None:
        return Argument(name=name, value=inline, is_block=False, note=None), True
    at = _find_end(shown, characters, lines)
    text = shown.text[:at]
    value = f"{shown.quote}{''.join(map(shown.escape, text))}"
    if at < len(shown.text):
        return Argument(name=name, value=value.rstrip(), is_block=True, note=_describe_rest(shown.text, at)), False
    # In a text of several lines, nothing tells an escape from the same characters in the text.
    is_exact = shown.is_exact and (value == text or not shown.has_lines)
    return Argument(name=name, value=f"{value}{shown.quote}", is_block=True, note=None), is_exact


def _find_end(shown: _Shown, characters: int, lines: int) -> int:
    """Return the number of characters of the text that the table shows."""
    at, room = 0, characters - 2 * len(shown.quote)
    for character in shown.text[:characters]:
        room -= len(shown.escape(character))
        lines -= character == "\n"
        if room < 0:
            break
        at += 1
        if not lines:
            break
    return find_break(shown.text, at)


def _describe_rest(text: str, at: int) -> str:
    characters = len(text) - at
    if text[at - 1] != "\n":
        return ngettext("… and {count} more character", "… and {count} more characters", characters).format(
            count=group_digits(characters)
        )
    lines = text.count("\n", at) + (not text.endswith("\n"))
    counted = ngettext("{count} character", "{count} characters", characters).format(count=group_digits(characters))
    return ngettext("… and {count} more line ({characters})", "… and {count} more lines ({characters})", lines).format(
        count=group_digits(lines), characters=counted
    )


def describe_whole(details: str) -> str:
    """Return all arguments: the texts of several lines as lines, and below them everything as JSON.

    A diff or a program is hard to read as JSON, which has no line breaks. The lines of a text are indented, so no text
    can look like the JSON below.
    """
    if len(details) > LONGEST_READABLE:
        return details
    try:
        data = cast("object", json.loads(details))
    except (ValueError, RecursionError):
        return details
    given = cast("dict[str, JsonValue]", data) if isinstance(data, dict) else {}
    shown = [(name, _show(value)) for name, value in given.items()]
    texts = [f"{format_name(name)[0]}:\n{_indent(one.text)}" for name, one in shown if one.has_lines]
    return "\n\n".join((*texts, _("All arguments as JSON:"), details)) if texts else details


def _indent(text: str) -> str:
    return "\n".join(
        f"  {line if _is_seen(line.replace(chr(9), '')) else ''.join(map(_escape_in_lines, line))}"
        for line in text.split("\n")
    )


def format_name(name: str) -> tuple[str, bool]:
    """Return the name as people see it, and True if that is the whole of it."""
    if len(name) <= LONGEST_NAME and _NAME.fullmatch(name):
        return name, True
    shown = ""
    for character in name:
        piece = _escape_in_json(character)
        if len(shown) + len(piece) > LONGEST_NAME - 2:
            return f'"{shown}…', False
        shown += piece
    return f'"{shown}"', True


def format_value(value: JsonValue) -> str:
    """Return a value on one line as the table shows it. A longer one, or one with several lines, is JSON."""
    inline = _show(value).inline
    return escape_unseen(json.dumps(value, ensure_ascii=False)) if inline is None else inline


def _show(value: JsonValue) -> _Shown:
    if not isinstance(value, str):
        return _Shown(json.dumps(value, ensure_ascii=False), escape_unseen)
    head = value[:SHARED]  # only the beginning is shown, so only that is checked
    if "\n" in head.strip():
        unified = value.replace("\r\n", "\n")
        begins = unified.rfind("\n", 0, len(unified) - len(unified.lstrip())) + 1
        text = unified[begins:].rstrip()
        if text[:INLINE].strip():
            return _Shown(text, _escape_in_lines, has_lines=True, is_exact=text == value)
    elif value and value == value.strip() and _is_seen(head) and not _SPECIAL.match(value):
        return _Shown(value, str)
    return _Shown(value, _escape_in_json, quote='"')


def _is_seen(text: str) -> bool:
    return text.isprintable() and escape_unseen(text) == text


def _escape_in_lines(character: str) -> str:
    return character if character in "\n\t" or _is_seen(character) else _escape_in_json(character)


def _escape_in_json(character: str) -> str:
    return escape_unseen(json.dumps(character, ensure_ascii=False)[1:-1])
