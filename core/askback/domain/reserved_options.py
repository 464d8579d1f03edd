"""Options that askback itself adds to a question. No question of a program or a model may use their values."""

from __future__ import annotations

__all__ = [
    "NONE_OF_THESE",
    "NO_ANSWER",
    "NO_ANSWERS",
    "NULL",
    "RESERVED",
    "build_empty_list_option",
    "build_no_answer_option",
    "build_none_option",
    "build_null_option",
]

from typing import Final

from askback.domain.form import Option
from askback.translations.catalogue import _

NO_ANSWER: Final = "askback:no-answer"
"""Value of the option that leaves an optional question without an answer."""
NULL: Final = "askback:null"
"""Value of the same option, where a program has to get null in place of the answer."""
NO_ANSWERS: Final = frozenset({NO_ANSWER, NULL})
NONE_OF_THESE: Final = "askback:none-of-these"
"""Value of the option that chooses none of the others, or that answers with an empty list."""
RESERVED: Final = NO_ANSWERS | {NONE_OF_THESE}


def build_no_answer_option() -> Option:
    """Return the option that leaves an optional question without an answer, in the current language."""
    return Option(value=NO_ANSWER, label=_("(no answer)"))


def build_null_option() -> Option:
    """Return the option that answers with null, in the current language."""
    return Option(value=NULL, label=_("(no answer)"))


def build_none_option() -> Option:
    """Return the option that chooses none of the others, in the current language."""
    return Option(value=NONE_OF_THESE, label=_("(none of these)"))


def build_empty_list_option() -> Option:
    """Return the option that answers with a list without items, in the current language."""
    return Option(value=NONE_OF_THESE, label=_("(none)"))
