"""The choice of what a timeout does, and the defaults that it may apply. No I/O.

A timeout is never an answer: its outcome is `timed_out` in each case, and has no answers.
"""

from __future__ import annotations

__all__ = ["TimeoutAction", "build_fallback", "find_default_problem"]

from typing import Literal

from askback.domain.form import Form, Question
from askback.domain.interview import Interview, start_interview
from askback.domain.outcome import Answer
from askback.domain.reserved_options import NO_ANSWERS
from askback.text.literal import quote_line
from askback.translations.catalogue import ENGLISH, use_language

TimeoutAction = Literal["report", "halt", "default"]
"""A timeout reports that nobody answered; it may also stop the work, or apply the defaults that the card names."""


def build_fallback(form: Form) -> tuple[Answer, ...]:
    """Return the defaults of the questions that these very defaults call for.

    An optional question without a default gets the option “(no answer)”.
    """
    return _start_with_defaults(form).answers


def find_default_problem(form: Form) -> str | None:
    """Return a sentence about the first question that needs a default and lacks it, for a program or the model.

    None means that all have theirs.
    """
    with use_language(ENGLISH):
        return _find_default_problem(form)


def _find_default_problem(form: Form) -> str | None:
    interview = _start_with_defaults(form)
    if not interview.missing:
        return None
    index = interview.missing[0]
    question = form.questions[index]
    named = quote_line(question.header or question.prompt)
    if question.files is not None:
        return f"{named} asks for files, which have no default: choose another action."
    if not question.options:
        return f"{named} has no default: offer its default as an option, which people may replace by their own words."
    needed = interview.find_count_problem(index) if question.default else None
    return f"The default of {named} is not enough ({needed})." if needed else f"{named} has no default: give it one."


def _start_with_defaults(form: Form) -> Interview:
    interview = start_interview(form)
    drafts = tuple(
        draft if draft.chosen else draft.evolve(chosen=_find_no_answer(question))
        for question, draft in zip(form.questions, interview.drafts, strict=True)
    )
    return interview.evolve(drafts=drafts)


def _find_no_answer(question: Question) -> tuple[int, ...]:
    return tuple(index for index, option in enumerate(question.options) if option.value in NO_ANSWERS)
