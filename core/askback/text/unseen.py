"""Characters that nobody sees: whether a text shows anything without them, and where they would hide what it says.

Some are needed: joiners between emoji, marks for the direction of right-to-left texts, and those of many scripts.
"""

from __future__ import annotations

__all__ = ["escape_unseen", "find_lookalikes", "has_visible_text", "normalize_look", "show_hidden", "strip_text"]

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Final

_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U0001d159"
    "\U000e0000-\U000e0fff]"
)
"""Letters, marks and symbols that show nothing, although their category does not say so."""
_UNSEEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_SPACES: Final = dict.fromkeys(map(ord, "\u2800\u3164\uffa0"), " ")
"""Characters that look like a space."""
_DELETE: Final = "\x7f"

_FLAG: Final = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f"
"""The flag of a region, such as Scotland. What follows the first character says which."""
_FLAGS: Final = re.compile(_FLAG)
_HIDDEN: Final = re.compile(
    rf"{_FLAG}|[\x80-\x84\x86-\x9f\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u202d\u202e\u2060-\u2065"
    "\u206a-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d159\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""Characters to examine in a text that people read, and flags, which stay."""
_JOINING: Final = "\u0600-\u109f\u1780-\u18af\u1900-\u1cff\u3000-\u9fff\ua800-\uabff\U00011000-\U00011fff"
"""Scripts that write joiners, or break lines at spaces without a width."""
_SYMBOLS: Final = frozenset({"So", "Sm", "Sk", "Sc", "Po", "Pd", "Cn"})
"""Categories of emoji and their parts. Unassigned characters are emoji that are newer than Python's tables."""

# The scripts before a character, and after it, that need it.
_NEIGHBOURS: Final[Sequence[tuple[re.Pattern[str], re.Pattern[str]]]] = (
    (re.compile("[\u200b-\u200d\u2060\ufe00-\ufe02]"), re.compile(f"[{_JOINING}]")),
    (re.compile("[\U000e0100-\U000e01ef]"), re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")),
    (re.compile("[\u180b-\u180f]"), re.compile("[\u1800-\u18af]")),
    (re.compile("[\u115f\u1160]"), re.compile("[\u1100-\u11ff]")),
    (re.compile("\u2800"), re.compile("[\u2801-\u28ff]")),
)


def has_visible_text(text: str) -> bool:
    """Return True if people see something of a text."""
    if text.isascii():
        return any("!" <= one <= "~" for one in text)
    return any(map(_is_visible, text))


def strip_text(text: str | None) -> str:
    """Return a text without the white space around it. It is empty if people would see nothing of it."""
    return text.strip() if text and has_visible_text(text) else ""


def escape_unseen(text: str) -> str:
    """Return a text with JSON's escapes for characters that would be invisible, or would reorder the others."""
    if not text.isascii():
        text = "".join(one if _is_seen(one) else _escape(one) for one in text)
    return text.replace(_DELETE, r"\u007f")  # the only control character that JSON does not escape


def show_hidden(text: str) -> str:
    """Return a text with JSON's escapes only for characters that hide what it says.

    Those that its script or an emoji needs stay, and so do marks of direction, except those that reverse letters.
    """
    return text if text.isascii() else _HIDDEN.sub(_show_hidden, text)


def normalize_look(text: str) -> str:
    """Return a text as it looks: without unseen characters, and with plain forms of letters, digits and spaces."""
    flags = [] if text.isascii() else _FLAGS.findall(text)
    plain = unicodedata.normalize("NFKC", text.translate(_SPACES))
    return "".join([one for one in plain if one.isspace() or _is_visible(one)] + flags)


def find_lookalikes(labels: Sequence[str]) -> str | None:
    """Return a sentence that names two labels that differ, and yet look the same; None if there are none."""
    known: dict[str, str] = {}
    for label in dict.fromkeys(labels):
        other = known.setdefault(" ".join(normalize_look(label).split()), label)
        if other != label:
            pair = f"“{escape_unseen(other)}” and “{escape_unseen(label)}”"
            return f"{pair} look alike: change one of them, so that people see the difference"
    return None


def _is_visible(character: str) -> bool:
    return unicodedata.category(character) not in _UNSEEN_CATEGORIES and not _BLANK.match(character)


def _is_seen(character: str) -> bool:
    return character == "\n" or (character.isprintable() and not _BLANK.match(character))


def _show_hidden(match: re.Match[str]) -> str:
    found, text = match[0], match.string
    before, after = text[max(match.start() - 1, 0) : match.start()], text[match.end() : match.end() + 1]
    return found if _is_needed(found, before, after) else _escape(found)


def _is_needed(found: str, before: str, after: str) -> bool:
    if len(found) > 1 or (found == "\ufeff" and not before):
        return True  # a flag, or the mark at the beginning of a file
    if found == "\u200d" and before and after and unicodedata.category(after) in _SYMBOLS:
        return before in "\ufe0f\u20e3" or unicodedata.category(before) in _SYMBOLS
    if found in "\ufe0e\ufe0f" and before:
        return after == "\u20e3" or before == "ℹ" or unicodedata.category(before) in _SYMBOLS
    return any(one.match(found) and (near.match(before) or near.match(after)) for one, near in _NEIGHBOURS)


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1]
