"""Prepares the agent's own Markdown: disables mentions in it and splits it into messages."""

from __future__ import annotations

__all__ = ["WORD_JOINER", "neutralize_markdown", "split_markdown"]

import re
from typing import Final

from askback.text import markdown
from askback_discord.limits import CONTENT

WORD_JOINER: Final = "\u2060"
"""An invisible character that interrupts a mention or a code fence."""
_MENTION: Final = re.compile(r"<(?=@[!&]?\d|#\d|id:|/[^<>:\n]{1,100}:\d)|@(?=everyone|here)", re.IGNORECASE)


def neutralize_markdown(text: str) -> str:
    """Return Markdown that cannot mention anyone or any channel; the rest of the text is unchanged."""
    return _MENTION.sub(lambda match: match[0] + WORD_JOINER, text)


def split_markdown(text: str, longest: int = CONTENT) -> list[str]:
    """Split Markdown into parts of at most `longest` characters; see `askback.text.markdown`."""
    return markdown.split_markdown(text, longest)
