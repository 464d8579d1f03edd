"""Prepares the agent's own Markdown: disables mentions in it and splits it into messages."""

from __future__ import annotations

__all__ = ["count_unfinished", "neutralize_markdown", "restore_text", "split_markdown"]

import re
from typing import Final

from askback.text import markdown
from askback_slack.limits import MARKDOWN

_BREAK: Final = "\u2060"
"""Word joiner. It is invisible and interrupts a mention."""
_LESS = r"<|&lt;|&#0{0,5}60;|&#x0{0,4}3c;"
_AT = r"@|&#0{0,5}64;|&#x0{0,4}40;|&commat;"
_MENTION: Final = re.compile(
    rf"(?P<less>{_LESS})(?=\\?(?:[!#]|{_AT}|subteam\b))|(?P<at>{_AT})(?=(?:channel|here|everyone)(?![^\W_]))",
    re.IGNORECASE,
)
_BEGUN: Final = re.compile(r"(?:<[^\s>]{0,12}|@\w{0,12}|&[#\w]{0,8};?\w{0,12})\Z")


def neutralize_markdown(text: str) -> str:
    """Return Markdown that cannot mention anyone; the rest of the text is unchanged."""
    return _MENTION.sub(lambda match: match[0] + _BREAK, text)


def restore_text(neutralized: str) -> str:
    """Return neutralized Markdown as it was written, to show it where no Markdown is read."""
    return neutralized.replace(_BREAK, "")


def count_unfinished(text: str) -> int:
    """Return how many characters at the end may be the start of a mention.

    The stream does not show them until more text arrives.
    """
    match = _BEGUN.search(text[-24:])
    return len(match[0]) if match else 0


def split_markdown(text: str, longest: int = MARKDOWN) -> list[str]:
    """Split Markdown into parts of at most `longest` characters; see `askback.text.markdown`."""
    return markdown.split_markdown(text, longest)
