"""The texts of a card that people write: the answer or the note so far, and the lines of a review."""

from __future__ import annotations

__all__ = ["CardTexts"]

from typing import Literal

from askback.domain.choice_words import SOMETHING_ELSE
from askback.domain.review_line import ReviewLine, get_beginning
from askback.internal.values import Value
from askback.translations.catalogue import N_, _

SOMETHING_ELSE_OR_NOTE = N_("Something else or a note…")
ADD_NOTE = N_("Add a note…")
WRITE_ANSWER = N_("Write an answer…")
EDIT_TEXT = N_("Edit your text…")


class CardTexts(Value):
    """The part of a card about what people write."""

    view: Literal["question", "review", "ended"]
    custom: bool
    """True if an answer can be written."""
    takes_note: bool
    """True if a note can be written to a choice."""
    asks_for_text: bool
    """True if the only option, if any, means not to answer."""
    written: str | None
    """The written answer so far."""
    note: str | None
    """The note to the choice so far."""
    can_hide_text: bool
    """True if a written answer can be so long that the card shows only its beginning."""
    unsent: bool
    """True if a rejected text waits to be corrected; a blank text does not count."""
    lines: tuple[ReviewLine, ...]

    @property
    def takes_text(self) -> bool:
        """True if an answer or a note can be written."""
        return self.custom or self.takes_note

    @property
    def has_text(self) -> bool:
        """True if an answer or a note is written, or waits to be corrected."""
        return self.written is not None or self.note is not None or self.unsent

    @property
    def written_beginning(self) -> str | None:
        """The written answer so far as the card shows it: whole, or the beginning of a long one."""
        return None if self.written is None else get_beginning(self.written)

    @property
    def hides_text(self) -> bool:
        """True if the card shows only the beginning of a written answer. It then has a button that shows all."""
        if self.view == "question":
            return self.written is not None and self.written_beginning != self.written
        return any(line.hides_text for line in self.lines)

    @property
    def write_label(self) -> str:
        """The label of the button that opens the text field."""
        if self.has_text:
            return _(EDIT_TEXT)
        if self.takes_note:
            return _(SOMETHING_ELSE_OR_NOTE if self.custom else ADD_NOTE)
        return _(WRITE_ANSWER if self.asks_for_text else SOMETHING_ELSE)

    @property
    def next_missing(self) -> int | None:
        """Index of the first question that a review finds unanswered; None if all are answered."""
        if self.view != "review":
            return None
        return next((line.index for line in self.lines if line.missing is not None), None)
