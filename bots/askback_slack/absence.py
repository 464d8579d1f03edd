"""The sentence about a program that does not wait for the answer to its question."""

from __future__ import annotations

__all__ = ["build_absence"]

from askback.domain.caller_absence import Absence, format_absence
from askback_slack.blocks import Block, context


def build_absence(absence: Absence | None) -> list[Block]:
    """Return the sentence as blocks of a card or a modal; none if the program waits."""
    return [] if absence is None else [context(format_absence(absence))]
