"""Rows of a card: one for each option, with its own button. Nothing is repeated.

If all labels are short, the button has the label, and the description is below it. If not, a text has the number,
the label and the description, and the button next to it has the number.
"""

from __future__ import annotations

__all__ = ["LONGEST_NAME", "OptionRow", "build_rows"]

from typing import Final

from askback.domain.card import Card, Item
from askback.internal.values import Value
from askback.text.literal import count_utf16_units, to_literal, to_single_line
from askback.translations.catalogue import _

LONGEST_NAME: Final = 38
"""Maximum length of a label on the button of a row, in UTF-16 units. Discord shows no more of it, and a phone has room
for no more."""
MAX_CHARACTERS: Final = 2_000
"""Maximum number of characters in all rows together, as the card shows them. The controls of a card stay in its first
message."""


class OptionRow(Value):
    """One option with its own button."""

    item: Item
    title: str | None
    """The number and the label; None if the button has the label."""
    label: str
    """The label of the button."""

    @property
    def body(self) -> str | None:
        """The description."""
        return self.item.description or None


def build_rows(card: Card, most: int) -> tuple[OptionRow, ...]:
    """Return the rows of a question with one choice, or () if rows do not suit it.

    `most` is the maximum number of rows. If the buttons have the labels, an option without a description has no row.
    """
    if card.view != "question" or card.several or card.tally is not None or not 0 < len(card.items) <= most:
        return ()
    if any(item.preview or item.image for item in card.items):
        return ()
    if _are_button_labels(card):
        rows = [OptionRow(item=item, title=None, label=item.label) for item in card.items if item.description]
    else:
        rows = [
            OptionRow(item=item, title=item.numbered_label, label=_("Choose {number}").format(number=item.number))
            for item in card.items
        ]
    characters = sum(count_utf16_units(to_literal(f"{row.title or ''}\n{row.body or ''}")) for row in rows)
    return tuple(rows) if characters <= MAX_CHARACTERS else ()


def _are_button_labels(card: Card) -> bool:
    return (
        card.is_described
        and card.has_line_options
        and all(count_utf16_units(to_single_line(item.label)) <= LONGEST_NAME for item in card.items)
    )
