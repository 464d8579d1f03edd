"""Describes questions and answers in plain text, for people who ask for what a card does not show."""

from __future__ import annotations

__all__ = ["describe_answers", "describe_questions"]

from collections.abc import Iterator

from askback.domain.form import Option, Question
from askback.domain.interview import Draft, Interview
from askback.translations.catalogue import N_, _

WRITTEN = N_("Written answer:")
UNSUBMITTED = N_("Written, but not submitted:")
NOTE = N_("Note to the choice:")


def describe_questions(interview: Interview, *, with_details: bool) -> str:
    """Return the questions that people saw, with all options, marks at the chosen ones, and what people wrote.

    `with_details` adds the details of each question.
    """
    answered = interview.outcome is not None and interview.outcome.status == "answered"
    return "\n\n".join(
        "\n\n".join(
            (
                *_iter_parts(
                    interview.form.questions[index],
                    interview.drafts[index].chosen if answered else (),
                    with_details=with_details,
                ),
                *_iter_texts(interview.drafts[index], WRITTEN if answered else UNSUBMITTED),
            )
        )
        for index in interview.visible
    )


def describe_answers(interview: Interview) -> str:
    """Return the answers so far in full: that to the current question, or in the review those to all."""
    shown = interview.visible if interview.phase == "reviewing" else (interview.current,)
    return "\n\n".join(
        "\n\n".join((_describe_prompt(interview.form.questions[index]), *_iter_answer(interview, index)))
        for index in shown
    )


def _iter_parts(question: Question, chosen: tuple[int, ...], *, with_details: bool) -> Iterator[str]:
    yield _describe_prompt(question)
    for index, option in enumerate(question.options):
        yield _describe_option(option, index + 1, is_chosen=index in chosen)
    if with_details and question.has_hidden_details:
        yield question.details or ""


def _iter_answer(interview: Interview, index: int) -> Iterator[str]:
    draft = interview.drafts[index]
    yield from (interview.form.questions[index].options[chosen].label for chosen in draft.chosen)
    yield from (one.label for one in draft.picked)
    yield from _iter_texts(draft, WRITTEN)


def _iter_texts(draft: Draft, caption: str) -> Iterator[str]:
    if draft.text is not None:
        yield f"{_(caption)}\n{draft.text}"
    if draft.note is not None:
        yield f"{_(NOTE)}\n{draft.note}"


def _describe_prompt(question: Question) -> str:
    return question.prompt if question.header is None else f"{question.header}\n{question.prompt}"


def _describe_option(option: Option, number: int, *, is_chosen: bool) -> str:
    below = (option.description, option.preview, option.image)
    return "\n".join((f"{number}. {option.label}{'  ✓' if is_chosen else ''}", *filter(None, below)))
