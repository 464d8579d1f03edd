"""Quotes a question in a sentence about it."""

from __future__ import annotations

__all__ = ["quoted"]

from askback.domain.ask import Ask
from askback.text.literal import fit

LONGEST = 100
"""Most characters of a question that are quoted."""


def quoted(ask: Ask) -> str:
    """Return the current question in quotation marks."""
    if ask.interview.phase != "asking":
        return "the questions above"
    return f"“{fit(ask.interview.question.prompt, LONGEST)}”"
