"""The sentence on the card of a program's question while the program does not wait, or has not received the answer."""

from __future__ import annotations

__all__ = ["Absence", "format_absence", "settle_absence"]

from collections.abc import Mapping
from typing import Final, Literal

from askback.translations.catalogue import N_, _

Absence = Literal["away", "gone", "unreceived", "lost"]
"""The program is away if a later call of it can receive the answer, and gone if none can.

On a settled card, the same is `unreceived` and `lost`: the answer was given, and the program has not received it.
"""

_SENTENCES: Final[Mapping[Absence, str]] = {
    "away": N_("The program that asked is not waiting at the moment. Your answer is kept for it."),
    "gone": N_("The program that asked no longer waits, so nobody will receive your answer."),
    "unreceived": N_("The program that asked has not received this answer yet."),
    "lost": N_("The program that asked no longer waits, so nobody has received this answer."),
}


def format_absence(absence: Absence) -> str:
    """Return the sentence for people, in the current language."""
    return _(_SENTENCES[absence])


def settle_absence(absence: Absence | None) -> Absence | None:
    """Return the same for the card of an answered question."""
    match absence:
        case "away":
            return "unreceived"
        case "gone":
            return "lost"
        case _:
            return absence
