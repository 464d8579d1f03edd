"""The answers to a form as JSON values, by the ids of the questions."""

from __future__ import annotations

__all__ = ["list_answer_values", "list_fallback_values", "list_notes"]

from collections.abc import Iterable

from pydantic import JsonValue

from askback.domain.form import Form, Question
from askback.domain.outcome import Answer, Outcome
from askback.domain.reserved_options import NO_ANSWERS
from askback.domain.text_kinds import to_json_value


def list_answer_values(form: Form, outcome: Outcome) -> dict[str, JsonValue]:
    """Return the value of each answer: a text, a number, or a list if several can be chosen.

    A person or a channel is an object with `id` and `name`. If the platform has not told the name, it is the id. A
    file is an object with `id`, `name`, `size` and `type`, or with a `problem` if its contents cannot be read.

    A question that nobody was asked is missing. None means that a person chose not to answer. An answer in a person's
    own words to a question with options is an object with the field `written`, so that nobody takes it for an option.
    """
    return _list_values(form, outcome.answers)


def list_notes(outcome: Outcome) -> dict[str, JsonValue]:
    """Return the notes that people wrote to their choices, by the ids of the questions; empty if there is none."""
    return {answer.question_id: answer.note for answer in outcome.answers if answer.note is not None}


def list_fallback_values(form: Form, outcome: Outcome) -> dict[str, JsonValue]:
    """Return the value of each default that applies because nobody answered in time; empty if there is none."""
    return _list_values(form, outcome.fallback)


def _list_values(form: Form, answers: Iterable[Answer]) -> dict[str, JsonValue]:
    known = {answer.question_id: answer for answer in answers}
    return {question.id: _to_value(question, known[question.id]) for question in form.questions if question.id in known}


def _to_value(question: Question, answer: Answer) -> JsonValue:
    kind = question.rules.kind
    has_own = question.picks is not None or question.files is not None
    has_choices = has_own or any(option.value not in NO_ANSWERS for option in question.options)
    found: list[JsonValue] = [to_json_value(kind, one.value) for one in answer.choices if one.value not in NO_ANSWERS]
    found.extend({"id": one.id, "name": one.label} for one in answer.picked)
    found.extend(file.to_json_value() for file in answer.files)
    if answer.text is not None:
        value = question.rules.to_json_value(answer.text)
        found.append({"written": value} if has_choices else value)
    takes_several = question.multi_select if question.files is None else question.files.max > 1
    if takes_several and has_choices:
        return found
    return found[0] if found else None
