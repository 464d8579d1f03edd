"""Quotes a question in a sentence about it."""

from __future__ import annotations

__all__ = ["quote_question"]

from askback.domain.ask import Ask
from askback.text.literal import quote_line
from askback.translations.catalogue import _


def quote_question(ask: Ask) -> str:
    """Return the current question in quotation marks."""
    if ask.interview.phase != "asking":
        return _("the questions above")
    return quote_line(ask.interview.question.prompt)
