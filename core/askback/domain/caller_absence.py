"""The sentence on the card of a program's question while the program does not wait for the answer."""

from __future__ import annotations

__all__ = ["Absence", "format_absence"]

from collections.abc import Mapping
from typing import Final, Literal

from askback.translations.catalogue import N_, _

Absence = Literal["away", "gone"]
"""The program is away if a later call of it can receive the answer, and gone if none can."""

_SENTENCES: Final[Mapping[Absence, str]] = {
    "away": N_("The program that asked is not waiting at the moment. Your answer is kept for it."),
    "gone": N_("The program that asked no longer waits, so nobody will receive your answer."),
}


def format_absence(absence: Absence) -> str:
    """Return the sentence for people, in the current language."""
    return _(_SENTENCES[absence])
