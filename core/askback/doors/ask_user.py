"""Reads a deferred call of `ask_user_question`, the tool of Pydantic AI's `AskUser`, as a form for people. Pure."""

from __future__ import annotations

__all__ = ["ASK_USER", "read_questions"]

from collections.abc import Callable, Mapping

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from askback.domain.approval import compute_digest
from askback.domain.ask import Ask
from askback.domain.form import Form
from askback.doors.call_question import CallQuestion, get_answered

ASK_USER = "ask_user_question"


class _Option(BaseModel):
    model_config = ConfigDict(frozen=True)

    label: str
    description: str | None = None


class _Question(BaseModel):
    model_config = ConfigDict(frozen=True)

    header: str
    question: str
    options: tuple[_Option, ...] = Field(min_length=2)
    multi_select: bool = False


class _Input(BaseModel):
    model_config = ConfigDict(frozen=True)

    questions: tuple[_Question, ...] = Field(min_length=1)


def read_questions(given: Mapping[str, JsonValue]) -> tuple[CallQuestion, Callable[[Ask], JsonValue]] | None:
    """Return the questions of a call, and a function that reads its result from the settled ask.

    The result has the labels, or the written answer, by the header of each question. The function raises `Unanswered`.
    None means that the arguments are those of another tool with the same name. Raises `CallerError` if people cannot
    be asked that.
    """
    try:
        found = _Input.model_validate(dict(given))
    except ValidationError:
        return None
    headers = {f"q{number}": one.header for number, one in enumerate(found.questions, 1)}
    if len(set(headers.values())) < len(headers):
        return None
    form = Form.parse(
        {
            "questions": [
                {
                    "id": key,
                    "prompt": one.question,
                    "header": one.header,
                    "options": [
                        {"value": option.label, "label": option.label, "description": option.description}
                        for option in one.options
                    ],
                    "multi_select": one.multi_select,
                }
                for key, one in zip(headers, found.questions, strict=True)
            ]
        }
    )

    def read(ask: Ask) -> JsonValue:
        outcome = get_answered(ask)
        return {headers[answer.question_id]: list(answer.labels) for answer in outcome.answers}

    return CallQuestion("ask", form, compute_digest(ASK_USER, dict(given))), read
