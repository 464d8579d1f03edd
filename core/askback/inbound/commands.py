"""Recognizes commands for the bot itself, which the model does not read. Pure."""

from __future__ import annotations

__all__ = ["Command", "parse_command"]

import re
from typing import Final, Literal, TypeAlias

Command: TypeAlias = Literal["new", "stop", "show"]

_WORDS: Final[dict[str, Command]] = {"new": "new", "stop": "stop", "cancel": "stop"}
_SHOW: Final = re.compile(r"(?:show (?:me )?(?:the )?|where(?: is|'s|’s| are) the |the )?(?:questions?|card)")


def parse_command(text: str) -> Command | None:
    """Return the command that makes up a whole message. "Stop!" is a command, "stop the server" is not."""
    words = text.strip().removeprefix("/").casefold()
    plain = " ".join(words.rstrip(".!? ").split())
    # "Card" alone may be an answer.
    if plain != "card" and _SHOW.fullmatch(plain):
        return "show"
    return _WORDS.get(words.rstrip(".! "))
