"""The text that people write as the answer to a question, or as the note to a choice: its rules in words."""

from __future__ import annotations

__all__ = ["NEITHER", "NOTE_HINT", "NO_CHOICE", "describe_text", "find_text_problem", "get_placeholder"]

from askback.domain.form import DEFAULT_PLACEHOLDER, Question
from askback.domain.text_rules import NOTE_RULES
from askback.text.unseen import has_visible_text
from askback.translations.catalogue import N_, _

NEITHER = N_("Please choose an option or write an answer.")
NOTE_HINT = N_("With an option, this is a note. Without one, it is your answer.")
NO_CHOICE = N_("Please also choose the option that your note belongs to.")


def find_text_problem(question: Question, text: str, *, has_choice: bool) -> str | None:
    """Return the reason why a text is not accepted, in words for its author. None means that it is.

    `has_choice` is True if the person chose an option with it. If the question takes notes, the text is then one.
    """
    if not question.allow_note:
        return question.rules.find_problem(text)
    if has_choice:
        return NOTE_RULES.find_problem(text)
    if not question.allow_custom:
        return _(NO_CHOICE)
    return question.rules.find_problem(text) if has_visible_text(text) else _(NEITHER)


def describe_text(question: Question) -> str:
    """Return what a person can write, in a sentence for the field."""
    if not question.allow_note:
        return question.rules.describe()
    if not question.allow_custom:
        return NOTE_RULES.describe()
    return f"{_(NOTE_HINT)} {question.rules.describe()}"


def get_placeholder(question: Question) -> str:
    """Return the hint in the empty text field."""
    if question.placeholder != DEFAULT_PLACEHOLDER:
        return question.placeholder
    return _("Enter a note…") if question.allow_note and not question.allow_custom else _(DEFAULT_PLACEHOLDER)
