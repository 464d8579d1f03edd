"""Quotes a question in a sentence about it."""

from __future__ import annotations

__all__ = ["quote_question"]

from askback.domain.ask import Ask
from askback.text.literal import fit_line

LONGEST = 100
"""Most characters of a question that are quoted."""


def quote_question(ask: Ask) -> str:
    """Return the current question in quotation marks."""
    if ask.interview.phase != "asking":
        return "the questions above"
    return f"“{fit_line(ask.interview.question.prompt, LONGEST)}”"
