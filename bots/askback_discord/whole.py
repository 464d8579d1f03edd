"""The whole of what a card shows a part of, for the one person who asked to see it: as written, in as many messages."""

from __future__ import annotations

__all__ = ["FILE", "whole"]

from collections.abc import Iterator
from typing import Final

from askback.domain.card import Whole
from askback.text.literal import fit, size, visible
from askback_discord import limits
from askback_discord.calls import File
from askback_discord.components import Component
from askback_discord.parts import Text, strong

FILE: Final = "everything.txt"
MOST: Final = 8
"""Messages that may follow each other; what takes more of them is a file."""
TITLE: Final = 100
ROOM: Final = limits.CONTENT - 2 * TITLE - 50
"""Characters of a message that are for the text: the others stand above it, escaped."""


def whole(shown: Whole) -> tuple[list[Component], File | None]:
    """The messages, and a file that goes with the last of them where they would be too many."""
    title = strong(fit(shown.title, TITLE)).markdown
    pieces: list[Text] = []
    for piece in _pieces(visible(shown.text)):
        pieces.append(piece)
        if len(pieces) > MOST:
            words = f"It has {len(shown.text):,} characters, and stands whole in the file below."
            return [_message(f"{title}\n{words}"), _message(title)], File(FILE, shown.text)
    if len(pieces) == 1:
        return [_message(f"{title}\n{pieces[0].markdown}")], None
    return [
        _message(f"{title}  ·  {number} of {len(pieces)}\n{piece.markdown}") for number, piece in enumerate(pieces, 1)
    ], None


def _pieces(words: str) -> Iterator[Text]:
    """Blocks of code that together are the whole, of whole lines where these are not too long."""
    rest = Text(words, "code")
    while size(rest.markdown) > ROOM:
        piece, _ = rest.split(ROOM, limits.MESSAGE_BYTES)
        line = piece.words.rfind("\n") + 1
        at = line if line > len(piece.words) // 2 else len(piece.words)
        yield Text(rest.words[:at], "code")
        rest = Text(rest.words[at:], "code")
    if rest.words:
        yield rest


def _message(markdown: str) -> Component:
    made: Component = {"content": markdown, "flags": limits.EPHEMERAL, "allowed_mentions": {"parse": []}}
    limits.check_message(made)
    return made
