"""Completes phrases to sentences, and writes numbers, as the current language does."""

from __future__ import annotations

__all__ = ["capitalize_first", "end_sentence", "group_digits"]

from collections.abc import Mapping
from typing import Final

from askback.translations.catalogue import Language, _, get_language

_SEPARATORS: Final[Mapping[Language, str]] = {"de": ".", "es": ".", "fr": "\u202f"}
"""The character between groups of three digits, where it is not a comma."""


def capitalize_first(phrase: str) -> str:
    """Return the phrase with a capital letter at its beginning. The rest stays, since German nouns have capitals."""
    return f"{phrase[:1].upper()}{phrase[1:]}"


def end_sentence(phrase: str) -> str:
    """Return the phrase with the full stop of the language."""
    return _("{sentence}.").format(sentence=phrase)


def group_digits(number: int) -> str:
    """Return a whole number, with its digits in groups of three."""
    return f"{number:,}".replace(",", _SEPARATORS.get(get_language(), ","))
