"""Describes questions and answers in plain text, for people who ask for what a card does not show."""

from __future__ import annotations

__all__ = ["describe_answers", "describe_call", "describe_questions"]

from collections.abc import Iterator

from askback.domain.arguments import Arguments, describe_whole
from askback.domain.form import Option, Question
from askback.domain.interview import Draft, Interview
from askback.translations.catalogue import N_, _

WRITTEN = N_("Written answer:")
UNSUBMITTED = N_("Written, but not submitted:")
NOTE = N_("Note to the choice:")


def describe_questions(interview: Interview, *, with_details: bool) -> str:
    """Return the questions with their title, all options, marks at the chosen ones, and what people wrote.

    `with_details` adds the details of each question.
    """
    answered = interview.outcome is not None and interview.outcome.status == "answered"
    title = [] if interview.form.title is None else [interview.form.title]
    questions = (
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
    return "\n\n".join((*title, *questions))


def describe_call(interview: Interview, arguments: Arguments | None, *, with_details: bool) -> str:
    """Return the tool call that people decided about, with all options, and a mark at the chosen one.

    `with_details` shows all its arguments. Without it, show the table of them that everybody saw.
    """
    question = interview.question
    if arguments is None:
        return describe_questions(interview, with_details=with_details)
    has_all = with_details and question.details is not None
    shown = describe_whole(question.details or "") if has_all else arguments.describe()
    title = question.prompt.partition("\n")[0]
    chosen = interview.draft.chosen if interview.outcome is not None and interview.outcome.status == "answered" else ()
    return "\n\n".join(
        ("\n".join(filter(None, (question.header, title))), shown, *_list_options(question.options, chosen))
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
    yield from _list_options(question.options, chosen)
    if with_details and question.has_hidden_details:
        yield question.details or ""


def _list_options(options: tuple[Option, ...], chosen: tuple[int, ...]) -> Iterator[str]:
    for index, option in enumerate(options):
        yield _describe_option(option, index + 1, is_chosen=index in chosen)


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
    return "\n".join(filter(None, (question.header, question.whole_prompt)))


def _describe_option(option: Option, number: int, *, is_chosen: bool) -> str:
    below = (option.description, option.preview, option.image)
    return "\n".join((f"{number}. {option.label}{'  ✓' if is_chosen else ''}", *filter(None, below)))
