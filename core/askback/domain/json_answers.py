"""Writes the answers to a form as a JSON instance of its schema. Pure."""

from __future__ import annotations

__all__ = ["build_instance"]

from collections.abc import Iterable

from pydantic import JsonValue

from askback.domain.form import Form, Question
from askback.domain.outcome import Answer
from askback.domain.reserved_options import NO_ANSWER, NONE_OF_THESE, NULL, RESERVED
from askback.domain.text_kinds import to_json_value


def build_instance(form: Form, answers: Iterable[Answer]) -> dict[str, JsonValue]:
    """Return the answers by the ids of their questions. A question without an answer is left out, or null."""
    known = {answer.question_id: answer for answer in answers}
    instance: dict[str, JsonValue] = {}
    for question in form.questions:
        answer = known.get(question.id)
        if answer is None or (all(choice.value == NO_ANSWER for choice in answer.choices) and answer.text is None):
            continue
        if answer.choices and all(choice.value == NULL for choice in answer.choices):
            instance[question.id] = None
            continue
        instance[question.id] = _write_several(question, answer) if question.multi_select else _write(question, answer)
    return instance


def _write(question: Question, answer: Answer) -> JsonValue:
    if answer.text is None and all(choice.value == NONE_OF_THESE for choice in answer.choices):
        return []
    return question.rules.to_json_value(answer.text or answer.choices[0].value)


def _write_several(question: Question, answer: Answer) -> JsonValue:
    values = [choice.value for choice in answer.choices if choice.value not in RESERVED]
    return [to_json_value(question.rules.kind, value) for value in (*values, *filter(None, (answer.text,)))]
