"""Completes a phrase to a sentence, in the current language."""

from __future__ import annotations

__all__ = ["capitalize_first", "end_sentence"]

from askback.translations.catalogue import _


def capitalize_first(phrase: str) -> str:
    """Return the phrase with a capital letter at its beginning. The rest stays, since German nouns have capitals."""
    return f"{phrase[:1].upper()}{phrase[1:]}"


def end_sentence(phrase: str) -> str:
    """Return the phrase with the full stop of the language."""
    return _("{sentence}.").format(sentence=phrase)
