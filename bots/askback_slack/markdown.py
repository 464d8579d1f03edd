"""The agent's own Markdown: mentions made harmless, and cut into messages."""

from __future__ import annotations

__all__ = ["harmless_markdown", "prose_parts", "unfinished"]

import re
from typing import Final

from askback.text import markdown
from askback_slack.limits import MARKDOWN

_BREAK: Final = "\u2060"
"""Word joiner: invisible, and no mention reaches across it."""
_LESS = r"<|&lt;|&#0{0,5}60;|&#x0{0,4}3c;"
_AT = r"@|&#0{0,5}64;|&#x0{0,4}40;|&commat;"
_MENTION: Final = re.compile(
    rf"(?P<less>{_LESS})(?=\\?(?:[!#]|{_AT}|subteam\b))|(?P<at>{_AT})(?=(?:channel|here|everyone)(?![^\W_]))",
    re.IGNORECASE,
)
_BEGUN: Final = re.compile(r"(?:<[^\s>]{0,12}|@\w{0,12}|&[#\w]{0,8};?\w{0,12})\Z")


def harmless_markdown(text: str) -> str:
    """Markdown that cannot mention anybody; everything else is left as it is."""
    return _MENTION.sub(lambda match: match[0] + _BREAK, text)


def unfinished(text: str) -> int:
    """How many characters at the end may be the beginning of a mention: a text still being written keeps them back."""
    match = _BEGUN.search(text[-24:])
    return len(match[0]) if match else 0


def prose_parts(text: str, longest: int = MARKDOWN) -> list[str]:
    """Markdown in parts of at most `longest` characters; see `askback.text.markdown`."""
    return markdown.prose_parts(text, longest)
