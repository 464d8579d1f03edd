"""Shows the full text behind a shortened card in a modal, literally, in several parts if one modal cannot hold it."""

from __future__ import annotations

__all__ = ["build_view", "split_parts"]

import json
from collections.abc import Iterator
from typing import Final

from askback.domain.click_response import Details
from askback.translations.catalogue import _, use_language
from askback_slack import control_ids, limits
from askback_slack.blocks import Block, actions, button, code, context, plain, rich_text
from askback_slack.blocks import text as text_run
from askback_slack.escaping import fit_line, replace_controls, split_isolated, split_text

CALLBACK: Final = "askback:whole"
_BLOCKS: Final = limits.VIEW_BLOCKS - 2
"""Maximum number of text blocks per part. Two more blocks name the part and have the buttons to the others."""
_BYTES: Final = limits.VIEW_BYTES - 10_000
_ROOM: Final = limits.SECTION_TEXT - 60
BLANK: Final = "\u2060"
"""An invisible word joiner, since Slack rejects a text that consists only of spaces."""


def split_parts(text: str, *, is_document: bool = False) -> list[list[Block]]:
    """Split the text into parts that each fit into a modal. Together they are the whole text.

    A document is preformatted.
    """
    made: list[list[Block]] = [[]]
    room = _BYTES
    for words in _split_sections(text):
        shown: Block = {"type": "section", "text": plain(words), "expand": True}
        if is_document:
            shown = rich_text([code([text_run(words)])])
        size = len(json.dumps(shown)) + 2
        if made[-1] and (len(made[-1]) == _BLOCKS or size > room):
            made.append([])
            room = _BYTES
        made[-1].append(shown)
        room -= size
    return made


def build_view(whole: Details, number: int = 0) -> Block:
    """Return the modal for one part, counted from 0, or for the last part if `number` is too high.

    It is in the language of the details.
    """
    with use_language(whole.language):
        return _build_view(whole, number)


def _build_view(whole: Details, number: int) -> Block:
    every = split_parts(whole.text, is_document=whole.is_document)
    number = min(max(number, 0), len(every) - 1)
    blocks = every[number]
    if len(every) > 1:
        blocks = [
            context(_("Part {number} of {count}").format(number=number + 1, count=len(every))),
            _build_navigation(whole.ask_id, number, len(every)),
            *blocks,
        ]
    made: Block = {
        "type": "modal",
        "callback_id": CALLBACK,
        "title": plain(fit_line(whole.title, limits.VIEW_TITLE) or _("Details")),
        "close": plain(_("Close")),
        "blocks": [*blocks],
    }
    limits.check_view(made)
    return made


def _build_navigation(ask_id: str, number: int, count: int) -> Block:
    def to_control(part: int) -> control_ids.Control:
        return control_ids.Control(kind="part", ask_id=ask_id, step=0, arg=part)

    buttons: list[Block] = []
    if number > 0:
        buttons.append(button(_("Previous part"), to_control(number - 1)))
    if number < count - 1:
        buttons.append(button(_("Next part"), to_control(number + 1), primary=True))
    return actions(control_ids.build_block_id(ask_id, number, 0), buttons)


def _split_sections(text: str) -> Iterator[str]:
    for piece in _split_text(replace_controls(text)):
        yield from split_isolated(piece if piece.strip() else f"{BLANK}{piece}", limits.SECTION_TEXT)


def _split_text(text: str) -> Iterator[str]:
    """Split the text at line ends. A line that is longer than a section is split further."""
    held: list[str] = []
    used = 0
    for line in text.splitlines(keepends=True):
        size = limits.count_utf16_units(line)
        if used + size > _ROOM:
            yield from split_text("".join(held), _ROOM)
            held, used = [], 0
        held.append(line)
        used += size
    yield from split_text("".join(held), _ROOM)
