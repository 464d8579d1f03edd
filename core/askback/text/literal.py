"""Makes texts of models and people literal, so that they cannot hide or reorder the text around them.

This module has the part that all platforms share. Each bot also escapes its platform's markup.
"""

from __future__ import annotations

__all__ = [
    "count_utf16_units",
    "find_break",
    "fit_line",
    "is_readable_line",
    "is_single_line",
    "isolate_direction",
    "quote_line",
    "quote_name",
    "replace_controls",
    "split_isolated",
    "split_text",
    "to_literal",
    "to_single_line",
    "truncate",
]

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from askback.text.unseen import has_visible_text, show_hidden

_PICTURES: Final = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"} | {0x7F: 0x2421}
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_BIDI: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_FSI, _PDI, _PDF = "\u2068", "\u2069", "\u202c"
_EMBEDDINGS: Final = frozenset("\u202a\u202b\u202d\u202e")
_ISOLATES: Final = frozenset("\u2066\u2067\u2068")
MAX_QUOTED: Final = 100
"""Maximum number of characters of a text that a sentence quotes."""
_WORD: Final = re.compile(r"[^\W_](?:[\w'’.-]*\w)?")
_QUOTATION_MARKS: Final = dict.fromkeys(map(ord, '“”„‟❝❞〝〞〟＂"'), "'")
_INNER_MARKS: Final = {
    ord(mark): inner for marks, inner in (("“„❝〝", "‘"), ("”‟❞〞〟", "’"), ('＂"', "'")) for mark in marks
}
_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f\u20e3")


def count_utf16_units(text: str) -> int:
    """Return the length of a text in UTF-16 units, never less than a platform's own count of characters."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def replace_controls(text: str) -> str:
    """Return a text with control characters as pictures, half surrogate pairs as U+FFFD, and CRLF as LF.

    Characters that would hide what the text says are escapes.
    """
    return show_hidden(_SURROGATES.sub("\ufffd", text.replace("\r\n", "\n").translate(_PICTURES)))


def isolate_direction(text: str) -> str:
    """Return a text with its direction controls closed, so that it cannot reorder the text around it."""
    if not _BIDI.search(text):
        return text
    unmatched, still_open = 0, list[str]()
    for character in text:
        if character == "\n":
            still_open.clear()  # a new line is a new paragraph, which ends every direction
        elif character in _EMBEDDINGS:
            still_open.append(_PDF)
        elif character in _ISOLATES:
            still_open.append(_PDI)
        elif character == _PDF and still_open and still_open[-1] == _PDF:
            still_open.pop()
        elif character == _PDI:
            if _PDI in still_open:
                while still_open.pop() != _PDI:
                    pass
            else:
                unmatched += 1
    return _FSI * (unmatched + 1) + text + "".join(reversed(still_open)) + _PDI


def to_literal(text: str) -> str:
    """Return a text of a model or a person as it is shown."""
    return isolate_direction(replace_controls(text))


def to_single_line(text: str) -> str:
    """Return a text on one line, for labels of controls."""
    return " ".join(replace_controls(text).split())


def is_single_line(text: str) -> bool:
    """Return True if the text is one line, so that a control shows it as it is, with escapes for what it hides."""
    return to_single_line(text) == show_hidden(text)


def is_readable_line(text: str) -> bool:
    """Return True if the text is one line, and something of it can be seen."""
    return is_single_line(text) and has_visible_text(text)


def fit_line(text: str, longest: int) -> str:
    """Return as much of a text as fits in `longest` UTF-16 units, on one line. A cut text ends with "…"."""
    line = to_single_line(text)
    whole = isolate_direction(line)
    if count_utf16_units(whole) <= longest:
        return whole
    room = longest
    while count_utf16_units(short := isolate_direction(truncate(line, room - 1).rstrip() + "…")) > longest:
        room -= max(
            (count_utf16_units(short) - longest) // 2, 1
        )  # an opened direction also needs its closing character
    return short


def quote_line(text: str, longest: int = MAX_QUOTED) -> str:
    """Return a text in quotation marks, on one line, shortened to `longest` UTF-16 units.

    Quotation marks in the text become single ones, so that none of them ends the quotation.
    """
    return f"“{fit_line(text.translate(_INNER_MARKS), longest)}”"


def quote_name(name: str, longest: int) -> str:
    """Return a name that its owner chose, for a sentence: in quotation marks unless it is a single word.

    Otherwise a name could continue the sentence, or add one that looks like ours. No quotation mark in it ends it.
    """
    line = fit_line(name.translate(_QUOTATION_MARKS), longest)
    return line if _WORD.fullmatch(line) else f"“{line}”"


def split_text(text: str, longest: int) -> Iterator[str]:
    """Split a text at lines or words into parts of at most `longest` UTF-16 units. Joined, they equal the text."""
    rest = text
    while count_utf16_units(rest) > longest:
        at = find_break(rest, _count_fitting(rest, longest))
        yield rest[:at]
        rest = rest[at:]
    if rest:
        yield rest


def split_isolated(text: str, longest: int) -> Iterator[str]:
    """Split a text into parts of at most `longest` UTF-16 units, each with its direction controls closed.

    Each direction that is still open adds the character that ends it, so a part may need another split.
    """
    for part in split_text(text, longest):
        shown = isolate_direction(part)
        if count_utf16_units(shown) <= longest:
            yield shown
        else:
            at = find_break(part, len(part) // 2)
            yield from split_isolated(part[:at], longest)
            yield from split_isolated(part[at:], longest)


def truncate(text: str, longest: int) -> str:
    """Return the beginning of a text, at most `longest` UTF-16 units, without cutting a combined character."""
    return text[: _find_character_boundary(text, _count_fitting(text, longest))]


def find_break(text: str, at: int) -> int:
    """Return the best index up to `at` to break a text: after a line, a word, or a character."""
    at = _find_character_boundary(text, at)
    if at == len(text):
        return at
    return max(text.rfind("\n", at // 2, at), text.rfind(" ", at // 2, at)) + 1 or at


def _count_fitting(text: str, longest: int) -> int:
    """Return the number of leading characters that fit in `longest` UTF-16 units."""
    longest = max(longest, 0)
    at = min(longest, len(text))
    while count_utf16_units(text[:at]) > longest:
        at -= max((count_utf16_units(text[:at]) - longest) // 2, 1)
    return at


def _find_character_boundary(text: str, at: int) -> int:
    end = at
    while 0 < at < len(text) and (_is_joiner(text[at]) or text[at - 1] == "\u200d"):
        at -= 1
    return at or end


def _is_joiner(character: str) -> bool:
    return character in _JOINERS or unicodedata.combining(character) != 0
