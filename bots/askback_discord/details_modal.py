"""Shows the full text behind a shortened card to the person who asked for it, literally, in one or more messages."""

from __future__ import annotations

__all__ = ["FILE", "build_notice"]

from collections.abc import Iterator
from typing import Final

from askback.domain.card import format_position
from askback.domain.click_response import Details
from askback.text.literal import count_utf16_units, fit_line, replace_controls
from askback.translations.catalogue import _, use_language
from askback.translations.sentences import group_digits
from askback_discord import limits
from askback_discord.api_calls import File
from askback_discord.card_parts import Text, strong
from askback_discord.components import Component

FILE: Final = "everything.txt"
MOST: Final = 8
"""Maximum number of messages. A longer text is sent as a file."""
TITLE: Final = 100
ROOM: Final = limits.CONTENT - 2 * TITLE - 50
"""Characters of a message for the text. The rest is for the escaped title."""


def build_notice(shown: Details) -> tuple[list[Component], File | None]:
    """Return the messages, and a file for the last of them if they would be too many.

    They are in the language of the details.
    """
    with use_language(shown.language):
        return _build_notice(shown)


def _build_notice(shown: Details) -> tuple[list[Component], File | None]:
    title = strong(fit_line(shown.title, TITLE)).markdown
    pieces: list[Text] = []
    for piece in _split_text(replace_controls(shown.text)):
        pieces.append(piece)
        if len(pieces) > MOST:
            words = _("The text has {count} characters. The file below contains all of it.").format(
                count=group_digits(len(shown.text))
            )
            return [_build_message(f"{title}\n{words}"), _build_message(title)], File(FILE, shown.text)
    if len(pieces) == 1:
        return [_build_message(f"{title}\n{pieces[0].markdown}")], None
    return [
        _build_message(f"{title}  ·  {format_position((number, len(pieces)))}\n{piece.markdown}")
        for number, piece in enumerate(pieces, 1)
    ], None


def _split_text(words: str) -> Iterator[Text]:
    """Split the text into code blocks, at line ends if the lines are short enough. Joined, they equal the text."""
    rest = Text(words, "code")
    while count_utf16_units(rest.markdown) > ROOM:
        piece, _ = rest.split(ROOM, limits.MESSAGE_BYTES)
        line = piece.words.rfind("\n") + 1
        at = line if line > len(piece.words) // 2 else len(piece.words)
        yield Text(rest.words[:at], "code")
        rest = Text(rest.words[at:], "code")
    if rest.words:
        yield rest


def _build_message(markdown: str) -> Component:
    made: Component = {"content": markdown, "flags": limits.EPHEMERAL, "allowed_mentions": {"parse": []}}
    limits.check_message(made)
    return made
