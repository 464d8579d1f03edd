"""Describes questions in plain text, for people who ask for what a settled card no longer shows."""

from __future__ import annotations

__all__ = ["describe_questions"]

from collections.abc import Iterator

from askback.domain.form import Option, Question
from askback.domain.interview import Interview


def describe_questions(interview: Interview, *, with_details: bool) -> str:
    """Return the questions that people saw, with all options, and marks at the chosen ones.

    `with_details` adds the details of each question.
    """
    answered = interview.outcome is not None and interview.outcome.status == "answered"
    return "\n\n".join(
        "\n\n".join(
            _iter_parts(
                interview.form.questions[index],
                interview.drafts[index].chosen if answered else (),
                with_details=with_details,
            )
        )
        for index in interview.visible
    )


def _iter_parts(question: Question, chosen: tuple[int, ...], *, with_details: bool) -> Iterator[str]:
    yield question.prompt if question.header is None else f"{question.header}\n{question.prompt}"
    for index, option in enumerate(question.options):
        yield _describe_option(option, index + 1, is_chosen=index in chosen)
    if with_details and question.has_hidden_details:
        yield question.details or ""


def _describe_option(option: Option, number: int, *, is_chosen: bool) -> str:
    below = (option.description, option.preview, option.image)
    return "\n".join((f"{number}. {option.label}{'  ✓' if is_chosen else ''}", *filter(None, below)))
