"""What must never be shown: secrets that are known, and whatever has the shape of one."""

from __future__ import annotations

__all__ = ["HIDDEN", "hide", "hide_shape", "redacted"]

import json
import re
from urllib.parse import quote

HIDDEN = "[hidden]"
SHORTEST = 6
"""A shorter secret is none, and to hide it would only make texts unreadable."""

# Everything below is bounded and begins with a fixed text: a hostile one must not take its length squared in time.
_KEY = r"(?:token|secret|password|passwd|api[_-]?key|authorization|cookie|signature|ticket|trigger_id|response_url)"
_SHAPES = [
    re.compile(shape, re.IGNORECASE)
    for shape in (
        # In JSON, in JSON within JSON, in Python's dictionaries and pairs: "token": "…", (b'x-key', b'…')
        rf"""(?P<keep>{_KEY}\\{{0,8}}["']\s{{0,4}}[:,]\s{{0,4}}b?\\{{0,8}}["'])(?:\\{{1,8}}/|[^"'\\])+""",
        # In addresses, forms and fields: token=…
        rf"""(?P<keep>{_KEY}=)[^\s"'&,;)}}\]]+""",
        r"(?P<keep>\bbearer\s{1,4})[\w.~+/=-]{6,}",
        r"(?P<keep>\b(?:basic|bot)\s{1,4})[\w.~+/=-]{20,}",
        r"\bsk-[\w-]{8,}",
        r"\beyJ[\w-]{8,4000}\.[\w-]+\.[\w-]+",
        # https://user:password@host
        r"""(?P<keep>\b[a-z][a-z0-9+.-]{0,20}://)[^\s/@:"']{0,200}:[^\s/@"']{1,500}(?=@)""",
    )
]
_ADDRESS = re.compile(r"""\b(?:https?|wss?):(?:\\{0,8}/){2}[^\s"'<>]+""", re.IGNORECASE)
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
