"""What must never be shown: secrets that are known, and whatever has the shape of one."""

from __future__ import annotations

__all__ = ["HIDDEN", "hide", "hide_shape", "redacted"]

import json
import re
from urllib.parse import quote

HIDDEN = "[hidden]"
SHORTEST = 6
"""A shorter secret is none, and to hide it would only make texts unreadable."""

_KEY = (
    r"[\w-]*(?:token|secret|password|passwd|api[_-]?key|authorization|cookie|signature|ticket|trigger_id|response_url)"
)
_SHAPES = [
    re.compile(shape, re.IGNORECASE)
    for shape in (
        # In JSON, in JSON within JSON, in Python's dictionaries and pairs: "token": "…", (b'x-key', b'…')
        rf"""(?P<keep>\\*["']{_KEY}\\*["']\s*[:,]\s*b?\\*["'])(?:\\+/|[^"'\\])+""",
        # In addresses, forms and fields: token=…
        rf"""(?P<keep>\b{_KEY}=)[^\s"'&,;)}}\]]+""",
        r"(?P<keep>\bbearer\s+)[\w.~+/=-]{6,}",
        r"(?P<keep>\b(?:basic|bot)\s+)[\w.~+/=-]{20,}",
        r"\bsk-[\w-]{8,}",
        r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+",
        # https://user:password@host
        r"""(?P<keep>\b[a-z][a-z0-9+.-]*://)[^\s/@:"']*:[^\s/@"']+(?=@)""",
    )
]
_ADDRESS = re.compile(r"""\b(?:https?|wss?):(?:\\*/){2}[^\s"'<>]+""", re.IGNORECASE)
# Authority that is part of an address: something long and random between slashes. Plain numbers are ids.
_RANDOM = re.compile(r"(?<=/)(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{16,}")

_known: frozenset[str] = frozenset()
_any_known: re.Pattern[str] | None = None


def hide(*secrets: str) -> None:
    """From now on, never show these, nor as they stand in an address, in JSON or in what Python shows of a text."""
    global _known, _any_known
    given = [secret.strip() for secret in secrets]
    forms = {form for one in given for form in (one, quote(one, safe=""), json.dumps(one)[1:-1], repr(one)[1:-1])}
    known = _known | {form for form in forms if len(form) >= SHORTEST}
    if known != _known:
        # The longest first: one secret may begin with another.
        _any_known = re.compile("|".join(map(re.escape, sorted(known, key=len, reverse=True))))
        _known = known


def hide_shape(pattern: str) -> None:
    """Never show what matches this; of the match, only its group `keep` is shown. Whoever knows a form calls."""
    shape = re.compile(pattern)
    if shape not in _SHAPES:
        _SHAPES.append(shape)


def redacted(text: str) -> str:
    """The text without secrets."""
    if _any_known is not None:
        text = _any_known.sub(HIDDEN, text)
    for shape in _SHAPES:
        text = shape.sub(_hidden, text)
    return _ADDRESS.sub(lambda match: _RANDOM.sub(HIDDEN, match[0]), text)


def _hidden(match: re.Match[str]) -> str:
    return f"{match.groupdict().get('keep') or ''}{HIDDEN}"
