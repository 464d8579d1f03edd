"""Describes questions in plain text, for people who ask for what a settled card no longer shows."""

from __future__ import annotations

__all__ = ["describe_call", "describe_questions"]

from collections.abc import Iterator

from askback.domain.arguments import Arguments
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


def describe_call(interview: Interview, arguments: Arguments | None, *, with_details: bool) -> str:
    """Return the tool call that people decided about, with all options, and a mark at the chosen one.

    `with_details` shows all its arguments. Without it, show the table of them that everybody saw.
    """
    question = interview.question
    if arguments is None:
        return describe_questions(interview, with_details=with_details)
    shown = question.details if with_details and question.details is not None else arguments.describe()
    title = question.prompt.partition("\n")[0]
    chosen = interview.draft.chosen if interview.outcome is not None and interview.outcome.status == "answered" else ()
    return "\n\n".join(
        ("\n".join(filter(None, (question.header, title))), shown, *_list_options(question.options, chosen))
    )


def _iter_parts(question: Question, chosen: tuple[int, ...], *, with_details: bool) -> Iterator[str]:
    yield question.prompt if question.header is None else f"{question.header}\n{question.prompt}"
    yield from _list_options(question.options, chosen)
    if with_details and question.has_hidden_details:
        yield question.details or ""


def _list_options(options: tuple[Option, ...], chosen: tuple[int, ...]) -> Iterator[str]:
    for index, option in enumerate(options):
        yield _describe_option(option, index + 1, is_chosen=index in chosen)


def _describe_option(option: Option, number: int, *, is_chosen: bool) -> str:
    below = (option.description, option.preview, option.image)
    return "\n".join((f"{number}. {option.label}{'  ✓' if is_chosen else ''}", *filter(None, below)))
