"""The title of a settled card in one line, and the options that its question did not end with."""

from __future__ import annotations

__all__ = ["LONGEST_TITLE", "get_first_line", "get_form_title", "get_line_title", "list_others"]

from typing import TYPE_CHECKING

from askback.domain.review_line import ReviewLine
from askback.text.literal import fit_line
from askback.translations.catalogue import _, ngettext

if TYPE_CHECKING:
    from askback.domain.card import Card

LONGEST_TITLE = 150
"""Maximum number of UTF-16 units of a question on its settled card. "Show question" shows a longer one."""


def get_form_title(card: Card) -> str:
    """Return the title of a settled form, or its questions in one line. Answered ones are named below."""
    if card.form_title is not None:
        return card.form_title
    if any(line.answer for line in card.lines) or not card.lines:
        count = len(card.lines)
        return ngettext("{count} question", "{count} questions", count).format(count=count)
    more = len(card.lines) - 1
    title = get_line_title(card.lines[0])
    return _("{title} and {count} more").format(title=title, count=more)


def get_line_title(line: ReviewLine) -> str:
    """Return a question of a settled form as one line, cut if it is long."""
    return get_first_line(line.prompt)


def get_first_line(prompt: str) -> str:
    """Return the first line of a question, cut if it is long."""
    return fit_line(next((line for line in prompt.splitlines() if line.strip()), ""), LONGEST_TITLE)


def list_others(card: Card) -> tuple[str, tuple[str, ...]]:
    """Return a caption, and the labels of the options that a settled question did not end with."""
    if card.ending is None or card.ending.status != "answered":
        return _("Options: "), tuple(item.label for item in card.items)
    return _("Not chosen: "), tuple(item.label for item in card.items if not item.chosen)
