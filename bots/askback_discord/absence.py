"""The sentence about a program that does not wait for the answer to its question."""

from __future__ import annotations

__all__ = ["build_absence"]

from askback.domain.caller_absence import Absence, format_absence
from askback_discord.components import Component, display


def build_absence(absence: Absence | None) -> list[Component]:
    """Return the sentence as components of a card or a modal; none if the program waits."""
    return [] if absence is None else [display(f"-# {format_absence(absence)}")]
